// SPDX-License-Identifier: Apache-2.0

import CTally

/// Runs the competitors of a row alternately, and computes the median of each competitor.
struct Measurement {
    let rounds: Int

    /// - Throws: The error of a competitor; ``Disagreement`` if two competitors read different bytes.
    func measure(_ row: Row) async throws -> (value: Double, peers: [String: Double]) {
        let competitors = [row.subject] + row.peers
        try await warmUp(competitors)
        var samples = [[Double]](repeating: [], count: competitors.count)
        for _ in 0..<rounds {
            for (index, competitor) in competitors.enumerated() {
                let start = row.sampler.now
                _ = try await competitor.run()
                samples[index].append(row.unit.value(cost: row.sampler.now - start, amount: competitor.amount))
            }
        }
        let medians = samples.map(Self.median)
        let peers = zip(row.peers, medians.dropFirst()).map { ($0.name, $1) }
        return (medians[0], Dictionary(peers) { first, _ in first })
    }

    /// Runs each competitor once without measuring, and checks that all competitors read the same bytes.
    private func warmUp(_ competitors: [Competitor]) async throws {
        var first: (Competitor, bench_tally)?
        for competitor in competitors {
            let tally = try await competitor.run()
            if let (other, expected) = first, !Self.isSameWork(expected, other.amount, tally, competitor.amount) {
                throw Disagreement(a: other.name, b: competitor.name, tallies: (expected, tally))
            }
            first = first ?? (competitor, tally)
        }
    }

    /// Whether two tallies are equal in proportion to their amounts.
    private static func isSameWork(_ a: bench_tally, _ amountOfA: Double, _ b: bench_tally, _ amountOfB: Double) -> Bool {
        Double(a.count) * amountOfB == Double(b.count) * amountOfA && Double(a.sum) * amountOfB == Double(b.sum) * amountOfA
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// Two competitors of a row read different bytes, so their costs cannot be compared.
struct Disagreement: Error, CustomStringConvertible {
    let a: String
    let b: String
    let tallies: (bench_tally, bench_tally)

    var description: String {
        "\(a) and \(b) did not read the same bytes: \(tallies.0.count) with sum \(tallies.0.sum), \(tallies.1.count) with sum \(tallies.1.sum)"
    }
}
