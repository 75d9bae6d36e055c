// SPDX-License-Identifier: Apache-2.0

import CTally
import Portolan
import Synchronization

/// Loads whose readers pause after the first bytes. Tests that the memory for waiting bytes is bounded.
final class PausedLoads: LoadDelegate {
    private struct State {
        var paused = 0
        var continuation: CheckedContinuation<Void, any Error>?
    }

    private let count: Int
    private let state = Mutex(State())

    private init(_ count: Int) { self.count = count }

    /// Makes a competitor whose run ends when `count` loads of `target` are paused, and more bytes had time to arrive.
    /// Its tally counts the loads.
    static func competitor(_ target: HTTPTarget, count: Int, with loader: Loader = .shared) throws -> Competitor {
        let request = try Request(target.url)
        return Competitor("\(count) paused", amount: 1) {
            let delegate = PausedLoads(count)
            let tasks = (0..<count).map { _ in loader.task(for: request, delegate: delegate) }
            defer { for task in tasks { task.cancel() } }
            try await delegate.waitUntilPaused(tasks)
            // A loader that reads on despite the pause needs time for it: at 1 GB/s, this time allows 500 MB.
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
        let waiting = state.withLock { state in
            state.paused += 1
            return state.paused == count ? state.continuation.take() : nil
        }
        waiting?.resume()
        return .pause
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        guard let error, let waiting = state.withLock({ $0.continuation.take() }) else { return }
        waiting.resume(throwing: error)
    }
}
