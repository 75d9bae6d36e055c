// SPDX-License-Identifier: Apache-2.0

import PortolanURL
import Testing

/// The "domain to ASCII" algorithm of the URL Standard, tested through the parser.
@Suite struct InternationalDomainTests {
    /// The host of the URL `scheme://text/`.
    private func host(_ text: String, scheme: String = "http") throws -> String? {
        try URLRecord(parsing: "\(scheme)://\(text)/").host.map(String.init)
    }

    @Test(arguments: [
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"), ("b%C3%BCcher", "xn--bcher-kva"),
        ("B%c3%9CCHER", "xn--bcher-kva"), ("Ⅷ", "viii"), ("ﬁ", "fi"), ("℡.example", "tel.example"), ("ａｂｃ．example", "abc.example"),
        ("①②", "0.0.0.12"), ("㍿", "xn--6oqv20b1zgzxr"), ("☃.example", "xn--n3h.example"), ("𐐀", "xn--hj8c"),
        ("日本語。ＪＰ", "xn--wgv71a119e.jp"), ("a。b．c｡d", "a.b.c.d"), ("\u{2183}\u{1806}", "xn--c6e379b"),
    ])
    func codePointsAreMapped(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: [
        ("faß.example", "xn--fa-hia.example"), ("faẞ", "xn--fa-hia"), ("βόλος", "xn--nxasmm1c"), ("ΒΌΛΟΣ", "xn--nxasmq6b"),
        ("نامه\u{200C}ای", "xn--mgba3gch31f060k"),
    ])
    func deviationCharactersAreKept(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: [
        ("a\u{AD}b", "ab"), ("\u{AD}ü\u{200B}\u{FE0F}", "xn--tda"), ("\u{FEFF}a", "a"), ("\u{E0100}a", "a"), ("x\u{AD}n--tda", "xn--tda"),
    ])
    func ignoredCodePointsAreDropped(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: [
        ("u\u{308}", "xn--tda"), ("a\u{307}\u{323}", "xn--rsa542l"), ("ạ\u{307}", "xn--rsa542l"),
        ("a\u{5AE}\u{300}\u{301}", "xn--0ca40iy6c"), ("\u{1112}\u{1161}\u{11AB}", "xn--6q8b"), ("한\u{11A8}", "xn--rud3131h"),
        ("한글.한국", "xn--bj0bj06e.xn--3e0b707e"), ("a<\u{338}b", "xn--ab-tjv"), ("%3E\u{338}b=\u{338}", "xn--b-ufo0b"),
    ])
    func labelsAreNormalised(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: [
        ("-ü-", "xn-----xka"), ("ab--ü", "xn--ab---3ra"), ("ü.", "xn--tda."), ("ü..a", "xn--tda..a"), (".ü", ".xn--tda"),
        ("a_ü~!$", "xn--a_~!$-lva"), ("0Xü", "xn--0x-yka"),
        (
            "x01234567890123456789012345678901234567890123456789012345678901ü",
            "xn--x01234567890123456789012345678901234567890123456789012345678901-tsg"
        ),
    ])
    func hyphensEmptyLabelsAndLabelLengthsAreNotChecked(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: [
        ("１２７．０.０。１", "127.0.0.1"), ("０ｘ7F.1", "127.0.0.1"), ("1\u{AD}27.1", "127.0.0.1"),
    ])
    func textThatMapsToAnIPv4AddressIsAnAddress(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: [
        ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("XN--BCHER-KVA", "xn--bcher-kva"), ("%78n--fa-hia", "xn--fa-hia"),
        ("ⅹn--bcher-kva", "xn--bcher-kva"), ("a.xn--n3h.b", "a.xn--n3h.b"), ("xn--pgb", "xn--pgb"), ("axn--a", "axn--a"),
        ("a.axn--", "a.axn--"), ("xn-a", "xn-a"),
    ])
    func validPunycodeIsUnchanged(text: String, expected: String) throws { #expect(try host(text) == expected) }

    /// Because websites have such names, the parser does not apply Unicode's ToASCII to an ASCII domain. The comment
    /// before each group names what ToASCII would refuse.
    @Test(arguments: [
        // Punycode
        ("xn--", "xn--"), ("a.b.c.XN--pokxncvks", "a.b.c.xn--pokxncvks"), ("xn--a-", "xn--a-"),
        ("XN--99999999999999999999.", "xn--99999999999999999999."),
        // Mapping, and normalisation form C
        ("xn--a.example", "xn--a.example"), ("xn--zn7c", "xn--zn7c"), ("xn--8i7caa", "xn--8i7caa"), ("xn--u-ccb", "xn--u-ccb"),
        // The prefix, a leading mark, a misplaced joiner
        ("xn--xn--a--gua", "xn--xn--a--gua"), ("xn--lsa", "xn--lsa"), ("xn--ab-j1t", "xn--ab-j1t"),
        // Text directions
        ("xn--a-0hc", "xn--a-0hc"), ("xn--4db.-b", "xn--4db.-b"), ("0a.xn--4db", "0a.xn--4db"),
        // Nothing; ToASCII would accept these.
        ("%58N--%41", "xn--a"), ("xn--ls8h=", "xn--ls8h="), ("\u{AD}xn--tda", "xn--tda"),
    ])
    func asciiDomainIsOnlyLowercased(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test func asciiDomainWithPunycodeIsCheckedForIPv4AndForbiddenCharacters() throws {
        #expect(throws: URLSyntaxError.self) { try host("xn--a.1") }
        #expect(throws: URLSyntaxError.self) { try host("xn--a.0x") }
        for forbidden in ["xn--a%20b", "xn--a%00", "xn--%25", "xn--a|b", "xn--a%7F"] {
            let error = #expect(throws: URLSyntaxError.self) { try host(forbidden) }
            #expect(error?.rule == .domainInvalidCodePoint, "\(forbidden)")
        }
    }

    @Test(arguments: [
        ("ක\u{DCA}\u{200D}ය", "xn--3zc8d1bz95j"), ("\u{915}\u{94D}\u{200C}", "xn--11b6iv14e"), ("\u{628}\u{200C}\u{628}", "xn--ngba799q"),
        ("\u{628}\u{64B}\u{200C}\u{64B}\u{627}", "xn--mgbb9ha8704a"), ("xn--ngba799q", "xn--ngba799q"),
    ])
    func joinersAreAllowedAfterViramasAndBetweenJoiningLetters(text: String, expected: String) throws {
        #expect(try host(text) == expected)
    }

    @Test(arguments: [
        ("אב.example", "xn--4dbc.example"), ("א1.a", "xn--1-zhc.a"), ("א1ב.ב-1", "xn--1-zhce.xn---1-xld"), ("א١", "xn--4db40a"),
        ("a1.א\u{5B0}", "a1.xn--7cb7d"), ("example.ا", "example.xn--mgb"), ("א..a", "xn--4db..a"), ("1a.ü", "1a.xn--tda"),
    ])
    func validRightToLeftLabelsAreAccepted(text: String, expected: String) throws { #expect(try host(text) == expected) }

    @Test(arguments: ["http", "https", "ws", "wss", "ftp", "file"]) func eachSpecialSchemeMapsItsHost(scheme: String) throws {
        #expect(try host("Ü", scheme: scheme) == "xn--tda")
    }

    @Test func opaqueHostsAreNotMapped() throws {
        #expect(try host("Ü", scheme: "foo") == "%C3%9C")
        #expect(try host("xn--a", scheme: "foo") == "xn--a")
    }

    @Test(
        arguments: [
            ("a\u{FFFD}b", .domainDisallowedCodePoint, 8), ("%FF", .domainDisallowedCodePoint, 7),
            ("ab%41%C3", .domainDisallowedCodePoint, 12),
            ("ü.\u{378}", .domainDisallowedCodePoint, 10), ("\u{E000}", .domainDisallowedCodePoint, 7),
            ("ü%CD%B8", .domainDisallowedCodePoint, 9),
            ("\u{2488}", .domainDisallowedCodePoint, 7), ("xn--\u{FC}.\u{2FF0}", .domainInvalidPunycode, 7),
            ("\u{AD}", .domainEmpty, 7), ("\u{200B}%C2%AD", .domainEmpty, 7),
            ("℀", .domainInvalidCodePoint, 7), ("ü%2F", .domainInvalidCodePoint, 9), ("ü%25", .domainInvalidCodePoint, 9),
            ("ü b", .domainInvalidCodePoint, 9), ("a\u{338}<", .domainInvalidCodePoint, 10), ("＜ü", .domainInvalidCodePoint, 7),
            ("xn--tda%20", .domainInvalidCodePoint, 14),
            ("ü.xn--", .domainInvalidPunycode, 10), ("ü.xn--a-", .domainInvalidPunycode, 10), ("xn---.ü", .domainInvalidPunycode, 7),
            ("xn--bcher-kv!.ü", .domainInvalidPunycode, 7), ("ü.xn--99999999999999999999", .domainInvalidPunycode, 10),
            ("xn--bcher-kvaé", .domainInvalidPunycode, 7), ("%C3%BC.xn--bcher-kv", .domainInvalidPunycode, 14),
            ("ü.xn--a", .domainUnmappedPunycode, 10), ("XN--A.ü", .domainUnmappedPunycode, 7), ("ü.xn--zn7c", .domainUnmappedPunycode, 10),
            ("ü.xn--xn--a--gua", .domainUnmappedPunycode, 10), ("ü.xn--u-ccb", .domainUnmappedPunycode, 10),
            ("\u{301}a", .domainLeadingMark, 7), ("a.\u{301}", .domainLeadingMark, 9), ("\u{903}", .domainLeadingMark, 7),
            ("ü.xn--lsa", .domainLeadingMark, 10), ("a。\u{20DD}", .domainLeadingMark, 11),
            ("\u{200D}", .domainMisplacedJoiner, 7), ("a\u{200D}", .domainMisplacedJoiner, 7),
            ("\u{915}\u{200D}", .domainMisplacedJoiner, 7),
            ("\u{628}\u{200C}", .domainMisplacedJoiner, 7), ("\u{200C}\u{628}", .domainMisplacedJoiner, 7),
            ("ab\u{200C}c", .domainMisplacedJoiner, 7), ("\u{628}\u{200C}\u{200C}\u{628}", .domainMisplacedJoiner, 7),
            ("👨\u{200D}", .domainMisplacedJoiner, 7), ("ü.xn--ngbs079qa", .domainMisplacedJoiner, 10),
        ] as [(String, URLSyntaxError.Rule, Int)])
    func errorNamesItsRuleAndOffset(text: String, rule: URLSyntaxError.Rule, offset: Int) {
        let error = #expect(throws: URLSyntaxError.self) { try host(text) }
        #expect(error?.rule == rule)
        #expect(error?.offset == offset)
    }

    /// A label for each of the six conditions of the Bidi Rule (RFC 5893 §2), and labels to which the rule applies
    /// because of another label.
    @Test(arguments: [
        ("1א", 7), ("١", 7), ("אa", 7), ("א-", 7), ("א\u{301}-", 7), ("א1١", 7), ("aא", 7), ("ü.xn--a-0hc", 10), ("א.1", 10), ("a-.א", 7),
        ("0a.א", 7), ("ü.xn--4db.-b", 18), ("a.א.xn--tda.ü-", 20), ("ü。א!", 12),
    ])
    func labelsThatBreakTheBidiRuleAreRefused(text: String, offset: Int) {
        let error = #expect(throws: URLSyntaxError.self) { try host(text) }
        #expect(error?.rule == .domainMixedDirections)
        #expect(error?.offset == offset)
    }

    @Test func messageNamesTheProblemTheOffsetAndTheRemedy() {
        let error = #expect(throws: URLSyntaxError.self) { try host("ü.xn--a-") }
        #expect(
            error?.description == "bad URL \"http://ü.xn--a-/\": a label of the host starts with xn-- but is not the Punycode of non-ASCII "
                + "text, at byte 10; correct the label, or write it in Unicode")
    }

    @Test func lengthIsLimitedOnlyForNonASCIIDomains() throws {
        let longest = "ü." + String(repeating: "a", count: 4096 - "xn--tda.".utf8.count)
        #expect(try host(longest)?.utf8.count == 4096)
        let error = #expect(throws: URLSyntaxError.self) { try host(longest + "a") }
        #expect(error?.rule == .domainTooLong)
        // Soft hyphens count, although mapping removes them.
        let errorOfSoftHyphens = #expect(throws: URLSyntaxError.self) { try host("ü" + String(repeating: "\u{AD}", count: 2048)) }
        #expect(errorOfSoftHyphens?.rule == .domainTooLong)
        #expect(try host(String(repeating: "a", count: 1 << 20))?.utf8.count == 1 << 20)
        #expect(try host("xn--" + String(repeating: "a", count: 1 << 20))?.utf8.count == 4 + (1 << 20))
    }

    /// The slowest inputs within the length limit: many different code points, many marks in the wrong order, and
    /// labels that decode to many code points.
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (0x4E00..<0x4E00 + 1365).map { Character(Unicode.Scalar($0) ?? "a") }.map(String.init).joined(),
            "a" + String(repeating: "\u{301}\u{323}", count: 1000), "ü.xn--" + String(repeating: "a", count: 4000) + "-0ca",
            "ü.xn--tda" + String(repeating: "a", count: 4080), String(repeating: "\u{FDFA}", count: 1365),
            "\u{628}" + String(repeating: "\u{200C}\u{64B}", count: 800), String(repeating: "ü.", count: 500),
            String(repeating: "ü.", count: 1300),
            String(repeating: "\u{1F1E}\u{301}\u{345}", count: 500),
        ])
    func hostileDomainsTerminateAndResultsRoundTrip(text: String) throws {
        guard let url = try? URLRecord(parsing: "http://\(text)/") else { return }
        #expect(try URLRecord(parsing: url.string) == url)
        #expect(url.string.utf8.count < 4200)
    }
}
