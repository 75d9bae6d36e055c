// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Limits the number of connections of all event loops together. Can be used on any thread.
final class ConnectionLimiter: Sendable {
    private struct State {
        var freeSlots: Int
        /// The callbacks of the callers that wait for a slot, in the order of their arrival.
        var waitingCallbacks: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>
    private let waitingCount = Atomic(0)

    init(_ total: Int) {
        state = Mutex(State(freeSlots: max(1, total)))
    }

    /// Acquires a slot for a new connection.
    ///
    /// - Parameter whenFree: called once, on any thread, when a slot can be free, if this returned `false`. Then call
    ///   this method again.
    /// - Returns: `false` if no slot is free.
    func acquire(orNotify whenFree: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.freeSlots > 0 else {
                state.waitingCallbacks.append(whenFree)
                waitingCount.store(state.waitingCallbacks.count, ordering: .relaxed)
                return false
            }
            state.freeSlots -= 1
            return true
        }
    }

    /// Whether a caller waits for a slot. If so, pools close idle connections. The value is read without a lock, so it
    /// can be outdated.
    var hasWaiters: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    /// Returns the slot of a closed connection.
    func release() {
        state.withLock { $0.freeSlots += 1 }
        wakeNext()
    }

    /// Notifies the next waiting caller if a slot is free. The caller must then call this method again, because the
    /// slot stays free if the caller does not need it.
    func wakeNext() {
        let next: (@Sendable () -> Void)? = state.withLock { state in
            guard state.freeSlots > 0, !state.waitingCallbacks.isEmpty else { return nil }
            defer { waitingCount.store(state.waitingCallbacks.count, ordering: .relaxed) }
            return state.waitingCallbacks.removeFirst()
        }
        next?()
    }
}
