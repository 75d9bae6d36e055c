// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Blocks threads until the announced number of threads has arrived.
final class Barrier: Sendable {
    private struct State {
        var missing: Int
        var waiter: CheckedContinuation<Void, Never>?
    }
    private let lock: ConditionLock<State>

    init(count: Int) {
        lock = ConditionLock(State(missing: count))
    }

    func arrive() {
        let waiter = lock.withLockBroadcasting { state -> CheckedContinuation<Void, Never>? in
            state.missing -= 1
            return state.missing == 0 ? state.waiter : nil
        }
        waiter?.resume()
    }

    func arriveAndWait() {
        arrive()
        lock.wait { $0.missing <= 0 ? () : nil }
    }

    /// Returns when all threads have arrived. For one caller.
    func waitUntilPassed() async {
        await withCheckedContinuation { continuation in
            let isPassed = lock.withLock { state in
                if state.missing > 0 { state.waiter = continuation }
                return state.missing <= 0
            }
            if isPassed { continuation.resume() }
        }
    }
}
