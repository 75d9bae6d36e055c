// SPDX-License-Identifier: Apache-2.0

import CTally
import Portolan
import Synchronization

/// Loads a request `times` times with the delegate form, several at a time. Each chain starts its next load when its
/// last one ends.
final class LoadChains: Sendable {
    private struct State {
        var tally = bench_tally()
        var running: Int
        var error: LoadError?
    }

    private let request: Request
    private let loader: Loader
    private let left: Atomic<Int>
    private let state: Mutex<State>
    private let continuation: CheckedContinuation<bench_tally, any Error>

    private init(
        _ request: Request, times: Int, inFlight count: Int, _ loader: Loader, _ continuation: CheckedContinuation<bench_tally, any Error>
    ) {
        (self.request, self.loader, self.continuation) = (request, loader, continuation)
        left = Atomic(times)
        state = Mutex(State(running: count))
    }

    /// - Returns: the tally of all bodies.
    static func load(_ request: Request, times: Int, inFlight count: Int, with loader: Loader) async throws -> bench_tally {
        try await withCheckedThrowingContinuation { continuation in
            let chains = LoadChains(request, times: times, inFlight: count, loader, continuation)
            for _ in 0..<count { Link(chains).loadNext() }
        }
    }

    /// One chain.
    @safe
    private final class Link: LoadDelegate, @unchecked Sendable {  // … because its loads run one after another
        private let chains: LoadChains
        /// A pointer, as in the C peers.
        private let tally: UnsafeMutablePointer<bench_tally>
        private var sum = bench_tally()

        init(_ chains: LoadChains) {
            self.chains = chains
            unsafe tally = .allocate(capacity: 1)
            unsafe tally.initialize(to: bench_tally())
        }

        deinit { unsafe tally.deallocate() }

        func loadNext() {
            guard chains.left.subtract(1, ordering: .relaxed).newValue >= 0 else { return chains.end(with: sum, nil) }
            chains.loader.task(for: chains.request, delegate: self).resume()
        }

        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            unsafe bytes.withUnsafeBytes { unsafe bench_tally_add(tally, $0.baseAddress, $0.count) }
            return .keepGoing
        }

        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
            if let error { return chains.end(with: sum, error) }
            unsafe sum += tally.pointee
            unsafe tally.pointee = bench_tally()
            loadNext()
        }
    }

    private func end(with tally: bench_tally, _ error: LoadError?) {
        let last = state.withLock { state -> State? in
            state.tally += tally
            state.error = state.error ?? error
            state.running -= 1
            return state.running == 0 ? state : nil
        }
        guard let last else { return }
        if let error = last.error { continuation.resume(throwing: error) } else { continuation.resume(returning: last.tally) }
    }
}
