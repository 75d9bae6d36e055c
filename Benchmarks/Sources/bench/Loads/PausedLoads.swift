// SPDX-License-Identifier: Apache-2.0

import CTally
import Portolan
import Synchronization

/// Loads whose readers take the first bytes and then no more: what waits for them must be bounded.
final class PausedLoads: LoadDelegate {
    private struct State {
        var paused = 0
        var continuation: CheckedContinuation<Void, any Error>?
    }

    private let count: Int
    private let state = Mutex(State())

    private init(_ count: Int) { self.count = count }

    /// A contender whose run ends when `count` loads of `target` are paused, and what could come meanwhile has come. Its tally counts the loads.
    static func competitor(_ target: HTTPTarget, count: Int, with loader: Loader = .shared) throws -> Competitor {
        let request = try Request(target.url)
        return Competitor("\(count) paused", amount: 1) {
            let delegate = PausedLoads(count)
            let tasks = (0..<count).map { _ in loader.task(for: request, delegate: delegate) }
            defer { for task in tasks { task.cancel() } }
            try await delegate.waitUntilPaused(tasks)
            // Who reads on behind a paused reader's back needs time for it: at a gigabyte a second this is 500 MiB.
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
