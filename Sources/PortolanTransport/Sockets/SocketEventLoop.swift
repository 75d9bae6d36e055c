// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An event loop of plain sockets. Any thread may run on it while no other thread does.
///
/// A caller's own thread writes its request, so no other thread has to wake up for it. The loop's thread reads the
/// input. It sleeps in `epoll_wait(2)` without occupying the loop. A thread that waits for its load may read instead
/// (``SocketConnection/drive(for:while:)``). Only these two threads wait for the loop. Other work that finds the loop
/// occupied is left to the loop's thread.
@safe
package final class SocketEventLoop: EventLoop, @unchecked Sendable {  // … because its mutable state is touched on the event loop only
    private struct Occupancy {
        var isTaken = false
        /// Threads that sleep until the loop is free.
        var waitingCount = 0
        var work: [@Sendable () -> Void] = []
        /// Whether the loop's thread sleeps, or is about to, and no thread has woken it.
        var isAsleep = false
    }

    private let occupancy = ConditionLock(Occupancy())
    /// The thread that runs on the loop; 0 means none.
    private let holder = Atomic<UInt>(0)
    let poller: SocketPoller

    // Touched on the event loop only.
    private var alarms = TimerQueue()
    /// The time until which the loop's thread sleeps if nothing happens, in nanoseconds.
    private var wakeTime: Int64?
    private var hasEarlierAlarm = false
    private var endings: [() -> Void] = []
    private var sockets: [(any PolledSocket)?] = []
    private var freeSlots: [Int] = []
    private var generation: UInt64 = 0
    /// The bytes of the last read, until the next read. The buffer is large, and all sockets share it.
    private var received = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var isReceiving = false

    /// One loop for each processor, for the lifetime of the process. They are made when the first load needs them.
    package static let shared: Result<[SocketEventLoop], LoadError> = {
        do throws(LoadError) {
            var loops: [SocketEventLoop] = []
            for _ in 0..<max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) { loops.append(try SocketEventLoop()) }
            return .success(loops)
        } catch {
            return .failure(error)
        }
    }()

    /// The loop's thread runs for the lifetime of the process.
    ///
    /// - Throws: ``LoadError/Code/noResources``
    init() throws(LoadError) {
        poller = try SocketPoller()
        try PlatformThread.start { [self] in run() }
        NonBlockingThreads.add { [self] in isOnLoop }
    }

    // MARK: Entering and leaving

    package var isOnLoop: Bool { holder.load(ordering: .relaxed) == Self.thread }

    private static var thread: UInt { UInt(pthread_self()) }

    package func enter() -> Bool {
        let isMine = occupancy.withLock { occupancy in
            // Work that was left before comes first.
            guard !occupancy.isTaken, occupancy.work.isEmpty, occupancy.waitingCount == 0 else { return false }
            occupancy.isTaken = true
            return true
        }
        if isMine { holder.store(Self.thread, ordering: .relaxed) }
        return isMine
    }

    /// Like ``enter()``, but waits until the loop is free.
    package func enterInTime() {
        var isCounted = false
        occupancy.wait { occupancy -> Void? in
            if occupancy.isTaken != isCounted { occupancy.waitingCount += isCounted ? -1 : 1 }
            isCounted = occupancy.isTaken
            guard !occupancy.isTaken else { return nil }
            occupancy.isTaken = true
            return ()
        }
        holder.store(Self.thread, ordering: .relaxed)
    }

    package func leave() {
        endIteration()
        let isEarlier = hasEarlierAlarm
        hasEarlierAlarm = false
        holder.store(0, ordering: .relaxed)
        let (isAwaited, wakes) = occupancy.withLock { occupancy in
            occupancy.isTaken = false
            let wakes = occupancy.isAsleep && (isEarlier || !occupancy.work.isEmpty)
            if wakes { occupancy.isAsleep = false }
            return (occupancy.waitingCount > 0, wakes)
        }
        if isAwaited { occupancy.withLockBroadcasting { _ in } }
        if wakes { poller.wake() }
    }

    package func execute(_ body: @escaping @Sendable () -> Void) {
        let wakes = occupancy.withLock { occupancy in
            occupancy.work.append(body)
            guard occupancy.isAsleep, !occupancy.isTaken else { return false }
            occupancy.isAsleep = false
            return true
        }
        if wakes { poller.wake() }
    }

    package func atEndOfIteration(_ body: @escaping () -> Void) { endings.append(body) }

    private func endIteration() {
        while !endings.isEmpty {
            let now = endings
            endings = []
            for body in now { body() }
        }
    }

    // MARK: Time

    package var now: UInt64 { UInt64(MonotonicTime.coarseNanoseconds) }

    package func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let alarm = ScheduledTimer(body)
        let deadline = MonotonicTime.now + min(time, .seconds(1 << 32))
        alarms.insert(alarm, at: deadline)
        if wakeTime.map({ deadline.nanoseconds < $0 }) ?? true {
            wakeTime = deadline.nanoseconds
            hasEarlierAlarm = true
        }
        return alarm
    }

    // MARK: Its thread

    private func run() {
        enterInTime()
        while true {
            let count = sleep()
            for index in 0..<count {
                if let event = poller.event(index) { socket(event.mark)?.handle(event.happened) }
            }
            if let wakeTime, MonotonicTime.coarseNanoseconds >= wakeTime { fireAlarms() }
            for body in takeWork() { body() }
            endIteration()
        }
    }

    /// Leaves the loop, sleeps until something happens, and enters the loop again.
    private func sleep() -> Int {
        let limit = wakeTime.map { CInt(clamping: max(0, ($0 - MonotonicTime.coarseNanoseconds) / 1_000_000 + 1)) }
        hasEarlierAlarm = false
        holder.store(0, ordering: .relaxed)
        let (isAwaited, hasWork) = occupancy.withLock { occupancy in
            occupancy.isTaken = false
            occupancy.isAsleep = occupancy.work.isEmpty
            return (occupancy.waitingCount > 0, !occupancy.work.isEmpty)
        }
        if isAwaited { occupancy.withLockBroadcasting { _ in } }
        let count = poller.wait(atMost: hasWork ? 0 : limit)
        enterInTime()
        return count
    }

    private func fireAlarms() {
        for alarm in alarms.removeDue(at: MonotonicTime.now) { alarm.fire() }
        wakeTime = alarms.nextDeadline?.nanoseconds
    }

    private func takeWork() -> [@Sendable () -> Void] {
        occupancy.withLock { occupancy in
            occupancy.isAsleep = false
            guard !occupancy.work.isEmpty else { return [] }
            defer { occupancy.work = [] }
            return occupancy.work
        }
    }
}

// MARK: Sockets, on the event loop

extension SocketEventLoop {
    /// - Returns: the mark that identifies the socket for the poller.
    func add(_ socket: any PolledSocket) -> UInt64 {
        generation &+= 1
        let slot = freeSlots.popLast() ?? sockets.count
        if slot == sockets.count { sockets.append(socket) } else { sockets[slot] = socket }
        return (generation & 0xFFFF_FFFF) << 32 | UInt64(slot)
    }

    func remove(_ socket: any PolledSocket) {
        let slot = Int(socket.mark & 0xFFFF_FFFF)
        guard slot < sockets.count, sockets[slot] === socket else { return }
        sockets[slot] = nil
        freeSlots.append(slot)
    }

    /// An event may be older than a change of its socket that other work on the loop has made meanwhile.
    private func socket(_ mark: UInt64) -> (any PolledSocket)? {
        let slot = Int(mark & 0xFFFF_FFFF)
        guard slot < sockets.count, let socket = sockets[slot], socket.mark == mark else { return nil }
        return socket
    }

    /// Makes `read` fill the loop's buffer with at most `size` bytes, and passes these bytes to `body`, which borrows
    /// them.
    ///
    /// A call from inside `body` gets another buffer, so that the borrowed bytes do not change. This happens when an
    /// idle TLS connection is read before it is used again.
    ///
    /// - Returns: the result of `read`.
    func receive(
        atMost size: Int, _ read: (UnsafeMutableRawBufferPointer) -> TransferResult, _ body: (borrowing RawSpan) -> Void
    ) -> TransferResult {
        let isNested = isReceiving
        let buffer: UnsafeMutableRawBufferPointer
        if isNested {
            unsafe buffer = .allocate(byteCount: size, alignment: 16)
        } else {
            if unsafe received.count < size {
                unsafe received.deallocate()
                unsafe received = .allocate(byteCount: size, alignment: 16)
            }
            unsafe buffer = UnsafeMutableRawBufferPointer(rebasing: received[..<size])
        }
        isReceiving = true
        defer {
            if isNested { unsafe buffer.deallocate() } else { isReceiving = false }
        }
        let result = unsafe read(buffer)
        if case .moved(let count) = result {
            body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        }
        return result
    }
}
