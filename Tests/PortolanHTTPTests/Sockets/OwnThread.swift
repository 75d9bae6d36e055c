// SPDX-License-Identifier: Apache-2.0

import PortolanCore

@testable import PortolanHTTP

/// Has `body` run in a thread of its own: what blocks does not belong on Swift's.
func inOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try PlatformThread.start { continuation.resume(with: Result(catching: body)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

extension SocketLoop {
    /// Has `body` run in a turn of the calling thread's.
    func inTurn<Value>(_ body: () throws -> Value) rethrows -> Value {
        enterInTime()
        defer { leave() }
        return try body()
    }
}
