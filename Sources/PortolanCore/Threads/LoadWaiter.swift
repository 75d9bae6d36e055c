// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread that waits for one load, and can do the load's work during the wait (``WaitableLoad``). Only that thread
/// may use the members, unless the comment of a member says "Any thread".
public final class LoadWaiter: Sendable {
    private struct State {
        var isOver = false
        /// Whether the thread was woken while there was no `wakeEvent`.
        var hasPendingWakeUp = false
        /// The descriptor of an eventfd(2). Made when the thread first has to sleep.
        var wakeEvent: CInt?
        var isSignalled = false
    }

    private let state = Mutex(State())
    private let thread = UInt(pthread_self())
    /// Descriptors for reuse, because making and closing an eventfd(2) costs as much as a small load.
    private static let unusedEvents = Mutex<[CInt]>([])
    private static let maximumUnusedEvents = 64

    init() {}

    deinit {
        let (wakeEvent, isSignalled) = state.withLock { ($0.wakeEvent, $0.isSignalled) }
        guard let wakeEvent else { return }
        if isSignalled { drainEvent(wakeEvent) }
        let isKept = Self.unusedEvents.withLock { unusedEvents in
            guard unusedEvents.count < Self.maximumUnusedEvents else { return false }
            unusedEvents.append(wakeEvent)
            return true
        }
        if !isKept { close(wakeEvent) }
    }

    /// Whether the calling thread is the one that waits.
    var isCurrent: Bool { UInt(pthread_self()) == thread }

    /// Whether the wait is over. Can be read on any thread.
    public var isOver: Bool { state.withLock { $0.isOver } }

    /// Ends the wait. Can be called on any thread.
    func end() {
        state.withLock { state in
            state.isOver = true
            guard let wakeEvent = state.wakeEvent, !isCurrent else { return }
            state.isSignalled = true
            signalEvent(wakeEvent)
        }
    }

    /// Ends the thread's sleep in ``wait(for:isWriting:)``, so that it checks its conditions again. If the thread does
    /// not sleep, ends its next sleep. Can be called on any thread.
    package func wake() {
        guard !isCurrent else { return }
        state.withLock { state in
            guard let wakeEvent = state.wakeEvent else {
                state.hasPendingWakeUp = true
                return
            }
            state.isSignalled = true
            signalEvent(wakeEvent)
        }
    }

    /// Sleeps until the wait is over.
    ///
    /// - Throws: ``LoadError/Code/noResources`` if no descriptor is free.
    func wait() throws(LoadError) {
        while !isOver {
            var polled = [pollfd(fd: try wakeEvent(), events: Int16(POLLIN), revents: 0)]
            unsafe poll(&polled, 1, -1)
            clearWakeUp()
        }
    }

    /// Sleeps until `descriptor` is ready or the thread is woken (`poll(2)`).
    ///
    /// - Parameters:
    ///   - descriptor: a socket or pipe for which no other thread waits.
    ///   - isWriting: whether to wait for writing, too.
    /// - Returns: whether a read and a write would not block now.
    /// - Throws: ``LoadError/Code/noResources`` if no descriptor is free.
    public func wait(for descriptor: CInt, isWriting: Bool) throws(LoadError) -> (canRead: Bool, canWrite: Bool) {
        let events = Self.events(isWriting: isWriting)
        var polled = (pollfd(fd: descriptor, events: events, revents: 0), pollfd(fd: try wakeEvent(), events: Int16(POLLIN), revents: 0))
        unsafe withUnsafeMutablePointer(to: &polled) { both in
            unsafe both.withMemoryRebound(to: pollfd.self, capacity: 2) { _ = unsafe poll($0, 2, -1) }
        }
        if polled.1.revents != 0 { clearWakeUp() }
        return Self.readiness(of: polled.0)
    }

    private static func events(isWriting: Bool) -> Int16 { Int16(POLLIN) | (isWriting ? Int16(POLLOUT) : 0) }

    private static func readiness(of polled: pollfd) -> (canRead: Bool, canWrite: Bool) {
        (polled.revents & ~Int16(POLLOUT) != 0, polled.revents & Int16(POLLOUT) != 0)
    }

    /// Clears a wake-up, which ends only one sleep. The end of the wait is never cleared.
    private func clearWakeUp() {
        state.withLock { state in
            guard !state.isOver, state.isSignalled, let wakeEvent = state.wakeEvent else { return }
            drainEvent(wakeEvent)
            state.isSignalled = false
        }
    }

    private func wakeEvent() throws(LoadError) -> CInt {
        try state.withLock { state throws(LoadError) in
            if let wakeEvent = state.wakeEvent { return wakeEvent }
            let wakeEvent = Self.unusedEvents.withLock { $0.popLast() } ?? eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
            guard wakeEvent >= 0 else {
                throw LoadError(.noResources, message: "the thread can't wait: \(LoadError.text(of: errno)); close some files")
            }
            state.wakeEvent = wakeEvent
            // The end or the wake-up came before there was a descriptor.
            if state.isOver || state.hasPendingWakeUp {
                state.hasPendingWakeUp = false
                state.isSignalled = true
                signalEvent(wakeEvent)
            }
            return wakeEvent
        }
    }
}

private func signalEvent(_ wakeEvent: CInt) {
    var one: UInt64 = 1
    _ = unsafe write(wakeEvent, &one, 8)
}

private func drainEvent(_ wakeEvent: CInt) {
    var count: UInt64 = 0
    _ = unsafe read(wakeEvent, &count, 8)
}
