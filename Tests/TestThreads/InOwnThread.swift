// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Runs `function` on a new thread and returns its result. Blocking code must not run on Swift's pool, which may
/// have only one thread.
package func inOwnThread<Value: Sendable>(_ function: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try PlatformThread.start { continuation.resume(with: Result(catching: function)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
