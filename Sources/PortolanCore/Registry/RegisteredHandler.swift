// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A handler in a registry, and how many of its loads run.
package final class RegisteredHandler: Sendable {
    package let handler: any ProtocolHandler
    let registration: RegistrationNumber

    private struct State {
        var running = 0
        var isRetired = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    init(_ handler: any ProtocolHandler, registration: RegistrationNumber) {
        self.handler = handler
        self.registration = registration
    }

    /// Counts a load in, unless the handler was retired.
    package func beginLoad() -> Bool {
        state.withLock { state in
            guard !state.isRetired else { return false }
            state.running += 1
            return true
        }
    }

    package func endLoad() {
        notifyIfIdle { $0.running -= 1 }
    }

    func retire() {
        notifyIfIdle { $0.isRetired = true }
    }

    var isIdleForGood: Bool {
        state.withLock { $0.isRetired && $0.running == 0 }
    }

    func whenIdleForGood(_ body: @escaping @Sendable () -> Void) {
        notifyIfIdle { $0.waiters.append(body) }
    }

    private func notifyIfIdle(after change: (inout State) -> Void) {
        let waiters = state.withLock { state -> [@Sendable () -> Void] in
            change(&state)
            guard state.isRetired, state.running == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }
}
