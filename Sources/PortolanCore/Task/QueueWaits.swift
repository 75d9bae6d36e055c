// SPDX-License-Identifier: Apache-2.0

/// What a task waits for in queues: one wait for each of its attempts, of which there may be several (``ProtocolClient/makeLoadByNextHandler(for:client:)``).
struct QueueWaits {
    private struct Entry {
        let handlerLoad: ObjectIdentifier
        var wait: QueueWait
        /// When the wait is over, whatever happens; `nil`: without a limit.
        let deadline: Duration?
        /// `false` while the attempt has left the queue and may come back.
        var isInQueue = true
    }

    private var entries: [Entry] = []
    private var isOver = false

    /// What is waited for now, the longest wait first; `nil`: nothing.
    var first: QueueWait? { entries.first { $0.isInQueue }?.wait }

    /// When the first wait in a queue is over.
    var deadline: Duration? { entries.lazy.filter(\.isInQueue).compactMap(\.deadline).min() }

    /// The wait that was over by `time`.
    func expired(at time: Duration) -> QueueWait? {
        entries.first { $0.isInQueue && $0.deadline.map { $0 <= time } ?? false }?.wait
    }

    /// An attempt that comes back keeps the deadline of its first entry.
    ///
    /// - Returns: whether the attempt did not wait before.
    mutating func enter(_ handlerLoad: ObjectIdentifier, _ wait: QueueWait, at time: Duration) -> Bool {
        guard !isOver else { return false }
        guard let index = entries.firstIndex(where: { $0.handlerLoad == handlerLoad }) else {
            entries.append(Entry(handlerLoad: handlerLoad, wait: wait, deadline: wait.limit.map { time + $0 }))
            return true
        }
        defer { entries[index].isInQueue = true }
        entries[index].wait = wait
        return !entries[index].isInQueue
    }

    /// - Parameter mayReturn: whether the attempt may come back to the same wait.
    /// - Returns: whether the attempt waited before.
    mutating func leave(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) -> Bool {
        guard let index = entries.firstIndex(where: { $0.handlerLoad == handlerLoad }) else { return false }
        let wasInQueue = entries[index].isInQueue
        if mayReturn { entries[index].isInQueue = false } else { entries.remove(at: index) }
        return wasInQueue
    }

    /// The task has ended, and waits for nothing any more.
    ///
    /// - Returns: how many of its attempts waited.
    mutating func end() -> Int {
        defer { (entries, isOver) = ([], true) }
        return entries.count { $0.isInQueue }
    }
}
