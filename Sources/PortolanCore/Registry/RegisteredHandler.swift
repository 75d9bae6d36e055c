// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A handler in a registry, and the number of its running loads.
package final class RegisteredHandler: Sendable {
    package let handler: any ProtocolHandler
    let registration: RegistrationNumber
    /// Whether the handler is none of a registry, and only redirects to a secure URL.
    let isUpgrade: Bool

    /// Twice the number of running loads, plus one once the handler is retired.
    private let count = Atomic(0)
    private static let retired = 1
    private static let load = 2
    private let waiters = Mutex<[@Sendable () -> Void]>([])

    init(_ handler: any ProtocolHandler, registration: RegistrationNumber, isUpgrade: Bool = false) {
        self.handler = handler
        self.registration = registration
        self.isUpgrade = isUpgrade
    }

    /// Counts a new load, unless the handler was retired.
    package func beginLoad() -> Bool {
        var old = count.load(ordering: .relaxed)
        while old & Self.retired == 0 {
            let (exchanged, original) = count.weakCompareExchange(expected: old, desired: old + Self.load, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            old = original
        }
        return false
    }

    package func endLoad() {
        if count.subtract(Self.load, ordering: .acquiringAndReleasing).newValue == Self.retired { notify() }
    }

    func retire() {
        if count.bitwiseOr(Self.retired, ordering: .acquiringAndReleasing).newValue == Self.retired { notify() }
    }

    var isDrained: Bool { count.load(ordering: .acquiring) == Self.retired }

    func whenDrained(_ body: @escaping @Sendable () -> Void) {
        waiters.withLock { $0.append(body) }
        if isDrained { notify() }
    }

    /// Calls the waiters: no load runs, and none will start.
    private func notify() {
        let waiters = waiters.withLock { waiters in
            defer { waiters = [] }
            return waiters
        }
        for waiter in waiters { waiter() }
    }
}
