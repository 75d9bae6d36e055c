// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs the jobs of one load's tasks inside the host's calls into the load, because only there the tasks can call the
/// client.
///
/// A load therefore needs no thread: its tasks run on the host's thread during a call. If a job becomes ready between
/// two calls, the executor wakes the host. After the load was destroyed, the remaining jobs of its tasks run on the
/// threads of Swift's global executor.
///
/// Threads: `enqueue` is [any]; ``runHostCall(_:)`` and ``close(_:)`` are [serial].
@safe
final class HostCallExecutor: TaskExecutor, @unchecked Sendable {  // … because `shouldEndHostCall` is used only in host calls
    /// Work for a host call. An action receives `false` if the load has ended. It must not use the load then.
    enum Item {
        case job(UnownedJob)
        case action(@Sendable (_ isOpen: Bool) -> Void)
    }

    private enum Phase {
        case open(BorrowedClient)
        /// `destroy` is running. It runs the remaining items, so the host is not woken.
        case closing
        case closed
    }

    private struct Queue {
        var phase: Phase
        var items: [Item] = []
        /// Whether a host call is running or was requested.
        var hasHostCall = false
    }

    /// The number of items after which the call returns to the host, so that the host can stop the load.
    private static let itemLimit = 256

    private let queue: Mutex<Queue>
    /// The thread that is inside a host call. 0 if there is none.
    private let hostCallThread = Atomic<UInt>(0)
    /// Whether the host call must end as soon as the running job suspends. Another call follows.
    private var shouldEndHostCall = false

    init(_ client: BorrowedClient) {
        queue = Mutex(Queue(phase: .open(client)))
    }

    /// Whether this thread is inside a host call, and can call the client.
    var isInHostCall: Bool {
        @inline(__always) get { hostCallThread.load(ordering: .relaxed) == Self.currentThread }
    }

    private static var currentThread: UInt {
        @inline(__always) get { UInt(pthread_self()) }
    }

    // MARK: Any thread

    func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Runs `action` immediately if this thread is inside a host call, otherwise in the next host call.
    func perform(_ action: @escaping @Sendable (_ isOpen: Bool) -> Void) {
        if isInHostCall { action(true) } else { add(.action(action)) }
    }

    private func add(_ item: Item) {
        let wasQueued = queue.withLock { queue in
            switch queue.phase {
            case .open(let client):
                queue.items.append(item)
                if !queue.hasHostCall {
                    queue.hasHostCall = true
                    // The host is woken under the lock, because `destroy` acquires the lock before the client becomes
                    // invalid. `wake` never waits or calls back.
                    unsafe client.pointer.pointee.wake(client.pointer)
                }
                return true
            case .closing:
                queue.items.append(item)
                return true
            case .closed: return false
            }
        }
        guard !wasQueued else { return }
        switch item {
        case .job(let job): globalConcurrentExecutor.enqueue(job)
        case .action(let action): action(false)
        }
    }

    /// Whether the host has stopped the load.
    var isStopped: Bool {
        queue.withLock { queue in
            guard case .open(let client) = queue.phase else { return true }
            return unsafe client.pointer.pointee.is_stopped(client.pointer) != 0  // under the lock, same as `wake`
        }
    }

    // MARK: In a host call

    /// Runs `operation` and then all ready items. Each call of the host into the load goes through this function.
    func runHostCall(_ operation: () -> Void) {
        hostCallThread.store(Self.currentThread, ordering: .relaxed)
        shouldEndHostCall = false
        queue.withLock { $0.hasHostCall = true }
        operation()
        runReadyItems()
        hostCallThread.store(0, ordering: .relaxed)
    }

    /// Ends this host call when the running job has suspended, so that other loads can use the thread.
    func endHostCallSoon() {
        shouldEndHostCall = true
    }

    private func runReadyItems() {
        var count = 0
        while true {
            let canContinue = !shouldEndHostCall && count < Self.itemLimit
            let items = queue.withLock { queue -> [Item] in
                guard canContinue, !queue.items.isEmpty else {
                    queue.hasHostCall = shouldEndHostCall || !queue.items.isEmpty
                    if queue.hasHostCall, case .open(let client) = queue.phase { unsafe client.pointer.pointee.wake(client.pointer) }
                    return []
                }
                defer { queue.items = [] }
                return queue.items
            }
            guard !items.isEmpty else { return }
            count += items.count
            for item in items { run(item, isOpen: true) }
        }
    }

    private func run(_ item: Item, isOpen: Bool) {
        switch item {
        case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        case .action(let action): action(isOpen)
        }
    }

    /// Runs `operation` and then the remaining items. After that, no task calls the client. Cancelled tasks end here,
    /// unless they wait for something else.
    func close(_ operation: () -> Void) {
        queue.withLock { $0.phase = .closing }
        operation()
        var count = 0
        while true {
            let items = queue.withLock { queue -> [Item] in
                defer { queue.items = [] }
                if queue.items.isEmpty || count >= Self.itemLimit { queue.phase = .closed }
                return queue.items
            }
            guard !items.isEmpty else { return }
            guard count < Self.itemLimit else {
                for item in items {
                    if case .job(let job) = item { globalConcurrentExecutor.enqueue(job) } else { run(item, isOpen: false) }
                }
                return
            }
            count += items.count
            for item in items { run(item, isOpen: false) }
        }
    }
}
