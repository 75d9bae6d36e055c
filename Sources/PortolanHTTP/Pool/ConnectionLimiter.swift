// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How many connections all event loops together may still open. Any thread.
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
    /// - Parameter whenFree: called once, on any thread, when another try is worth while; only after the answer `false`.
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

    /// Whether a connection that nobody uses would be of use elsewhere. A hint: asked each time when one becomes idle.
    var isAwaited: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    func giveBack() {
        state.withLock { $0.free += 1 }
        wakeNext()
    }

    /// Whoever was woken passes it on, whether it took the right or not: what made it wait may be gone.
    func wakeNext() {
        let next: (@Sendable () -> Void)? = state.withLock { state in
            guard state.free > 0, !state.waiting.isEmpty else { return nil }
            defer { waitingCount.store(state.waiting.count, ordering: .relaxed) }
            return state.waiting.removeFirst()
        }
        next?()
    }
}
