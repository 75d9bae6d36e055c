// SPDX-License-Identifier: Apache-2.0

import CTally
import Portolan
import Synchronization

/// Loads whose delegate pauses them after the first bytes, to measure the memory of unread bytes.
final class PausedLoads: LoadDelegate {
    private struct State {
        var pausedCount = 0
        var continuation: CheckedContinuation<Void, any Error>?
    }

    private let count: Int
    private let state = Mutex(State())

    private init(_ count: Int) { self.count = count }

    /// Makes a competitor that pauses `count` loads of `target` and waits, so that more bytes can arrive. The tally
    /// counts the loads.
    static func competitor(_ target: HTTPTarget, count: Int, with loader: Loader = .shared) throws -> Competitor {
        let request = try Request(target.url)
        return Competitor("\(count) paused", amount: 1) {
            let delegate = PausedLoads(count)
            let tasks = (0..<count).map { _ in loader.task(for: request, delegate: delegate) }
            defer { for task in tasks { task.cancel() } }
            try await delegate.waitUntilPaused(tasks)
            // A loader that ignores the pause needs time to read: 500 MB at 1 GB/s.
            try await Task.sleep(for: .milliseconds(500))
            return bench_tally(count: UInt64(count), sum: 0)
        }
    }

    private func waitUntilPaused(_ tasks: [LoadTask]) async throws {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.continuation = continuation }
            for task in tasks { task.resume() }
        }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        let continuation = state.withLock { state in
            state.pausedCount += 1
            return state.pausedCount == count ? state.continuation.take() : nil
        }
        continuation?.resume()
        return .pause
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        guard let error, let continuation = state.withLock({ $0.continuation.take() }) else { return }
        continuation.resume(throwing: error)
    }
}
