// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// State that threads change. Tests wait until the state meets a condition.
package final class Observed<State: Sendable>: Sendable {
    private struct Waiter {
        let isMet: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Guarded {
        var state: State
        var waiters: [UInt64: Waiter] = [:]
        var cancelled: Set<UInt64> = []
        var nextWaiter: UInt64 = 0
    }

    private let guarded: Mutex<Guarded>

    package init(_ state: State) {
        guarded = Mutex(Guarded(state: state))
    }

    package var state: State { guarded.withLock { $0.state } }

    package func update<Result>(_ body: (inout sending State) -> sending Result) -> sending Result {
        let (result, met) = guarded.withLock { guarded in
            let result = body(&guarded.state)
            let met = guarded.waiters.filter { $0.value.isMet(guarded.state) }
            for number in met.keys { guarded.waiters[number] = nil }
            return (result, met.values.map(\.continuation))
        }
        for continuation in met { continuation.resume(returning: true) }
        return result
    }

    /// - Throws: `CancellationError` if the task is cancelled first. Swift Testing cancels a test that exceeds its time
    ///   limit.
    package func wait(until isMet: @escaping @Sendable (State) -> Bool) async throws {
        let number = guarded.withLock { guarded in
            guarded.nextWaiter += 1
            return guarded.nextWaiter
        }
        let wasMet = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result: Bool? = guarded.withLock { guarded in
                    if isMet(guarded.state) { return true }
                    if guarded.cancelled.remove(number) != nil { return false }
                    guarded.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            cancel(number)
        }
        if !wasMet { throw CancellationError() }
    }

    private func cancel(_ number: UInt64) {
        let waiter = guarded.withLock { guarded in
            let waiter = guarded.waiters.removeValue(forKey: number)
            // The task can be cancelled before it waits.
            if waiter == nil { guarded.cancelled.insert(number) }
            return waiter
        }
        waiter?.continuation.resume(returning: false)
    }
}
