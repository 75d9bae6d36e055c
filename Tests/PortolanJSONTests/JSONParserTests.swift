// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanJSON

/// `JSONParser` for plain JSON, RFC 8259.
@Suite struct JSONParserTests {
    private static func parse(_ text: String) throws(JSONError) -> JSONValue {
        try JSONParser.parse(Array(text.utf8))
    }

    @Test(
        arguments: [
            ("null", .null), (" true\t", .bool(true)), ("false", .bool(false)), ("[]", []), ("{}", [:]), ("\"\"", ""),
            ("[1,[2]]", [.number("1"), [.number("2")]]), ("{\"a\":1,\"b\":{}}", ["a": .number("1"), "b": [:]]),
            ("\r\n[ 1 , 2 ]", [.number("1"), .number("2")]),
        ] as [(String, JSONValue)])
    func valuesAreParsed(text: String, value: JSONValue) throws {
        #expect(try Self.parse(text) == value)
    }

    @Test(arguments: ["0", "-0", "1e400", "12345678901234567890", "-1.50", "1E+2", "0.1e-7"])
    func numbersKeepTheirText(text: String) throws {
        #expect(try Self.parse(text) == .number(text))
    }

    @Test(arguments: [
        (#"\u0041"#, "A"), (#"\n\t\b\f\r\/\\\""#, "\n\t\u{8}\u{C}\r/\\\""), (#"\u0000"#, "\0"), (#"\ud83d\ude00"#, "😀"), ("é", "é"),
        (#"\uD83D\uDE00"#, "😀"), (#"x\u00e9y"#, "xéy"), (#"\uFFFE"#, "\u{FFFE}"),
    ])
    func escapesAreDecoded(escaped: String, text: String) throws {
        #expect(try Self.parse("\"\(escaped)\"") == .string(text))
    }

    @Test(arguments: [
        (#"\ud800"#, "\u{FFFD}"), (#"\udc00"#, "\u{FFFD}"), (#"\ud800x"#, "\u{FFFD}x"), (#"\ud800\u0041"#, "\u{FFFD}A"),
        (#"\ud800\ud800\udc00"#, "\u{FFFD}\u{10000}"), (#"\udc00\ud800"#, "\u{FFFD}\u{FFFD}"), (#"\ud800\n"#, "\u{FFFD}\n"),
    ])
    func unpairedSurrogatesBecomeReplacementCharacters(escaped: String, text: String) throws {
        #expect(try Self.parse("\"\(escaped)\"") == .string(text))
    }

    @Test func bytesThatAreNotUTF8BecomeReplacementCharacters() throws {
        #expect(try JSONParser.parse([0x22, 0x61, 0xFF, 0x62, 0x22]) == "a\u{FFFD}b")
        #expect(try JSONParser.parse(Array(#""\n"#.utf8) + [0xC3, 0x22]) == "\n\u{FFFD}")
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), ("[1,]", .unexpectedByte, 3), ("{\"a\"}", .missingColon, 4), ("{a:1}", .unexpectedByte, 1),
            ("\"a", .unexpectedEnd, 2), ("\"\t\"", .controlCharacter, 1), (#""\x""#, .badEscape, 2), (#""\u12g4""#, .badEscape, 5),
            ("-", .unexpectedEnd, 1), ("-x", .badNumber, 1), ("1.", .unexpectedEnd, 2), ("1.x", .badNumber, 2), ("01", .trailingText, 1),
            ("nul", .unexpectedEnd, 3), ("nulx", .unexpectedByte, 3), ("1 2", .trailingText, 2), ("'a'", .unexpectedByte, 0),
            (#""\u00"#, .unexpectedEnd, 5), ("+1", .unexpectedByte, 0), ("{\"a\":1,}", .unexpectedByte, 7),
            ("[1 2]", .missingComma, 3), ("[1}", .missingComma, 2), ("{\"a\":1 \"b\":2}", .missingComma, 7),
        ] as [(String, JSONError.Problem, Int)])
    func malformedJSONIsRefusedWithItsOffset(text: String, problem: JSONError.Problem, offset: Int) {
        #expect(throws: JSONError(problem: problem, offset: offset)) { try Self.parse(text) }
    }

    @Test func nestingDepthIsLimited() throws {
        func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(throws: Never.self) { try Self.parse(nested(129)) }
        #expect(throws: JSONError(problem: .tooDeep, offset: 129)) { try Self.parse(nested(130)) }
    }

    /// Each truncation of a text causes an error, and no truncation causes a trap.
    @Test func truncatedTextIsRefused() {
        let text = Array(#"{"id":[1.5e3,"a\ud83d\ude00"],"x":{"y":null}}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: JSONError.self, "\(length) bytes") { try JSONParser.parse(Array(text[..<length])) }
        }
    }

    @Test func lastMemberOfEqualNameIsUsed() throws {
        #expect(try Self.parse(#"{"a":1,"a":2}"#)["a"] == .number("2"))
    }
}
