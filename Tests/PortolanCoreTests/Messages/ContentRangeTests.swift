// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

/// RFC 9110 §14.4
@Suite struct ContentRangeTests {
    private func parsed(_ values: String...) -> ContentRange? {
        ContentRange(in: HTTPFields(values.map { HTTPField(name: .contentRange, value: $0) }))
    }

    @Test(
        arguments: [
            ("bytes 0-4/10", 0..<5, 10), ("Bytes 4-9/10", 4..<10, 10), ("BYTES 0-0/*", 0..<1, nil), ("bytes 0-4/5", 0..<5, 5),
            ("bytes */10", nil, 10), ("bytes */0", nil, 0), ("bytes 0-9223372036854775806/9223372036854775807", 0..<(.max), .max),
            ("bytes 0-9223372036854775806/*", 0..<(.max), nil), ("bytes 007-008/010", 7..<9, 10),
        ] as [(String, Range<Int64>?, Int64?)])
    func validContentRangeIsParsed(text: String, bytes: Range<Int64>?, size: Int64?) throws {
        let range = try #require(parsed(text))
        #expect(range.bytes == bytes && range.size == size)
        // Parsed again, the text of the range is the same range.
        #expect(parsed(range.description) == range)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes */*", "bytes 5-9", "bytes 5-9/", "bytes 9-5/10", "bytes 5-10/10", "bytes 5-9/5", "bytes -5-9/10",
        "bytes 5--9/10", "bytes +5-9/10", "bytes 5-9/10/11", "bytes 5-9-10/11", "bytes  5-9/10", "bytes=5-9/10", "items 5-9/10",
        "bytes 5-/10", "bytes -9/10", "bytes 5 -9/10", "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*",
        "bytes 99999999999999999999-9/10", "bytes 0-4/99999999999999999999", "bytes */99999999999999999999", "bytes ５-9/10",
        "bytes x-9/10", "bytes 4-3/10", "bytes 0-4/x", "lines 0-4/10", "bytes 0-4/10, bytes 0-4/10", "/ 0-4", "bytes /10", "bytes -/10",
        "bytes 0-99999999999999999999/*", "bytes **/10", "byte  0-4/10",
    ])
    func invalidContentRangeIsRefused(value: String) {
        #expect(parsed(value) == nil)
    }

    @Test func repeatedContentRangeIsRefused() {
        #expect(parsed("bytes 0-4/10", "bytes 0-4/10") == nil)
        #expect(parsed() == nil)
    }

    /// RFC 9110 §15.3.7.2: a response with several ranges has none in its head.
    @Test(arguments: [("multipart/byteranges; boundary=x", false), ("Multipart/BYTERANGES", false), ("multipart/mixed", true)])
    func rangeOfAMultipartResponseDoesNotCount(type: String, counts: Bool) {
        let fields: HTTPFields = [.contentRange: "bytes 0-4/10", .contentType: type]
        #expect((ContentRange(in: fields) != nil) == counts)
    }

    @Test func truncatedContentRangeIsRefused() {
        let value = "bytes 5-9/10"
        for length in 0..<value.count - 1 { #expect(parsed(String(value.prefix(length))) == nil, "\(length)") }
    }
}
