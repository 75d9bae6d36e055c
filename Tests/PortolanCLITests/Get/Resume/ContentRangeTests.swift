// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct ContentRangeTests {
    @Test func validContentRangeIsParsed() {
        #expect(ContentRange(parsing: "bytes 5-9/10") == ContentRange(5...9, of: 10))
        #expect(ContentRange(parsing: "BYTES 0-0/*") == ContentRange(0...0, of: nil))
        #expect(ContentRange(parsing: "bytes */10") == ContentRange(nil, of: 10))
        #expect(ContentRange(parsing: "bytes 0-9223372036854775806/9223372036854775807") != nil)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes */*", "bytes 5-9", "bytes 5-9/", "bytes 9-5/10", "bytes 5-10/10", "bytes 5-9/5", "bytes -5-9/10",
        "bytes 5--9/10",
        "bytes +5-9/10", "bytes 5-9/10/11", "bytes 5-9-10/11", "bytes  5-9/10", "bytes 5-9/10 ", "bytes=5-9/10", "items 5-9/10",
        "bytes 5-/10",
        "bytes -9/10", "bytes 5 -9/10", "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 99999999999999999999-9/10",
        "bytes ５-9/10", "bytes x-9/10",
    ])
    func invalidContentRangeIsRefused(value: String) {
        #expect(ContentRange(parsing: value) == nil)
    }

    @Test func truncatedContentRangeIsRefused() {
        let value = "bytes 5-9/10"
        for length in 0..<value.count {
            let range = ContentRange(parsing: String(value.prefix(length)))
            #expect(range == nil, "\(length)")
        }
    }
}

extension ContentRange {
    /// Parses the text of this range; `nil` if the parsed range differs.
    fileprivate init?(_ bytes: ClosedRange<Int64>?, of size: Int64?) {
        self.init(parsing: "bytes \(bytes.map { "\($0.lowerBound)-\($0.upperBound)" } ?? "*")/\(size.map { "\($0)" } ?? "*")")
        guard self.bytes == bytes, self.size == size else { return nil }
    }
}
