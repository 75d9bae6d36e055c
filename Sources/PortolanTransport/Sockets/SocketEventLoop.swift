// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An event loop for sockets. Any thread can enter it, but only one at a time.
///
/// The caller of a load enters the loop and writes the request itself, so no other thread has to wake up. The loop's
/// own thread reads the responses. It is outside of the loop while it sleeps in `epoll_wait(2)`. A thread that waits
/// for its load can read the response instead (``SocketConnection/drive(for:while:)``). Only the loop's own thread and
/// such waiting threads wait until the loop is free. All other callers pass their operations to the loop's thread if
/// the loop is in use.
@safe
package final class SocketEventLoop: EventLoop, @unchecked Sendable {  // … because only code on the event loop uses its mutable state
    private struct Occupancy {
        var isOccupied = false
        /// The number of threads that wait until the loop is free.
        var waitingCount = 0
        var pendingOperations: [@Sendable () -> Void] = []
        /// Whether the loop's thread sleeps, or is about to sleep, and no thread has woken it.
        var isAsleep = false
    }

    private let occupancy = ConditionLock(Occupancy())
    /// The ID of the thread that runs on the loop; 0 if the loop is free.
    private let currentThread = Atomic<UInt>(0)
    let poller: SocketPoller

    // Used on the event loop only.
    private var timers = TimerQueue()
    /// When the loop's thread wakes up if nothing happens before, in nanoseconds; `nil` for never.
    private var wakeTime: Int64?
    /// Whether a timer was scheduled that is due before the loop's thread would wake up.
    private var hasEarlierTimer = false
    private var iterationEndActions: [() -> Void] = []
    private var sockets: [(any PolledSocket)?] = []
    private var freeSlots: [Int] = []
    /// Increases with each added socket, so that a new socket in a reused slot has another poll ID.
    private var generation: UInt64 = 0
    /// The buffer for reads. It is large, so all sockets share it.
    private var receiveBuffer = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var isReceiving = false

    /// One loop for each processor. They are made when the first load needs them, and live as long as the process.
    package static let shared: Result<[SocketEventLoop], LoadError> = {
        do throws(LoadError) {
            var loops: [SocketEventLoop] = []
            for _ in 0..<max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) { loops.append(try SocketEventLoop()) }
            return .success(loops)
        } catch {
            return .failure(error)
        }
    }()

    private static let nextIndex = Atomic(UInt(0))

    /// One of the shared loops, each in turn.
    package static var next: Result<SocketEventLoop, LoadError> {
        shared.map { loops in loops[Int(nextIndex.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(loops.count))] }
    }

    /// Starts the loop's thread, which runs as long as the process.
    ///
    /// - Throws: ``LoadError/Code/noResources``
    init() throws(LoadError) {
        poller = try SocketPoller()
        try PlatformThread.start { [self] in run() }
        NonBlockingThreads.add { [self] in isOnLoop }
    }

    // MARK: Entering and leaving

    package var isOnLoop: Bool { currentThread.load(ordering: .relaxed) == Self.thread }

    private static var thread: UInt { UInt(pthread_self()) }

    package func tryEnter() -> Bool {
        let hasEntered = occupancy.withLock { occupancy in
            // Operations that were passed earlier run first.
            guard !occupancy.isOccupied, occupancy.pendingOperations.isEmpty, occupancy.waitingCount == 0 else { return false }
            occupancy.isOccupied = true
            return true
        }
        if hasEntered { currentThread.store(Self.thread, ordering: .relaxed) }
        return hasEntered
    }

    /// As ``tryEnter()``, but waits until the loop is free.
    package func enterWhenFree() {
        var isCounted = false
        occupancy.wait { occupancy -> Void? in
            if occupancy.isOccupied != isCounted { occupancy.waitingCount += isCounted ? -1 : 1 }
            isCounted = occupancy.isOccupied
            guard !occupancy.isOccupied else { return nil }
            occupancy.isOccupied = true
            return ()
        }
        currentThread.store(Self.thread, ordering: .relaxed)
    }

    package func leave() {
        endIteration()
        let needsEarlierWake = hasEarlierTimer
        hasEarlierTimer = false
        currentThread.store(0, ordering: .relaxed)
        let (hasWaiters, wakes) = occupancy.withLock { occupancy in
            occupancy.isOccupied = false
            let wakes = occupancy.isAsleep && (needsEarlierWake || !occupancy.pendingOperations.isEmpty)
            if wakes { occupancy.isAsleep = false }
            return (occupancy.waitingCount > 0, wakes)
        }
        if hasWaiters { occupancy.withLockBroadcasting { _ in } }
        if wakes { poller.wake() }
    }

    package func execute(_ operation: @escaping @Sendable () -> Void) {
        let wakes = occupancy.withLock { occupancy in
            occupancy.pendingOperations.append(operation)
            guard occupancy.isAsleep, !occupancy.isOccupied else { return false }
            occupancy.isAsleep = false
            return true
        }
        if wakes { poller.wake() }
    }

    package func atEndOfIteration(_ operation: @escaping () -> Void) { iterationEndActions.append(operation) }

    private func endIteration() {
        while !iterationEndActions.isEmpty {
            let actions = iterationEndActions
            iterationEndActions = []
            for action in actions { action() }
        }
    }

    // MARK: Time

    package var now: UInt64 { UInt64(MonotonicTime.coarseNanoseconds) }

    package func schedule(after time: Duration, _ operation: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let timer = ScheduledTimer(operation)
        let deadline = MonotonicTime.now + min(time, .seconds(1 << 32))
        timers.insert(timer, at: deadline)
        if wakeTime.map({ deadline.nanoseconds < $0 }) ?? true {
            wakeTime = deadline.nanoseconds
            hasEarlierTimer = true
        }
        return timer
    }

    // MARK: The loop's thread

    private func run() {
        enterWhenFree()
        while true {
            let count = sleep()
            for index in 0..<count {
                if let event = poller.event(index) { socket(event.pollID)?.handle(event.events) }
            }
            if let wakeTime, MonotonicTime.coarseNanoseconds >= wakeTime { fireTimers() }
            for operation in removePendingOperations() { operation() }
            endIteration()
        }
    }

    /// Leaves the loop, sleeps until something happens, and enters the loop again.
    ///
    /// - Returns: the number of events of the poller.
    private func sleep() -> Int {
        let limit = wakeTime.map { CInt(clamping: max(0, ($0 - MonotonicTime.coarseNanoseconds) / 1_000_000 + 1)) }
        hasEarlierTimer = false
        currentThread.store(0, ordering: .relaxed)
        let (hasWaiters, hasOperations) = occupancy.withLock { occupancy in
            occupancy.isOccupied = false
            occupancy.isAsleep = occupancy.pendingOperations.isEmpty
            return (occupancy.waitingCount > 0, !occupancy.pendingOperations.isEmpty)
        }
        if hasWaiters { occupancy.withLockBroadcasting { _ in } }
        let count = poller.wait(atMost: hasOperations ? 0 : limit)
        enterWhenFree()
        return count
    }

    private func fireTimers() {
        for timer in timers.removeDue(at: MonotonicTime.now) { timer.fire() }
        wakeTime = timers.nextDeadline?.nanoseconds
    }

    private func removePendingOperations() -> [@Sendable () -> Void] {
        occupancy.withLock { occupancy in
            occupancy.isAsleep = false
            guard !occupancy.pendingOperations.isEmpty else { return [] }
            defer { occupancy.pendingOperations = [] }
            return occupancy.pendingOperations
        }
    }
}

// MARK: Sockets, on the event loop

extension SocketEventLoop {
    /// - Returns: the number that identifies the socket for the poller.
    func add(_ socket: any PolledSocket) -> UInt64 {
        generation &+= 1
        let slot = freeSlots.popLast() ?? sockets.count
        if slot == sockets.count { sockets.append(socket) } else { sockets[slot] = socket }
        return (generation & 0xFFFF_FFFF) << 32 | UInt64(slot)
    }

    func remove(_ socket: any PolledSocket) {
        let slot = Int(socket.pollID & 0xFFFF_FFFF)
        guard slot < sockets.count, sockets[slot] === socket else { return }
        sockets[slot] = nil
        freeSlots.append(slot)
    }

    /// Finds the socket of an event. `nil` if the socket was removed after the event.
    private func socket(_ pollID: UInt64) -> (any PolledSocket)? {
        let slot = Int(pollID & 0xFFFF_FFFF)
        guard slot < sockets.count, let socket = sockets[slot], socket.pollID == pollID else { return nil }
        return socket
    }

    /// Calls `read` with a buffer of `size` bytes, and then `deliver` with the bytes that were read. `deliver` borrows
    /// the bytes.
    ///
    /// A nested call from `deliver` uses another buffer, so that the borrowed bytes do not change. This happens when an
    /// idle TLS connection is checked before it is used again.
    ///
    /// - Returns: the result of `read`.
    func receive(
        atMost size: Int, _ read: (UnsafeMutableRawBufferPointer) -> TransferResult, _ deliver: (borrowing RawSpan) -> Void
    ) -> TransferResult {
        let isNested = isReceiving
        let buffer: UnsafeMutableRawBufferPointer
        if isNested {
            unsafe buffer = .allocate(byteCount: size, alignment: 16)
        } else {
            if unsafe receiveBuffer.count < size {
                unsafe receiveBuffer.deallocate()
                unsafe receiveBuffer = .allocate(byteCount: size, alignment: 16)
            }
            unsafe buffer = UnsafeMutableRawBufferPointer(rebasing: receiveBuffer[..<size])
        }
        isReceiving = true
        defer {
            if isNested { unsafe buffer.deallocate() } else { isReceiving = false }
        }
        let result = unsafe read(buffer)
        if case .moved(let count) = result {
            deliver(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        }
        return result
    }
}
