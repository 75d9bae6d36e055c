// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCache

/// The octets that a cache has (RFC 9111 §3.3).
@Suite struct ByteRangeSetTests {
    @Test(
        arguments: [
            ([0..<5, 5..<10], [0..<10]), ([5..<10, 0..<5], [0..<10]), ([0..<2, 4..<6], [0..<2, 4..<6]), ([4..<6, 0..<2], [0..<2, 4..<6]),
            ([0..<2, 4..<6, 1..<5], [0..<6]), ([0..<2, 4..<6, 8..<9, 2..<8], [0..<9]), ([3..<3], []), ([0..<9, 3..<4], [0..<9]),
            ([-1..<3], []), ([0..<1, 2..<3, 4..<5, 3..<4], [0..<1, 2..<5]),
        ] as [([Range<Int64>], [Range<Int64>])])
    func rangesAreJoined(inserted: [Range<Int64>], expected: [Range<Int64>]) {
        var set = ByteRangeSet()
        for range in inserted { set.insert(range) }
        #expect(set.ranges == expected && set.count == expected.reduce(0) { $0 + Int64($1.count) })
    }

    @Test(
        arguments: [
            ([], 10, [0..<10]), ([0..<10], 10, []), ([2..<4], 10, [0..<2, 4..<10]), ([0..<4, 6..<8], 8, [4..<6]), ([0..<20], 10, []),
            ([12..<20], 10, [0..<10]), ([], 0, []), ([0..<4, 6..<20], 10, [4..<6]),
        ] as [([Range<Int64>], Int64, [Range<Int64>])])
    func gapsAreFound(inserted: [Range<Int64>], length: Int64, expected: [Range<Int64>]) {
        var set = ByteRangeSet()
        for range in inserted { set.insert(range) }
        #expect(set.gaps(length: length) == expected)
    }

    @Test func setHasALimit() {
        var set = ByteRangeSet()
        for index in 0..<Int64(ByteRangeSet.limit) { set.insert(index * 2..<index * 2 + 1) }
        let isInserted = set.insert(10_000..<10_001)
        #expect(!isInserted && set.ranges.count == ByteRangeSet.limit)
        let isJoined = set.insert(1..<2)
        #expect(isJoined && set.ranges.count == ByteRangeSet.limit - 1)
        let isInsertedNow = set.insert(10_000..<10_001)
        #expect(isInsertedNow && set.ranges.count == ByteRangeSet.limit)
    }

    /// The set agrees with a set of integers, for all sequences of three ranges below 5.
    @Test func setAgreesWithASetOfIntegers() {
        let ranges = (Int64(0)..<5).flatMap { start in (start..<6).map { start..<$0 } }
        for first in ranges {
            for second in ranges {
                for third in ranges {
                    var set = ByteRangeSet()
                    for range in [first, second, third] { set.insert(range) }
                    let octets = Set(first).union(second).union(third)
                    if Set(set.ranges.flatMap { Array($0) }) != octets || set.count != Int64(octets.count)
                        || zip(set.ranges, set.ranges.dropFirst()).contains(where: { $0.upperBound >= $1.lowerBound })
                        || Set(set.gaps(length: 6).flatMap { Array($0) }) != Set(Int64(0)..<6).subtracting(octets)
                        || ranges.contains(where: { set.contains($0) != octets.isSuperset(of: $0) })
                    {
                        Issue.record("\(first) \(second) \(third)")
                        return
                    }
                }
            }
        }
    }
}
