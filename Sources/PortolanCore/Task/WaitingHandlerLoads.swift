// SPDX-License-Identifier: Apache-2.0

/// The waits of a task's handler loads in queues, for example for a connection. A task has several handler loads if
/// handlers pass its request on (``ProtocolClient/makeLoadByNextHandler(for:client:)``).
struct WaitingHandlerLoads {
    private struct Entry {
        let handlerLoad: ObjectIdentifier
        var wait: QueueWait
        /// The time at which the wait reaches its limit; `nil` for no limit.
        let deadline: Duration?
        /// `false` while the handler load has left the queue and can return.
        var isInQueue = true
    }

    private var entries: [Entry] = []
    private var isOver = false

    /// The wait that began first; `nil` if no handler load waits.
    var firstWait: QueueWait? { entries.first { $0.isInQueue }?.wait }

    /// The earliest time at which a wait reaches its limit; `nil` if no wait has a limit.
    var deadline: Duration? { entries.lazy.filter(\.isInQueue).compactMap(\.deadline).min() }

    /// Returns a wait that has reached its limit at `time`; `nil` if there is none.
    func expiredWait(at time: Duration) -> QueueWait? {
        entries.first { $0.isInQueue && $0.deadline.map { $0 <= time } ?? false }?.wait
    }

    /// A handler load begins to wait. If it returns to the queue, it keeps its first deadline.
    ///
    /// - Returns: `false` if the handler load was already waiting, or if the task has ended.
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

    /// A handler load no longer waits.
    ///
    /// - Parameter mayReturn: whether the handler load can return to the queue.
    /// - Returns: whether the handler load was waiting.
    mutating func leave(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) -> Bool {
        guard let index = entries.firstIndex(where: { $0.handlerLoad == handlerLoad }) else { return false }
        let wasInQueue = entries[index].isInQueue
        if mayReturn { entries[index].isInQueue = false } else { entries.remove(at: index) }
        return wasInQueue
    }

    /// The task has ended: ends all its waits.
    ///
    /// - Returns: the number of handler loads that were waiting.
    mutating func end() -> Int {
        defer { (entries, isOver) = ([], true) }
        return entries.count { $0.isInQueue }
    }
}
