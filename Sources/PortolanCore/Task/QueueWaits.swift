// SPDX-License-Identifier: Apache-2.0

/// The queue waits of a task: one for each of its handler loads, of which there may be several
/// (``ProtocolClient/makeLoadByNextHandler(for:client:)``).
struct QueueWaits {
    private struct Entry {
        let handlerLoad: ObjectIdentifier
        var wait: QueueWait
        /// When the wait ends at the latest; `nil` for no limit.
        let deadline: Duration?
        /// `false` while the handler load has left the queue and may return.
        var isInQueue = true
    }

    private var entries: [Entry] = []
    private var isOver = false

    /// The current wait, the longest one first; `nil` if there is none.
    var first: QueueWait? { entries.first { $0.isInQueue }?.wait }

    /// When the first wait in a queue reaches its limit.
    var deadline: Duration? { entries.lazy.filter(\.isInQueue).compactMap(\.deadline).min() }

    /// Returns the wait that had reached its limit by `time`.
    func expired(at time: Duration) -> QueueWait? {
        entries.first { $0.isInQueue && $0.deadline.map { $0 <= time } ?? false }?.wait
    }

    /// A handler load that returns keeps the deadline of its first entry.
    ///
    /// - Returns: whether the handler load did not wait before.
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

    /// - Parameter mayReturn: whether the handler load may return to the same wait.
    /// - Returns: whether the handler load waited before.
    mutating func leave(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) -> Bool {
        guard let index = entries.firstIndex(where: { $0.handlerLoad == handlerLoad }) else { return false }
        let wasInQueue = entries[index].isInQueue
        if mayReturn { entries[index].isInQueue = false } else { entries.remove(at: index) }
        return wasInQueue
    }

    /// The task has ended and waits for nothing any more.
    ///
    /// - Returns: the number of its handler loads that waited.
    mutating func end() -> Int {
        defer { (entries, isOver) = ([], true) }
        return entries.count { $0.isInQueue }
    }
}
