// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Recognises the threads that must not wait for a load: threads of event loops while they call a load. All loads of
/// the event loop would have to wait, too, possibly including the awaited one.
package enum NonBlockingThreads {
    private static let checks = Mutex<[@Sendable () -> Bool]>([])

    /// Adds a check. It is never removed, so call this once for each kind of event loop.
    ///
    /// - Parameter isCurrent: whether the calling thread is such a thread now.
    package static func add(_ isCurrent: @escaping @Sendable () -> Bool) {
        checks.withLock { $0.append(isCurrent) }
    }

    package static var includeCurrentThread: Bool { checks.withLock { $0 }.contains { $0() } }
}
