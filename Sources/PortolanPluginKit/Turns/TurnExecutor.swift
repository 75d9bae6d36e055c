// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs the jobs of one load's tasks inside the calls that the host makes into the load, where the client may be called.
///
/// So a load needs no thread: what its tasks do is done on the thread of the host's that is in a turn, and what becomes ready between two
/// turns has the host woken. After the load was destroyed, what its tasks still have to do to end runs on Swift's own threads.
///
/// Thread words of the contract: `enqueue` is [any]; ``turn(_:)`` and ``close(_:)`` are [serial].
@safe
final class TurnExecutor: TaskExecutor, @unchecked Sendable {  // … because `isSpent` is touched only in a turn, and the rest is locked
    /// Something to do in a turn. Actions are told `false` after the load's end, when nothing of it may be touched.
    enum Item {
        case job(UnownedJob)
        case action(@Sendable (_ isOpen: Bool) -> Void)
    }

    private enum Phase {
        case open(BorrowedClient)
        /// In `destroy`: what is left is run there, and nobody is woken.
        case closing
        case closed
    }

    private struct Queue {
        var phase: Phase
        var items: [Item] = []
        /// A turn runs, or was asked for.
        var isAwake = false
    }

    /// After so many items the host has a turn of its own, in which a stop may come.
    private static let longestTurn = 256

    private let queue: Mutex<Queue>
    /// The thread that is in a turn; 0: none.
    private let owner = Atomic<UInt>(0)
    /// The turn ends as soon as the running job suspends, and another one follows.
    private var isSpent = false

    init(_ client: BorrowedClient) {
        queue = Mutex(Queue(phase: .open(client)))
    }

    /// Whether this thread is in a turn, and may call the client.
    var isInTurn: Bool {
        @inline(__always) get { owner.load(ordering: .relaxed) == Self.currentThread }
    }

    private static var currentThread: UInt {
        @inline(__always) get { UInt(pthread_self()) }
    }

    // MARK: Any thread

    func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Does `action` now, where this thread is in a turn, else in the next one.
    func perform(_ action: @escaping @Sendable (_ isOpen: Bool) -> Void) {
        if isInTurn { action(true) } else { add(.action(action)) }
    }

    private func add(_ item: Item) {
        let isTaken = queue.withLock { queue in
            switch queue.phase {
            case .open(let client):
                queue.items.append(item)
                if !queue.isAwake {
                    queue.isAwake = true
                    // Under the lock, because `destroy` waits for it and then takes the client away; `wake` never waits, nor calls back.
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

    /// Asks the host whether anybody still wants the rest.
    var isStopped: Bool {
        queue.withLock { queue in
            guard case .open(let client) = queue.phase else { return true }
            return unsafe client.pointer.pointee.is_stopped(client.pointer) != 0  // under the lock as `wake` is
        }
    }

    // MARK: In a call of the host's

    /// A turn: does `body`, and then all that is ready.
    func turn(_ body: () -> Void) {
        owner.store(Self.currentThread, ordering: .relaxed)
        isSpent = false
        queue.withLock { $0.isAwake = true }
        body()
        drain()
        owner.store(0, ordering: .relaxed)
    }

    /// Ends the turn when the running job has suspended: others shall have theirs.
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

    /// The load's end: the client is called no more. Tasks that were cancelled end here, as far as they need nobody else for it.
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
