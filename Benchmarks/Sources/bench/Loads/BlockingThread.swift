// SPDX-License-Identifier: Apache-2.0

import CTally
import Foundation

/// Runs blocking work on a separate thread.
enum BlockingThread {
    static func run(_ action: @escaping @Sendable () throws -> bench_tally) async throws -> bench_tally {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: action)) }
        }
    }
}
