// SPDX-License-Identifier: Apache-2.0

/// The octets of a representation that a cache has: sorted ranges that neither overlap nor touch.
package struct ByteRangeSet: Hashable, Sendable {
    package private(set) var ranges: [Range<Int64>] = []

    /// The largest number of ranges. A range that would exceed it is not added.
    package static let limit = 256

    package init() {}
    package init(_ range: Range<Int64>) { insert(range) }

    package var isEmpty: Bool { ranges.isEmpty }
    /// The number of octets.
    package var count: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

    /// Adds a range, and joins it with the ranges that it overlaps or touches.
    ///
    /// - Returns: whether the set has the octets now. Negative positions are never added.
    @discardableResult
    package mutating func insert(_ range: Range<Int64>) -> Bool {
        guard range.lowerBound >= 0 else { return false }
        if range.isEmpty { return true }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        guard first < end else {
            guard ranges.count < Self.limit else { return false }
            ranges.insert(range, at: first)
            return true
        }
        let joined = min(range.lowerBound, ranges[first].lowerBound)..<max(range.upperBound, ranges[end - 1].upperBound)
        ranges.replaceSubrange(first..<end, with: [joined])
        return true
    }

    package func union(_ other: Self) -> Self {
        var union = self
        for range in other.ranges { union.insert(range) }
        return union
    }

    package func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// The ranges below `length` that are missing.
    package func gaps(length: Int64) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position: Int64 = 0
        for range in ranges where position < length {
            if range.lowerBound > position { gaps.append(position..<min(range.lowerBound, length)) }
            position = range.upperBound
        }
        if position < length { gaps.append(position..<length) }
        return gaps
    }
}
