// SPDX-License-Identifier: Apache-2.0

import CTally
import Synchronization

/// Awaits loads one after another, in one task or in each of several concurrent tasks.
enum AwaitedLoads {
    static func run(
        times: Int, inFlight count: Int, _ load: @escaping @Sendable () async throws -> bench_tally
    ) async throws -> bench_tally {
        guard count > 1 else {
            var tally = bench_tally()
            for _ in 0..<times { tally += try await load() }
            return tally
        }
        let counter = Counter(times)
        return try await withThrowingTaskGroup(of: bench_tally.self) { group in
            for _ in 0..<count {
                group.addTask {
                    var tally = bench_tally()
                    while counter.countNextLoad() { tally += try await load() }
                    return tally
                }
            }
            return try await group.reduce(into: bench_tally()) { $0 += $1 }
        }
    }

    private final class Counter: Sendable {
        private let remainingCount: Atomic<Int>

        init(_ count: Int) { remainingCount = Atomic(count) }

        /// Counts the next load. Returns `false` if no load remains.
        func countNextLoad() -> Bool { remainingCount.subtract(1, ordering: .relaxed).newValue >= 0 }
    }
}
