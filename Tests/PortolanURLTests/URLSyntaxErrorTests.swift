// SPDX-License-Identifier: Apache-2.0

import PortolanURL
import Testing

@Suite struct URLSyntaxErrorTests {
    @Test(
        arguments: [
            ("", .missingScheme, 0), ("/x", .missingScheme, 0), ("ht!tp://h", .missingScheme, 0), ("1a:", .missingScheme, 0),
            ("  \u{1}x", .missingScheme, 3),
            ("http://", .hostMissing, 7), ("http:///", .hostMissing, 8), ("http://u@/x", .hostMissing, 9), ("foo://u@", .hostMissing, 8),
            ("foo://:80", .hostMissing, 6),
            ("foo://a<b", .hostInvalidCodePoint, 7), ("foo://a b/", .hostInvalidCodePoint, 7), ("foo://::1/", .hostMissing, 6),
            ("http://a%20b/", .domainInvalidCodePoint, 8), ("http://a%/", .domainInvalidCodePoint, 8),
            ("http://u@a b/", .domainInvalidCodePoint, 10),
            ("file://a:1/x", .domainInvalidCodePoint, 8), ("ht\ttp://a\nb c/", .domainInvalidCodePoint, 11),
            ("http://1.2.3.4.5/", .ipv4TooManyParts, 7), ("http://a.1/", .ipv4NonNumericPart, 7), ("http://1..2/", .ipv4NonNumericPart, 7),
            ("http://09/", .ipv4NonNumericPart, 7), ("http://a.0x/", .ipv4NonNumericPart, 7),
            ("http://256.1.1.1/", .ipv4OutOfRangePart, 7), ("http://1.1.1.256/", .ipv4OutOfRangePart, 7),
            ("http://4294967296/", .ipv4OutOfRangePart, 7),
            ("http://99999999999999999999999/", .ipv4OutOfRangePart, 7), ("http://1.16777216/", .ipv4OutOfRangePart, 7),
            ("http://[::1/", .ipv6Unclosed, 11), ("http://[::1]x/", .ipv6Unclosed, 13), ("http://[:1]/", .ipv6InvalidCompression, 8),
            ("http://[1:2:3:4:5:6:7:8:9]/", .ipv6TooManyPieces, 24), ("http://[1::2::3]/", .ipv6MultipleCompression, 13),
            ("http://[::12345]/", .ipv6InvalidCodePoint, 14), ("http://[::g]/", .ipv6InvalidCodePoint, 10),
            ("http://[1:]/", .ipv6InvalidCodePoint, 9),
            ("http://[::1%25eth0]/", .ipv6InvalidCodePoint, 11), ("http://[1:2]/", .ipv6TooFewPieces, 11),
            ("foo://[]/", .ipv6TooFewPieces, 7),
            ("http://[1:2:3:4:5:6:7:1.2.3.4]/", .ipv4InIPv6TooManyPieces, 22), ("http://[::01.2.3.4]/", .ipv4InIPv6InvalidCodePoint, 11),
            ("http://[::.2.3.4]/", .ipv4InIPv6InvalidCodePoint, 10), ("http://[::1.2.3.4x]/", .ipv4InIPv6InvalidCodePoint, 17),
            ("http://[::1.2.3.]/", .ipv4InIPv6InvalidCodePoint, 16), ("http://[::1.2.3.256]/", .ipv4InIPv6OutOfRangePart, 16),
            ("http://[::1.2.3]/", .ipv4InIPv6TooFewParts, 15),
            ("http://h:8x/", .portInvalid, 10), ("foo://h:-1", .portInvalid, 8), ("http://h:65536/", .portOutOfRange, 9),
            ("foo://h:99999999999999999999999999/", .portOutOfRange, 8),
        ] as [(String, URLSyntaxError.Rule, Int)])
    func errorNamesItsRuleAndOffset(text: String, rule: URLSyntaxError.Rule, offset: Int) {
        let error = #expect(throws: URLSyntaxError.self) { try URLRecord(parsing: text) }
        #expect(error?.rule == rule)
        #expect(error?.offset == offset)
    }

    @Test(arguments: ["x", "/x", "?q", "", "//h"]) func onlyAFragmentCanBeResolvedAgainstAnOpaquePath(reference: String) throws {
        let base = try URLRecord(parsing: "data:,x")
        let error = #expect(throws: URLSyntaxError.self) { try URLRecord(parsing: reference, relativeTo: base) }
        #expect(error?.rule == .relativeToOpaquePath)
    }

    @Test func messageNamesTheProblemTheOffsetAndTheRemedy() {
        let error = #expect(throws: URLSyntaxError.self) { try URLRecord(parsing: "http://h:8x/") }
        #expect(
            error?.description
                == "bad URL \"http://h:8x/\": the port is not a decimal number, at byte 10; write digits only after the colon")
    }

    @Test(arguments: [
        "http://name:secret@/", "http://name:sec/ret@h/", "http://name:sec?ret@h:x/", "name:secret@h", "//name:secret@h:x",
        "https:name:secret@h:99999",
        " ht\ttp://na\nme:secret@a b/", "http://name:secret@h:bad@1 x/", "http://name:secret#@/", "foo://secret@", "1http://name:secret@h/",
    ])
    func messageHidesUserInformation(text: String) {
        do {
            let url = try URLRecord(parsing: text)
            #expect(!url.isSpecial)
        } catch {
            for part in ["name", "na\nme", "secret", "ret", "sec", "bad"] { #expect(!error.excerpt.contains(part)) }
        }
    }

    /// A message without the replaced user information is the URL that the user wrote, without it.
    @Test(arguments: [
        ("http://u:p@127.0.0.1:99999", "http://127.0.0.1:99999"), ("http://u@h:99999", "http://h:99999"),
        ("http://u@v:p@w@h:99999", "http://h:99999"), ("http://u%40v:p%40w@h:99999", "http://h:99999"),
        ("http:u:p@h:99999", "http:h:99999"), ("http:\\\\u:p@h:99999", "http:\\\\\\\\h:99999"),
        ("https:////u:p@h:99999", "https:////h:99999"),
        ("foo://u:p@h:99999", "foo://h:99999"), ("ftp://u:p@h:99999/a", "ftp://h:99999/a"), ("http://u:p@", "http://"),
        ("http://h:99999", "http://h:99999"),
    ])
    func messageWithoutUserInformationIsTheRestOfTheURL(text: String, shown: String) {
        let error = #expect(throws: URLSyntaxError.self) { try URLRecord(parsing: text) }
        let message = UserInformation.removed(from: error?.description ?? "")
        #expect(message.hasPrefix("bad URL \"\(shown)\": "), "\(message)")
    }

    @Test(arguments: [
        ("http://" + String(repeating: "a", count: 5000) + " b/", "aaa b/"),
        ("http://h:" + String(repeating: "1", count: 5000), "http://h:111"),
        ("http://u:p@é\u{FFFD}" + String(repeating: "é", count: 500) + "/", "http://…@é"), (String(repeating: "é", count: 5000), "ééé"),
        ("http://" + String(repeating: "@", count: 5000) + " /", "http://…@ /"),
    ])
    func excerptIsShortAndShowsTheErrorPosition(text: String, phrase: String) {
        let error = #expect(throws: URLSyntaxError.self) { try URLRecord(parsing: text) }
        #expect(error?.excerpt.contains(phrase) == true)
        #expect((error?.excerpt.utf8.count ?? 0) < 140)
    }

    @Test(arguments: ["http://a\u{0}\u{1B}[31m/", "http://a\nb\u{7F}/", "http://\u{202E}\u{2028}\u{85}/", "\r\n"])
    func excerptHasNoControlCharacters(text: String) {
        let error = #expect(throws: URLSyntaxError.self) { try URLRecord(parsing: text) }
        let hasControls = error?.excerpt.unicodeScalars.contains { scalar in
            scalar.value < 0x20 || [0x7F, 0x85, 0x2028, 0x202E].contains(scalar.value)
        }
        #expect(hasControls == false)
    }
}
