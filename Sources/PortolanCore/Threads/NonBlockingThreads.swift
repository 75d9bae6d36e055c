// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Knows the threads that must not wait for a load: those of event loops, while they notify a load. All loads of the
/// event loop would wait with such a thread, possibly including the awaited one.
package enum NonBlockingThreads {
    private static let checks = Mutex<[@Sendable () -> Bool]>([])

    /// - Parameter isCurrent: whether the calling thread is currently such a thread. Never released, so call this once
    ///   for each kind of event loop.
    package static func add(_ isCurrent: @escaping @Sendable () -> Bool) {
        checks.withLock { $0.append(isCurrent) }
    }

    static var includeCurrent: Bool { checks.withLock { $0 }.contains { $0() } }
}
