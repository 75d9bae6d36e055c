// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

/// RFC 9110 §14.1.2, §14.2
@Suite struct ByteRangeTests {
    private func ranges(_ values: String...) -> [ByteRange]? {
        ByteRange.requested(by: HTTPFields(values.map { HTTPField(name: .range, value: $0) }))
    }

    @Test(
        arguments: [
            ("bytes=0-1", [.from(0, through: 1)]), ("BYTES=1-", [.from(1, through: nil)]), ("bytes=-5", [.suffix(5)]),
            ("bytes=0-0, -1 ,,", [.from(0, through: 0), .suffix(1)]), ("bytes= 1-2 ", [.from(1, through: 2)]), ("bytes=-0", [.suffix(0)]),
            ("bytes=,\t1-2\t,", [.from(1, through: 2)]),
            // A number that is too large is the largest.
            ("bytes=99999999999999999999-", [.from(.max, through: nil)]),
            ("bytes=0-99999999999999999999", [.from(0, through: .max)]), ("bytes=-99999999999999999999", [.suffix(.max)]),
            ("bytes=2-1", nil), ("bytes=", nil), ("bytes=,", nil), ("bytes=-", nil), ("bytes=a-b", nil), ("bytes=1", nil),
            ("bytes=1--2", nil), ("bytes=1-2-3", nil), ("bytes = 1-2", nil), ("bytes=0-1, x", nil), ("lines=0-1", nil), ("bytes", nil),
            ("", nil), ("bytes=+1-2", nil), ("bytes=0x1-2", nil), ("bytes=1 - 2", nil), ("byte=0-1", nil), ("bytess=0-1", nil),
            ("bytes=\"0-1\"", nil),
        ] as [(String, [ByteRange]?)])
    func fieldIsParsed(text: String, expected: [ByteRange]?) {
        #expect(ranges(text) == expected)
    }

    @Test func repeatedFieldIsIgnored() {
        #expect(ranges("bytes=0-1", "bytes=0-1") == nil)
        #expect(ranges() == nil)
    }

    @Test func tooManyRangesAreIgnored() {
        let range = Array(repeating: "0-1", count: ByteRange.limit).joined(separator: ",")
        #expect(ranges("bytes=" + range)?.count == ByteRange.limit)
        #expect(ranges("bytes=" + range + ",2-3") == nil)
    }

    @Test func truncatedFieldDoesNotTrap() {
        let text = "bytes=10-19 , -5,"
        for count in 0...text.utf8.count {
            let isValid = ranges(String(text.prefix(count))) != nil
            #expect(isValid == (count >= 9 && ![10, 15].contains(count)), "\(count)")
        }
    }

    @Test(
        arguments: [
            (.from(0, through: 1), 10, .part(0..<2)), (.from(0, through: 99), 10, .part(0..<10)),
            (.from(9, through: nil), 10, .part(9..<10)),
            (.from(10, through: nil), 10, .notSatisfiable), (.suffix(3), 10, .part(7..<10)), (.suffix(99), 10, .part(0..<10)),
            (.suffix(0), 10, .notSatisfiable), (.from(0, through: 0), 0, .notSatisfiable), (.from(5, through: 4), 10, .notSatisfiable),
            (.from(-1, through: 4), 10, .notSatisfiable), (.from(0, through: .max), .max, .part(0..<(.max))),
            (.suffix(.max), .max, .part(0..<(.max))), (.suffix(.min), 10, .notSatisfiable),
            (.from(.max, through: nil), .max, .notSatisfiable),
            (.from(.max, through: .max), 10, .notSatisfiable),
            // The suffix of nothing is all of it.
            (.suffix(1), 0, .whole), (.suffix(0), 0, .notSatisfiable), (.suffix(1), -1, .notSatisfiable),
        ] as [(ByteRange, Int64, ByteRange.Resolution)])
    func rangeIsResolved(range: ByteRange, size: Int64, expected: ByteRange.Resolution) {
        #expect(range.resolved(in: size) == expected)
    }
}
