// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// State that threads change. Tests wait until the state meets a condition.
package final class Observed<State: Sendable>: Sendable {
    private struct Waiter {
        let condition: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Storage {
        var state: State
        var waiters: [UInt64: Waiter] = [:]
        var cancelledWaiters: Set<UInt64> = []
        var lastWaiter: UInt64 = 0
    }

    private let storage: Mutex<Storage>

    package init(_ state: State) {
        storage = Mutex(Storage(state: state))
    }

    package var state: State { storage.withLock { $0.state } }

    package func update<Result>(_ change: (inout sending State) -> sending Result) -> sending Result {
        let (result, continuations) = storage.withLock { storage in
            let result = change(&storage.state)
            let readyWaiters = storage.waiters.filter { $0.value.condition(storage.state) }
            for number in readyWaiters.keys { storage.waiters[number] = nil }
            return (result, readyWaiters.values.map(\.continuation))
        }
        for continuation in continuations { continuation.resume(returning: true) }
        return result
    }

    /// - Throws: `CancellationError` if the task is cancelled first. Swift Testing cancels a test that exceeds its time
    ///   limit.
    package func wait(until condition: @escaping @Sendable (State) -> Bool) async throws {
        let number = storage.withLock { storage in
            storage.lastWaiter += 1
            return storage.lastWaiter
        }
        let conditionWasMet = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let immediateResult: Bool? = storage.withLock { storage in
                    if condition(storage.state) { return true }
                    if storage.cancelledWaiters.remove(number) != nil { return false }
                    storage.waiters[number] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let immediateResult { continuation.resume(returning: immediateResult) }
            }
        } onCancel: {
            cancel(number)
        }
        if !conditionWasMet { throw CancellationError() }
    }

    private func cancel(_ number: UInt64) {
        let waiter = storage.withLock { storage in
            let waiter = storage.waiters.removeValue(forKey: number)
            // The task can be cancelled before its waiter is stored.
            if waiter == nil { storage.cancelledWaiters.insert(number) }
            return waiter
        }
        waiter?.continuation.resume(returning: false)
    }
}
