// SPDX-License-Identifier: Apache-2.0

import CTally
import Portolan
import Synchronization

/// Loads a request `times` times with a delegate, in several concurrent chains. Each chain starts its next load when
/// its previous load ends.
final class LoadChains: Sendable {
    private struct State {
        var tally = bench_tally()
        var runningCount: Int
        var error: LoadError?
    }

    private let request: Request
    private let loader: Loader
    private let remainingCount: Atomic<Int>
    private let state: Mutex<State>
    private let continuation: CheckedContinuation<bench_tally, any Error>

    private init(
        _ request: Request, times: Int, inFlight count: Int, _ loader: Loader, _ continuation: CheckedContinuation<bench_tally, any Error>
    ) {
        (self.request, self.loader, self.continuation) = (request, loader, continuation)
        remainingCount = Atomic(times)
        state = Mutex(State(runningCount: count))
    }

    /// - Returns: the tally of all bodies.
    static func load(_ request: Request, times: Int, inFlight count: Int, with loader: Loader) async throws -> bench_tally {
        try await withCheckedThrowingContinuation { continuation in
            let chains = LoadChains(request, times: times, inFlight: count, loader, continuation)
            for _ in 0..<count { Chain(chains).loadNext() }
        }
    }

    @safe
    private final class Chain: LoadDelegate, @unchecked Sendable {  // … because the loads of a chain run one after another
        private let chains: LoadChains
        /// A pointer, because a stored property would add an exclusivity check, which the C programs in this comparison
        /// do not have.
        private let currentBodyTally: UnsafeMutablePointer<bench_tally>
        private var chainTally = bench_tally()

        init(_ chains: LoadChains) {
            self.chains = chains
            unsafe currentBodyTally = .allocate(capacity: 1)
            unsafe currentBodyTally.initialize(to: bench_tally())
        }

        deinit { unsafe currentBodyTally.deallocate() }

        func loadNext() {
            guard chains.remainingCount.subtract(1, ordering: .relaxed).newValue >= 0 else { return chains.end(with: chainTally, nil) }
            chains.loader.task(for: chains.request, delegate: self).resume()
        }

        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            unsafe bytes.withUnsafeBytes { unsafe bench_tally_add(currentBodyTally, $0.baseAddress, $0.count) }
            return .keepGoing
        }

        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
            if let error { return chains.end(with: chainTally, error) }
            unsafe chainTally += currentBodyTally.pointee
            unsafe currentBodyTally.pointee = bench_tally()
            loadNext()
        }
    }

    private func end(with tally: bench_tally, _ error: LoadError?) {
        let finalState = state.withLock { state -> State? in
            state.tally += tally
            state.error = state.error ?? error
            state.runningCount -= 1
            return state.runningCount == 0 ? state : nil
        }
        guard let finalState else { return }
        if let error = finalState.error {
            continuation.resume(throwing: error)
        } else {
            continuation.resume(returning: finalState.tally)
        }
    }
}
