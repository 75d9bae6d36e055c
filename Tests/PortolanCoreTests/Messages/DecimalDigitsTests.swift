// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@Suite struct DecimalDigitsTests {
    /// The text, its number, and its number where at most 100 counts.
    @Test(
        arguments: [
            ("0", 0, 0), ("00", 0, 0), ("7", 7, 7), ("0100", 100, 100), ("101", 101, 100), ("9223372036854775807", .max, 100),
            ("9223372036854775808", nil, 100), ("9223372036854775810", nil, 100), ("99999999999999999999999999", nil, 100),
            ("", nil, nil), ("-1", nil, nil), ("+1", nil, nil), (" 1", nil, nil), ("1 ", nil, nil), ("1.0", nil, nil), ("٣", nil, nil),
            ("99999999999999999999x", nil, nil), ("/", nil, nil), (":", nil, nil), ("0x1", nil, nil),
        ] as [(String, Int64?, Int64?)])
    func digitsAreParsed(text: String, number: Int64?, reduced: Int64?) {
        let octets = Array(text.utf8)
        #expect(DecimalDigits.number(octets.span) == number)
        #expect(DecimalDigits.number(octets.span, upTo: 100) == reduced)
    }
}
