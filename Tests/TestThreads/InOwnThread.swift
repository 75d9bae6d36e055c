// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Runs `body` on a new thread. Blocking code must not run on Swift's pool, which may have only one thread.
package func inOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try PlatformThread.start { continuation.resume(with: Result(catching: body)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
