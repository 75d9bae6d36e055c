// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanJSON

/// The JSON5 format, which https://spec.json5.org defines.
@Suite struct JSON5Tests {
    private static func parse(_ text: String) throws(JSONError) -> JSONValue {
        try JSONParser.parse(Array(text.utf8), .json5)
    }

    @Test(
        arguments: [
            ("// a\n[1, /* b * / */ 2,] // c", [.number("1"), .number("2")]),
            ("{a: 1, 'b': 2, \"c\": 3,}", ["a": .number("1"), "b": .number("2"), "c": .number("3")]),
            ("{$_é\\u0061ñ9\u{200C}: null}", ["$_éañ9\u{200C}": nil]), ("'it\\'s'", "it's"), ("'\"'", "\""), ("\"'\"", "'"),
            ("'a\\\nb\\\r\nc\\\u{2028}d\\\re'", "abcde"), ("'\\v\\0\\x41\\q\\é\\/'", "\u{B}\0Aqé/"), ("'\t\u{2028}'", "\t\u{2028}"),
            ("[.5, 5., -.5e1, +1, 0x1F, -0XfF, 5.e3]", ["0.5", "5", "-0.5e1", "1", "31", "-255", "5e3"].jsonNumbers),
            ("[Infinity, -Infinity, +Infinity, NaN]", ["Infinity", "-Infinity", "Infinity", "NaN"].jsonNumbers),
            ("\u{FEFF}\u{A0}\u{B}\u{C}\u{2003}\u{2029}1\u{3000}", .number("1")), ("/**/0//", .number("0")), ("'\\uD83D\\uDE00'", "😀"),
        ] as [(String, JSONValue)])
    func json5SyntaxIsParsed(text: String, value: JSONValue) throws {
        #expect(try Self.parse(text) == value)
    }

    /// The letter é as one code point and the letter é as two code points are different names (RFC 8259 §8.3). The
    /// comparison does not normalize the names, because the sorting of combining marks takes quadratic time.
    @Test(arguments: [0, 20]) func memberNamesAreComparedByTheirBytes(otherMemberCount: Int) throws {
        let otherMembers = (0..<otherMemberCount).map { "a\($0): 0, " }.joined()
        let value = try Self.parse("{\(otherMembers)'\u{E9}': 1, 'e\u{301}': 2}")
        #expect(value["\u{E9}"] == .number("1") && value["e\u{301}"] == .number("2"))
        #expect(throws: JSONError(problem: .duplicateName, offset: otherMembers.utf8.count + 10)) {
            try Self.parse("{\(otherMembers)'\u{E9}': 1, '\u{E9}': 2}")
        }
        let path = JSONPath([.member("e\u{301}")])
        #expect(path.offset(in: Array("{'\u{E9}': 1, 'e\u{301}': 2}".utf8), .json5) == 17)
    }

    @Test(
        arguments: [
            ("[,]", .unexpectedByte, 1), ("[1,,2]", .unexpectedByte, 3), ("{,}", .unexpectedByte, 1), ("{1a: 1}", .unexpectedByte, 1),
            ("010", .trailingText, 1),
            ("1 /* never", .unterminatedComment, 2), ("/", .unexpectedByte, 0), ("'a\nb'", .controlCharacter, 2), ("'\\01'", .badEscape, 3),
            ("'\\1'", .badEscape, 2), ("'\\x4'", .badEscape, 4), ("'\\uD83D'", .unpairedSurrogate, 3), ("'\\uDE00'", .unpairedSurrogate, 3),
            ("0x", .badNumber, 2), ("0x10000000000000000", .badNumber, 2), (".", .unexpectedEnd, 1), ("+", .unexpectedEnd, 1),
            ("+-1", .unexpectedByte, 1), ("Inf", .unexpectedEnd, 3), ("{a: 1, 'a': 2}", .duplicateName, 7),
            ("undefined", .unexpectedByte, 0),
            ("'a", .unexpectedEnd, 2), ("", .unexpectedEnd, 0), ("// only", .unexpectedEnd, 7), ("{\\u0031: 1}", .unexpectedByte, 1),
        ] as [(String, JSONError.Problem, Int)])
    func malformedJSON5IsRefusedWithItsOffset(text: String, problem: JSONError.Problem, offset: Int) {
        #expect(throws: JSONError(problem: problem, offset: offset)) { try Self.parse(text) }
    }

    @Test(arguments: [2, 15, 16, 17, 18, 100])
    func duplicateNameIsRefusedAtAnyPosition(memberCount: Int) throws {
        let names = (0..<memberCount).map { "a\($0)" }
        let text = "{\(names.map { "\($0):1," }.joined())"
        _ = try Self.parse(text + "}")
        for name in names {
            let error = JSONError(problem: .duplicateName, offset: text.utf8.count)
            #expect(throws: error) { try Self.parse("\(text)\(name):2}") }
        }
    }

    @Test func bytesThatAreNotUTF8AreRefusedWithTheirOffset() {
        #expect(throws: JSONError(problem: .notUnicode, offset: 4)) {
            try JSONParser.parse(Array("'é".utf8) + [0x61, 0xFF, 0x27], .json5)
        }
    }

    @Test(arguments: ["// c\n1", "[1,]", "{a:1}", "'a'", "+1", ".5", "0x1", "NaN", "\u{A0}1", "\"\\x41\"", "\"\\\n\""])
    func json5SyntaxIsRefusedInPlainJSON(text: String) {
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(text.utf8)) }
    }

    @Test func truncatedDocumentIsRefused() throws {
        let text = Array("{a: [1, 'b', {\"c\": /* d */ true}], e: -0x1F}".utf8)
        _ = try JSONParser.parse(text, .json5)
        for length in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONParser.parse(Array(text[..<length]), .json5) }
        }
    }

    @Test func omittedMemberBecomesNull() throws {
        let text = Array("{a: 1, b: {'c\\n': [1, \"}\", 'x\\'y', /* ] */ {}], b: NaN}, d: {b: 2}}".utf8)
        let value = try JSONParser.parse(text, .json5, omitting: "b")
        #expect(value == ["a": .number("1"), "b": nil, "d": ["b": .number("2")]])
    }

    /// Malformed text in an omitted member gives the same error as in a member that is not omitted.
    @Test(
        arguments: [
            "[,]", "{1a: 1}", "'a\nb'", "'\\01'", "\"\\x4\"", "[1 2]", "{a 1}", "{a: 1", "'a", "0x", "/* x", "{'a", "[{\"b\": ]}]",
            "undefined",
        ])
    func omittedMemberIsStillChecked(value: String) {
        let text = Array("{b: \(value)}".utf8)
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(text, .json5) }
        let errorWithOmission = #expect(throws: JSONError.self) { try JSONParser.parse(text, .json5, omitting: "b") }
        #expect(error != nil && error == errorWithOmission)
    }

    @Test func omittedMemberObeysTheDepthLimit() {
        let text = Array("{b: \(String(repeating: "[", count: 1000))".utf8)
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(text, .json5, omitting: "b") }
        #expect(error?.problem == .tooDeep)
    }

    @Test func pathIsResolvedToALineAndColumn() {
        let text = Array("{\n  // names\n  é: [1,\r    {b: 'x'}],\n  c: {}}".utf8)
        func lineAndColumn(_ path: JSONPath) -> String? {
            path.offset(in: text, .json5).map { JSONPosition(of: $0, in: text).description }
        }
        #expect(lineAndColumn(JSONPath()) == "1:1")
        #expect(lineAndColumn(JSONPath()["é"].name) == "3:3")
        #expect(lineAndColumn(JSONPath()["é"]) == "3:6")
        #expect(lineAndColumn(JSONPath()["é"][1]) == "4:5")
        #expect(lineAndColumn(JSONPath()["é"][1]["b"]) == "4:9")
        #expect(lineAndColumn(JSONPath()["c"]) == "5:6")
        #expect(lineAndColumn(JSONPath()["d"]) == nil)
        #expect(lineAndColumn(JSONPath()["é"][2]) == nil)
        #expect(JSONPath()["a"][1]["b"].description == "a[1].b")
    }
}

extension [String] {
    fileprivate var jsonNumbers: JSONValue { .array(map(JSONValue.number)) }
}
