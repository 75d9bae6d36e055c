// SPDX-License-Identifier: Apache-2.0

import CTally

/// Somebody who does a row's work: Portolan, a peer or a raw loop.
struct Competitor: Sendable {
    let name: String
    /// How much of the row's work one run is: bytes, or times.
    let amount: Double
    /// Does it, consumes the bytes that come of it, and says what they were.
    let run: @Sendable () async throws -> bench_tally

    init(_ name: String, amount: Int, run: @escaping @Sendable () async throws -> bench_tally) {
        self.name = name
        self.amount = Double(amount)
        self.run = run
    }

    /// This one with its work done so often in each run, while the run counts as before.
    func repeating(_ times: Int) -> Competitor {
        Competitor(name, amount: Int(amount)) { [run] in
            for _ in 1..<times { _ = try await run() }
            return try await run()
        }
    }
}

extension bench_tally {
    /// The tally of several bodies.
    static func += (a: inout bench_tally, b: bench_tally) {
        a.count &+= b.count
        a.sum &+= b.sum
    }

    mutating func add(_ bytes: borrowing RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe bench_tally_add(&self, $0.baseAddress, $0.count) }
    }

    /// The tally of one body.
    init(of bytes: borrowing RawSpan) {
        self.init(count: 0, sum: 0)
        add(bytes)
    }
}
