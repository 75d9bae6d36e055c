// SPDX-License-Identifier: Apache-2.0

import PortolanData
import PortolanTestSupport
import Testing

/// The decoded bodies of `data:` URLs, plain and in base64.
@Suite struct DataURLBodyTests {
    @Test(
        arguments: [
            ("", ""), ("a", "a"), ("a,b", "a,b"), ("a b", "a b"), ("?x=y", "?x=y"), ("#", "#"), ("+", "+"), ("%2B", "+"), ("%41", "A"),
            ("%4a%4A", "JJ"),
            ("a%20b", "a b"), ("\u{E9}", "\u{E9}"), ("%C3%A9", "\u{E9}"),
            // A percent sign that does not start an escape is kept, and a decoded percent sign does not start one
            ("%", "%"), ("%4", "%4"), ("%%", "%%"), ("%zz", "%zz"), ("%4z", "%4z"), ("%z4", "%z4"), ("%%41", "%A"), ("%2541", "%41"),
            ("%4%31", "%41"),
            ("a%", "a%"), ("%41%", "A%"), ("%\u{E9}", "%\u{E9}"), ("%4\u{E9}", "%4\u{E9}"), ("%@0", "%@0"), ("%G0", "%G0"), ("%g0", "%g0"),
            ("%/0", "%/0"),
            ("%:0", "%:0"), ("%`0", "%`0"), ("%0\u{11}", "%0\u{11}"),
        ])
    func plainBodyIsPercentDecoded(text: String, decoded: String) {
        #expect(decodedBody(of: "data:,\(text)") == Array(decoded.utf8))
    }

    @Test(arguments: UInt8.min...UInt8.max) func everyByteCanBeEscaped(byte: UInt8) {
        let digits = Array("0123456789abcdef")
        let escape = "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        #expect(decodedBody(of: "data:,\(escape)") == [byte])
        #expect(decodedBody(of: "data:,\(escape.uppercased())") == [byte])
    }

    @Test(
        arguments: [
            ("", ""), ("QUI=", "AB"), ("QUI", "AB"), ("QUI%3D", "AB"), ("QUI%3d", "AB"), ("QQ%3D%3D", "A"), ("QQ=%3D", "A"),
            ("QQ%3D=", "A"),
            ("%51%55%49", "AB"), ("QU%49=", "AB"), ("Q UJ D", "ABC"), ("Q%20UJ%0AD%0d%09%0C", "ABC"), ("QUJ%44", "ABC"), ("Pj4%2B", ">>>"),
            ("Pz8%2f", "???"),
            (" %20", ""),
        ])
    func base64BodyIsDecoded(text: String, decoded: String) {
        #expect(decodedBody(of: "data:;base64,\(text)") == Array(decoded.utf8))
    }

    @Test(
        arguments: [
            ("Q", .incompleteGroup(count: 1)), ("QUJDQ%20", .incompleteGroup(count: 5)), ("%51", .incompleteGroup(count: 1)),
            ("QUI-", .foreignCharacter(0x2D, offset: 16)), ("%2D", .foreignCharacter(0x2D, offset: 13)),
            ("QUI%", .foreignCharacter(0x25, offset: 16)),
            ("QUI%4", .foreignCharacter(0x25, offset: 16)), ("QUI%zz", .foreignCharacter(0x25, offset: 16)),
            ("%2541UI", .foreignCharacter(0x25, offset: 13)),
            ("QUJ\u{E9}", .foreignCharacter(0xC3, offset: 16)), ("QUJD,", .foreignCharacter(0x2C, offset: 17)),
            ("%0B", .foreignCharacter(0x0B, offset: 13)),
            ("QQ%3D", .wrongPadding(count: 3, offset: 15)), ("QQ%3D%3D%3D", .wrongPadding(count: 5, offset: 15)),
            ("QQ%3D%3DQQ", .characterAfterPadding(offset: 21)), ("QQ==%51", .characterAfterPadding(offset: 17)),
        ] as [(String, Base64Error)])
    func malformedBase64BodyIsRefused(text: String, error: Base64Error) {
        #expect(throws: DataURLError.malformedBase64(error)) { try DataURLDecoder(parsing: "data:;base64,\(text)") }
    }

    @Test(arguments: 0..<30 as Range<UInt64>) func randomPlainTextIsDecodedLikeTheReference(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let fragments = [
            "%", "%%", "%4", "%41", "%e9", "%Zz", "\u{E9}", "a", "bcdefghijk", "0123456789abcdefghijklmnopqrstuvwxyz", ",", " ",
        ]
        for _ in 0..<100 {
            let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in fragments.randomElement(using: &generator) ?? "" }
                .joined()
            #expect(decodedBody(of: "data:,\(text)") == ReferenceDecoder.percentDecode(Array(text.utf8)), "\(text)")
        }
    }

    @Test(arguments: 0..<30 as Range<UInt64>) func randomBase64TextIsDecodedLikeTheReference(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let fragments = ["%20", " ", "%41", "%2B", "%2f", "%3D", "=", "QUJD", "Q", "QU", String(repeating: "az09+/AZ", count: 3)]
        for round in 0..<100 {
            var text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in fragments.randomElement(using: &generator) ?? "" }
                .joined()
            if round.isMultiple(of: 2) { text = text.replacing("%3D", with: "").replacing("=", with: "") }
            if round.isMultiple(of: 20) { text += "%" }
            #expect(
                decodedBody(of: "data:;base64,\(text)") == ReferenceDecoder.decodeBase64(ReferenceDecoder.percentDecode(Array(text.utf8))),
                "\(text)")
        }
    }

    @Test(arguments: 0...200) func base64WithRandomEscapesAndWhiteSpaceIsDecoded(length: Int) {
        var generator = SeededGenerator(seed: UInt64(length))
        let bytes = generator.bytes(length)
        var text = ""
        for character in ReferenceDecoder.encodeBase64(bytes) {
            if Int.random(in: 0..<12, using: &generator) == 0 {
                text += ["%20", " ", "%0A", "%0d%0a"].randomElement(using: &generator) ?? ""
            }
            let isEscaped = Int.random(in: 0..<8, using: &generator) == 0
            text += isEscaped ? "%" + String(character, radix: 16) : String(Unicode.Scalar(character))
        }
        #expect(decodedBody(of: "data:;base64,\(text)") == bytes)
    }
}
