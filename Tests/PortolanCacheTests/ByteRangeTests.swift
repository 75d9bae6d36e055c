// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCache

/// `Range`, `Content-Range` and sets of ranges (RFC 9110 §14, RFC 9111 §3.3).
@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            ("bytes=0-1", [.from(0, through: 1)]), ("BYTES=1-", [.from(1, through: nil)]), ("bytes=-5", [.last(5)]),
            ("bytes=0-0, -1 ,,", [.from(0, through: 0), .last(1)]), ("bytes= 1-2 ", [.from(1, through: 2)]), ("bytes=-0", [.last(0)]),
            ("bytes=2-1", nil), ("bytes=", nil), ("bytes=-", nil), ("bytes=a-b", nil), ("bytes=1", nil), ("bytes=1--2", nil),
            ("bytes=1-2-3", nil), ("bytes = 1-2", nil), ("bytes=0-1, x", nil), ("lines=0-1", nil), ("bytes", nil), ("", nil),
            ("bytes=0-1 | Range: bytes=0-1", nil), ("bytes=+1-2", nil), ("bytes=0x1-2", nil), ("bytes=1 - 2", nil),
            ("bytes=99999999999999999999-", nil), ("bytes=0-99999999999999999999", nil),
        ] as [(String, [RequestedRange]?)])
    func rangeIsParsed(text: String, expected: [RequestedRange]?) throws {
        #expect(ByteRangeSyntax.requestedRanges(in: try CacheFixtures.fields("Range: " + text)) == expected)
    }

    @Test func tooManyRangesAreIgnored() throws {
        for (count, isValid) in [(ByteRangeSyntax.limit, true), (ByteRangeSyntax.limit + 1, false)] {
            let text = "Range: bytes=" + Array(repeating: "0-1", count: count).joined(separator: ",")
            #expect((ByteRangeSyntax.requestedRanges(in: try CacheFixtures.fields(text)) != nil) == isValid)
        }
        #expect(ByteRangeSyntax.requestedRanges(in: HTTPFields()) == nil)
    }

    @Test(
        arguments: [
            ("bytes 0-4/10", 0..<5, 10), ("Bytes 4-9/10", 4..<10, 10), ("bytes 0-0/*", 0..<1, nil), ("bytes 0-4/5", 0..<5, 5),
            ("bytes 0-5/5", nil, nil), ("bytes 4-3/10", nil, nil), ("bytes */10", nil, nil), ("bytes=0-4/10", nil, nil),
            ("bytes 0-4", nil, nil), ("bytes 0-4/", nil, nil), ("bytes 0-4/x", nil, nil), ("bytes 0-/10", nil, nil),
            ("bytes -4/10", nil, nil),
            ("lines 0-4/10", nil, nil), ("bytes 0-4/10 | Content-Range: bytes 0-4/10", nil, nil), ("bytes 0-4/10, bytes 0-4/10", nil, nil),
            ("/ 0-4", nil, nil), ("", nil, nil), ("bytes 0-99999999999999999999/*", nil, nil), ("bytes  0-4/10", nil, nil),
        ] as [(String, Range<Int64>?, Int64?)])
    func contentRangeIsParsed(text: String, range: Range<Int64>?, length: Int64?) throws {
        let parsed = ByteRangeSyntax.contentRange(in: try CacheFixtures.fields("Content-Range: " + text))
        #expect(parsed?.range == range && parsed?.completeLength == length)
    }

    @Test(
        arguments: [
            (.from(0, through: 1), 10, 0..<2), (.from(0, through: 99), 10, 0..<10), (.from(9, through: nil), 10, 9..<10),
            (.from(10, through: nil), 10, nil), (.last(3), 10, 7..<10), (.last(99), 10, 0..<10), (.last(0), 10, nil), (.last(1), 0, nil),
            (.from(0, through: 0), 0, nil), (.from(5, through: 4), 10, nil), (.from(-1, through: 4), 10, nil),
            (.from(0, through: .max), .max, 0..<(.max)), (.last(.max), .max, 0..<(.max)), (.last(.min), 10, nil),
        ] as [(RequestedRange, Int64, Range<Int64>?)])
    func rangeIsResolved(range: RequestedRange, length: Int64, expected: Range<Int64>?) {
        #expect(range.resolved(length: length) == expected)
    }

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
