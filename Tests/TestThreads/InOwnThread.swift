// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Has `body` run in a thread of its own: what blocks does not belong on Swift's, of which there may be as few as one.
package func inOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try PlatformThread.start { continuation.resume(with: Result(catching: body)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
