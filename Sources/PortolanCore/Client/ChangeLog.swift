// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The changes of a storage in memory that a store on disk has not written yet: the last change of each key.
///
/// The storage records its changes while it holds its lock, so that their order is kept, and calls ``notify()`` after
/// it has released the lock. Neither call blocks. Can be used on any thread.
package final class ChangeLog<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    package enum Change: Sendable {
        case set(Value)
        case removed
        /// The value was removed because of its content. If another process has stored other content in the meantime,
        /// that content stays.
        case removedIfUnchanged(Value)

        /// Returns one change with the effect of `earlier` and then this change. The store has written neither.
        fileprivate func following(_ earlier: Change?) -> Change {
            switch (self, earlier) {
            // The store does not contain the removed value yet. The value that it contains is outdated, and is removed,
            // too.
            case (.removedIfUnchanged, .set), (.removedIfUnchanged, .removed): .removed
            default: self
            }
        }
    }

    private struct State {
        /// The changes, with numbers in the order in which they were made.
        var changes: [Key: (number: Int64, change: Change)] = [:]
        var (firstNumber, lastNumber): (Int64, Int64) = (0, 0)
        /// Whether the store must still be notified of the changes.
        var needsNotification = false
    }

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: makes the store write the changes soon. Called on the thread of a change, without a lock held.
    package init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    package func record(_ change: Change, for key: Key) {
        state.withLock { state in
            if state.changes.isEmpty { state.needsNotification = true }
            state.lastNumber += 1
            state.changes[key] = (state.lastNumber, change.following(state.changes[key]?.change))
        }
    }

    /// Records changes that are older than all recorded changes. Ignores a change if a newer change of the same key is
    /// recorded. Does not notify the store, because the store itself calls this method.
    ///
    /// - Parameter changes: the oldest first.
    package func recordOlder(_ changes: some BidirectionalCollection<(key: Key, change: Change)>) {
        state.withLock { state in
            for (key, change) in changes.reversed() {
                if let (number, newer) = state.changes[key] {
                    state.changes[key] = (number, newer.following(change))
                } else {
                    state.firstNumber -= 1
                    state.changes[key] = (state.firstNumber, change)
                }
            }
        }
    }

    package func notify() {
        let mustWake = state.withLock { state in
            defer { state.needsNotification = false }
            return state.needsNotification
        }
        if mustWake { wake() }
    }

    package func hasChange(for key: Key) -> Bool { state.withLock { $0.changes[key] != nil } }

    package var isEmpty: Bool { state.withLock { $0.changes.isEmpty } }

    /// Removes all changes, and returns them, the oldest first.
    package func removeChanges() -> [(key: Key, change: Change)] {
        let changes = state.withLock { state in
            defer { state.changes = [:] }
            return state.changes
        }
        return changes.sorted { $0.value.number < $1.value.number }.map { ($0.key, $0.value.change) }
    }
}
