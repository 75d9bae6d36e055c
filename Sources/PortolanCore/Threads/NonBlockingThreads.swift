// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Knows the threads that must not wait for a load: those of event loops, while they tell a load what has happened. All loads of the loop
/// would wait with them, and among them may be the one that is waited for.
package enum NonBlockingThreads {
    private static let checks = Mutex<[@Sendable () -> Bool]>([])

    /// - Parameter isCurrent: whether the calling thread is such a one just now. Kept for ever: once for each kind of loops.
    package static func add(_ isCurrent: @escaping @Sendable () -> Bool) {
        checks.withLock { $0.append(isCurrent) }
    }

    static var includeCurrent: Bool { checks.withLock { $0 }.contains { $0() } }
}
