// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Blocks threads until `count` threads have arrived.
final class Barrier: Sendable {
    private struct State {
        var missingCount: Int
        var waiter: CheckedContinuation<Void, Never>?
    }
    private let lock: ConditionLock<State>

    init(count: Int) {
        lock = ConditionLock(State(missingCount: count))
    }

    /// Counts an arrival without blocking the thread.
    func arrive() {
        let waiter = lock.withLockBroadcasting { state -> CheckedContinuation<Void, Never>? in
            state.missingCount -= 1
            return state.missingCount == 0 ? state.waiter : nil
        }
        waiter?.resume()
    }

    func arriveAndWait() {
        arrive()
        lock.wait { $0.missingCount <= 0 ? () : nil }
    }

    /// Returns when all threads have arrived. Only one task may call this.
    func waitUntilPassed() async {
        await withCheckedContinuation { continuation in
            let isPassed = lock.withLock { state in
                if state.missingCount > 0 { state.waiter = continuation }
                return state.missingCount <= 0
            }
            if isPassed { continuation.resume() }
        }
    }
}
