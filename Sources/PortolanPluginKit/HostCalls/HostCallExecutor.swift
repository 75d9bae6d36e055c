// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs the jobs of one load's tasks inside the host's calls into the load, where the client may be called.
///
/// A load therefore needs no thread: its tasks run on the host's thread during a call. A job that becomes ready between
/// two calls makes the executor wake the host. After the load was destroyed, the remaining jobs of its tasks run on
/// Swift's own threads.
///
/// Threads: `enqueue` is [any]; ``turn(_:)`` and ``close(_:)`` are [serial].
@safe
final class HostCallExecutor: TaskExecutor, @unchecked Sendable {  // … because `isSpent` is used only in a host call; the rest is locked
    /// Work for a host call. Actions receive `false` after the load's end; they must not touch the load then.
    enum Item {
        case job(UnownedJob)
        case action(@Sendable (_ isOpen: Bool) -> Void)
    }

    private enum Phase {
        case open(BorrowedClient)
        /// In `destroy`: it runs the remaining items, and does not wake the host.
        case closing
        case closed
    }

    private struct Queue {
        var phase: Phase
        var items: [Item] = []
        /// Whether a host call is running or was requested.
        var isAwake = false
    }

    /// After this number of items, the call returns to the host, so that it can stop the load.
    private static let longestTurn = 256

    private let queue: Mutex<Queue>
    /// The thread that is inside a host call; 0 if there is none.
    private let owner = Atomic<UInt>(0)
    /// Whether the host call must end as soon as the running job suspends. Another call follows.
    private var isSpent = false

    init(_ client: BorrowedClient) {
        queue = Mutex(Queue(phase: .open(client)))
    }

    /// Whether this thread is inside a host call, and may call the client.
    var isInHostCall: Bool {
        @inline(__always) get { owner.load(ordering: .relaxed) == Self.currentThread }
    }

    private static var currentThread: UInt {
        @inline(__always) get { UInt(pthread_self()) }
    }

    // MARK: Any thread

    func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Runs `action` now if this thread is inside a host call, otherwise in the next host call.
    func perform(_ action: @escaping @Sendable (_ isOpen: Bool) -> Void) {
        if isInHostCall { action(true) } else { add(.action(action)) }
    }

    private func add(_ item: Item) {
        let isTaken = queue.withLock { queue in
            switch queue.phase {
            case .open(let client):
                queue.items.append(item)
                if !queue.isAwake {
                    queue.isAwake = true
                    // Under the lock, because `destroy` acquires it before the client becomes invalid. `wake` never
                    // waits or calls back.
                    unsafe client.pointer.pointee.wake(client.pointer)
                }
                return true
            case .closing:
                queue.items.append(item)
                return true
            case .closed: return false
            }
        }
        guard !isTaken else { return }
        switch item {
        case .job(let job): globalConcurrentExecutor.enqueue(job)
        case .action(let action): action(false)
        }
    }

    /// Whether the host has stopped the load.
    var isStopped: Bool {
        queue.withLock { queue in
            guard case .open(let client) = queue.phase else { return true }
            return unsafe client.pointer.pointee.is_stopped(client.pointer) != 0  // under the lock, as `wake` is
        }
    }

    // MARK: In a call by the host

    /// Runs `body` and then all ready items. The host calls into the load through this function.
    func turn(_ body: () -> Void) {
        owner.store(Self.currentThread, ordering: .relaxed)
        isSpent = false
        queue.withLock { $0.isAwake = true }
        body()
        drain()
        owner.store(0, ordering: .relaxed)
    }

    /// Ends this host call when the running job has suspended, so that other loads can use the thread.
    func spend() {
        isSpent = true
    }

    private func drain() {
        var count = 0
        while true {
            let mayGoOn = !isSpent && count < Self.longestTurn
            let items = queue.withLock { queue -> [Item] in
                guard mayGoOn, !queue.items.isEmpty else {
                    queue.isAwake = isSpent || !queue.items.isEmpty
                    if queue.isAwake, case .open(let client) = queue.phase { unsafe client.pointer.pointee.wake(client.pointer) }
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

    /// Ends the load; the client is not called any more. Cancelled tasks end here, unless they wait for something else.
    func close(_ body: () -> Void) {
        queue.withLock { $0.phase = .closing }
        body()
        var count = 0
        while true {
            let items = queue.withLock { queue -> [Item] in
                defer { queue.items = [] }
                if queue.items.isEmpty || count >= Self.longestTurn { queue.phase = .closed }
                return queue.items
            }
            guard !items.isEmpty else { return }
            guard count < Self.longestTurn else {
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
