// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Limits how many connections all event loops together may open. Any thread.
final class ConnectionLimiter: Sendable {
    private struct State {
        var free: Int
        var waiting: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>
    private let waitingCount = Atomic(0)

    init(_ total: Int) {
        state = Mutex(State(free: max(1, total)))
    }

    /// Takes the right to open one connection.
    ///
    /// - Parameter whenFree: called once, on any thread, when another try is worth while. Called only after this
    ///   returned `false`.
    func take(orCall whenFree: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.free > 0 else {
                state.waiting.append(whenFree)
                waitingCount.store(state.waiting.count, ordering: .relaxed)
                return false
            }
            state.free -= 1
            return true
        }
    }

    /// Whether another caller needs an unused connection to be closed. A hint, read each time a connection becomes
    /// idle.
    var isAwaited: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    func giveBack() {
        state.withLock { $0.free += 1 }
        wakeNext()
    }

    /// Wakes the next waiting caller. A woken caller calls this again, whether it took the right or not, because its
    /// reason to wait may be gone.
    func wakeNext() {
        let next: (@Sendable () -> Void)? = state.withLock { state in
            guard state.free > 0, !state.waiting.isEmpty else { return nil }
            defer { waitingCount.store(state.waiting.count, ordering: .relaxed) }
            return state.waiting.removeFirst()
        }
        next?()
    }
}
