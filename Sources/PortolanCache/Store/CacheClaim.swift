// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The answer to ``CacheStore/claim(_:_:)``.
package enum CacheClaim: Sendable {
    /// Load the response. The other users of the store wait until the lease ends; `nil` if they do not wait.
    case load(CacheLease?)
    /// Another user of the store had the lease, and it has ended: look up again. If nothing usable is stored then, load
    /// without a lease.
    case lookUp
}

/// The right to be the only load that requests a response, for a short time. It ends when it is released, when nothing
/// refers to it any more, or after a time that the store chooses.
package final class CacheLease: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    package init(_ release: @escaping @Sendable () -> Void) { action = Mutex(release) }

    deinit { release() }

    /// Ends the lease, after the response is stored or the load has failed. Can be called on any thread.
    package func release() {
        let release = action.withLock { action in
            defer { action = nil }
            return action
        }
        release?()
    }
}

extension CacheStore {
    /// For a store that only one process uses. No load waits for another process.
    package func claim(_ key: CacheKey, _ completion: @escaping @Sendable (CacheClaim) -> Void) { completion(.load(nil)) }
}
