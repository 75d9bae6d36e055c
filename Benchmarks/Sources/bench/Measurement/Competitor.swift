// SPDX-License-Identifier: Apache-2.0

import CTally

/// A program that does the work of a row: Portolan, a peer or a raw loop.
struct Competitor: Sendable {
    let name: String
    /// The amount of work of one run, in bytes or repetitions.
    let amount: Double
    /// Does the work, consumes the resulting bytes, and returns their tally.
    let run: @Sendable () async throws -> bench_tally

    init(_ name: String, amount: Int, run: @escaping @Sendable () async throws -> bench_tally) {
        self.name = name
        self.amount = Double(amount)
        self.run = run
    }

    /// Returns a competitor that repeats its work in each run, while `amount` stays the same.
    func repeating(_ times: Int) -> Competitor {
        Competitor(name, amount: Int(amount)) { [run] in
            for _ in 1..<times { _ = try await run() }
            return try await run()
        }
    }
}

extension bench_tally {
    /// Adds the tallies of several bodies.
    static func += (a: inout bench_tally, b: bench_tally) {
        a.count &+= b.count
        a.sum &+= b.sum
    }

    mutating func add(_ bytes: borrowing RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe bench_tally_add(&self, $0.baseAddress, $0.count) }
    }

    /// Makes the tally of one body.
    init(of bytes: borrowing RawSpan) {
        self.init(count: 0, sum: 0)
        add(bytes)
    }
}
