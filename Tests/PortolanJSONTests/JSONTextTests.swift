// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanJSON

/// The JSON text of `JSONValue`.
@Suite struct JSONTextTests {
    @Test(arguments: [
        ("plain", #""plain""#), ("\"\\", #""\"\\""#), ("\n\r\t", #""\n\r\t""#), ("\0\u{1F}\u{7F}", #""\u0000\u001f\u007f""#),
        ("\u{85}\u{9F}", #""\u0085\u009f""#), ("\u{2028}\u{2029}", #""\u2028\u2029""#), ("é\u{A0}😀\u{2027}", "\"é\u{A0}😀\u{2027}\""),
    ])
    func stringsAreWrittenOnOneLine(text: String, json: String) {
        #expect(String(decoding: JSONValue.string(text).bytes, as: UTF8.self) == json)
    }

    @Test func writtenValueIsParsedToAnEqualValue() throws {
        let manyScalars = (0...0x10FFFF).lazy.filter { $0 < 0x3000 || $0 % 97 == 0 }.compactMap(Unicode.Scalar.init)
        var text = ""
        text.unicodeScalars.append(contentsOf: manyScalars)
        let value: JSONValue = ["a": [nil, .bool(true), .number("-1.5e3")], "b": .string(text), "": [:]]
        #expect(try JSONParser.parse(value.bytes) == value)
        #expect(!value.bytes.contains(0x0A))
    }

    @Test(arguments: [
        (Duration.zero, "0.000"), (.microseconds(1), "0.001"), (.microseconds(12_345), "12.345"), (.seconds(2), "2000.000"),
        (.microseconds(-390), "-0.390"), (.microseconds(-39), "-0.039"), (.microseconds(-12_345), "-12.345"), (.seconds(-2), "-2000.000"),
        (.nanoseconds(-1), "0.000"), (.seconds(Int64.min), "-9223372036854775808000.000"),
    ])
    func durationsAreWrittenInMilliseconds(duration: Duration, text: String) {
        #expect(JSONValue.milliseconds(duration) == .number(text))
    }
}
