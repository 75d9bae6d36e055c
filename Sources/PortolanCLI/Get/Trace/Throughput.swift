// SPDX-License-Identifier: Apache-2.0

/// How fast the pieces of a body arrived.
struct Throughput: Equatable, Sendable {
    static let bucketCount = 60

    /// Bytes per second in equal parts of the time; empty if fewer than two pieces arrived, or all at the same time.
    let rates: [Double]
    /// The times of the first and the last piece.
    let start, end: Duration
    let bytes: Int64

    /// - Parameter pieces: The time and the size of each piece, in order.
    init(_ pieces: [(time: Duration, bytes: Int64)]) {
        (start, end) = (pieces.first?.time ?? .zero, pieces.last?.time ?? .zero)
        bytes = pieces.reduce(0) { $0.addingReportingOverflow($1.bytes).overflow ? .max : $0 + $1.bytes }
        let length = (end - start) / .seconds(1)
        guard pieces.count > 1, length > 0 else {
            rates = []
            return
        }
        let count = min(Self.bucketCount, pieces.count)
        var buckets = [Double](repeating: 0, count: count)
        for piece in pieces {
            let place = (piece.time - start) / .seconds(1) / length * Double(count)
            buckets[min(max(Int(place), 0), count - 1)] += Double(piece.bytes)
        }
        rates = buckets.map { $0 / (length / Double(count)) }
    }

    /// Bytes per second; `nil` if unknown.
    var average: Double? {
        let length = (end - start) / .seconds(1)
        return length > 0 && !rates.isEmpty ? Double(bytes) / length : nil
    }

    var largest: Double? { rates.max() }
}
