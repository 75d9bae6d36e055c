// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread that waits for one load, and may do the load's work meanwhile (``WaitableLoad``). Only that thread may use
/// the members, unless they allow any thread.
public final class LoadWaiter: Sendable {
    private struct State {
        var isOver = false
        /// Whether the thread must check again what it waits for. Used while there is no bell.
        var isCalled = false
        /// An eventfd(2), once the thread has to sleep.
        var bell: CInt?
        var hasRung = false
    }

    private let state = Mutex(State())
    private let thread = UInt(pthread_self())
    /// Unused bells. Making a bell and closing it costs as much as a small load.
    private static let bells = Mutex<[CInt]>([])
    private static let mostBells = 64

    init() {}

    deinit {
        let (bell, hasRung) = state.withLock { ($0.bell, $0.hasRung) }
        guard let bell else { return }
        if hasRung { silence(bell) }
        let isKept = Self.bells.withLock { bells in
            guard bells.count < Self.mostBells else { return false }
            bells.append(bell)
            return true
        }
        if !isKept { close(bell) }
    }

    /// Whether the calling thread is the one that waits.
    var isCurrent: Bool { UInt(pthread_self()) == thread }

    /// Whether the wait is over. Any thread.
    public var isOver: Bool { state.withLock { $0.isOver } }

    /// Ends the wait. Any thread.
    func end() {
        state.withLock { state in
            state.isOver = true
            guard let bell = state.bell, !isCurrent else { return }
            state.hasRung = true
            ring(bell)
        }
    }

    /// Ends the thread's sleep in ``wait(for:isWriting:)``, or its next one, because what it waits for has changed. Any
    /// thread.
    package func wake() {
        guard !isCurrent else { return }
        state.withLock { state in
            guard let bell = state.bell else {
                state.isCalled = true
                return
            }
            state.hasRung = true
            ring(bell)
        }
    }

    /// Sleeps until the wait is over.
    ///
    /// - Throws: ``LoadError/Code/noResources``
    func wait() throws(LoadError) {
        while !isOver {
            var wanted = [pollfd(fd: try bell(), events: Int16(POLLIN), revents: 0)]
            unsafe poll(&wanted, 1, -1)
            clearBell()
        }
    }

    /// Sleeps until `descriptor` is ready or the thread is woken (`poll(2)`).
    ///
    /// - Parameters:
    ///   - descriptor: of a socket or pipe that no other thread waits for.
    ///   - isWriting: whether there is also something to write.
    /// - Returns: whether a read, or a write, would not block now.
    /// - Throws: ``LoadError/Code/noResources``
    public func wait(for descriptor: CInt, isWriting: Bool) throws(LoadError) -> (canRead: Bool, canWrite: Bool) {
        let events = Self.events(isWriting: isWriting)
        var wanted = (pollfd(fd: descriptor, events: events, revents: 0), pollfd(fd: try bell(), events: Int16(POLLIN), revents: 0))
        unsafe withUnsafeMutablePointer(to: &wanted) { both in
            unsafe both.withMemoryRebound(to: pollfd.self, capacity: 2) { _ = unsafe poll($0, 2, -1) }
        }
        if wanted.1.revents != 0 { clearBell() }
        return Self.outcome(wanted.0)
    }

    private static func events(isWriting: Bool) -> Int16 { Int16(POLLIN) | (isWriting ? Int16(POLLOUT) : 0) }

    private static func outcome(_ polled: pollfd) -> (canRead: Bool, canWrite: Bool) {
        (polled.revents & ~Int16(POLLOUT) != 0, polled.revents & Int16(POLLOUT) != 0)
    }

    /// Clears a wake-up, which is received once. The end of the wait is never cleared.
    private func clearBell() {
        state.withLock { state in
            guard !state.isOver, state.hasRung, let bell = state.bell else { return }
            silence(bell)
            state.hasRung = false
        }
    }

    private func bell() throws(LoadError) -> CInt {
        try state.withLock { state throws(LoadError) in
            if let bell = state.bell { return bell }
            let bell = Self.bells.withLock { $0.popLast() } ?? eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
            guard bell >= 0 else {
                throw LoadError(.noResources, message: "the thread can't wait: \(LoadError.text(of: errno)); close some files")
            }
            state.bell = bell
            // The end or the wake-up came before there was a bell.
            if state.isOver || state.isCalled {
                state.isCalled = false
                state.hasRung = true
                ring(bell)
            }
            return bell
        }
    }
}

private func ring(_ bell: CInt) {
    var one: UInt64 = 1
    _ = unsafe write(bell, &one, 8)
}

private func silence(_ bell: CInt) {
    var count: UInt64 = 0
    _ = unsafe read(bell, &count, 8)
}
