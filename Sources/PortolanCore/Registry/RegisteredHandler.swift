// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A handler in a registry, and the number of its running loads.
package final class RegisteredHandler: Sendable {
    package let handler: any ProtocolHandler
    let registration: RegistrationNumber
    /// Whether the handler is an ``UpgradeHandler``, which is in no registry and only redirects to a secure URL.
    let upgradesToHTTPS: Bool
    /// The handler of the cache that is in front of another handler (``LoadCache``); `nil` for other handlers. It is in
    /// no registry, and the policies change the request of the next handler.
    let cacheHandler: (any CacheHandler)?
    /// The handler behind the handler of the cache; `nil` for other handlers.
    let next: RegisteredHandler?

    /// Twice the number of running loads. After the handler was retired, one more.
    private let doubledLoadCount = Atomic(0)
    private static let retiredFlag = 1
    private static let oneLoad = 2
    private let waiters = Mutex<[@Sendable () -> Void]>([])

    init(_ handler: any ProtocolHandler, registration: RegistrationNumber, upgradesToHTTPS: Bool = false) {
        (self.handler, self.registration, self.upgradesToHTTPS) = (handler, registration, upgradesToHTTPS)
        (cacheHandler, next) = (nil, nil)
    }

    /// The handler of a cache. Its load counts as a load of the next handler.
    init(_ handler: any CacheHandler, inFrontOf next: RegisteredHandler) {
        (self.handler, cacheHandler, self.next) = (handler, handler, next)
        (registration, upgradesToHTTPS) = (0, false)
    }

    /// Counts a new load.
    ///
    /// - Returns: `false` if the handler was retired and must not serve the request.
    package func beginLoad() -> Bool {
        var old = doubledLoadCount.load(ordering: .relaxed)
        while old & Self.retiredFlag == 0 {
            let (exchanged, original) = doubledLoadCount.weakCompareExchange(
                expected: old, desired: old + Self.oneLoad, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            old = original
        }
        return false
    }

    package func endLoad() {
        if let next { return next.endLoad() }
        if doubledLoadCount.subtract(Self.oneLoad, ordering: .acquiringAndReleasing).newValue == Self.retiredFlag { notify() }
    }

    /// Allows no new loads, because the handler was removed from its registry.
    func retire() {
        if doubledLoadCount.bitwiseOr(Self.retiredFlag, ordering: .acquiringAndReleasing).newValue == Self.retiredFlag { notify() }
    }

    /// Whether the handler was retired and its last load has ended.
    var isDrained: Bool { doubledLoadCount.load(ordering: .acquiring) == Self.retiredFlag }

    func whenDrained(_ completion: @escaping @Sendable () -> Void) {
        waiters.withLock { $0.append(completion) }
        if isDrained { notify() }
    }

    /// Calls the waiters, because no load runs and none will start.
    private func notify() {
        let waiters = waiters.withLock { waiters in
            defer { waiters = [] }
            return waiters
        }
        for waiter in waiters { waiter() }
    }
}
