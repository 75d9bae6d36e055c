// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Testing

@testable import PortolanURL

@Suite struct PunycodeTests {
    private func decode(_ text: String) -> String? {
        Punycode.decode(text.unicodeScalars.map(\.value)[...]).map { String(String.UnicodeScalarView($0.compactMap(Unicode.Scalar.init))) }
    }

    private func encode(_ text: String) -> String {
        String(String.UnicodeScalarView(Punycode.encode(text.unicodeScalars.map(\.value)).compactMap(Unicode.Scalar.init)))
    }

    @Test(arguments: [
        ("ü", "tda"), ("bücher", "bcher-kva"), ("-ü-", "---xka"), ("üü", "tdaa"), ("üéü", "9ca1bb"), ("", ""), ("a", "a-"), ("a-b", "a-b-"),
        ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"), ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        ("3年B組金八先生", "3B-ww4c5e180e575a65lsy2b"), ("Maji\u{3067}Koi\u{3059}\u{308B}5\u{79D2}\u{524D}", "MajiKoi5-783gue6qz075azm5e"),
        ("\u{10FFFF}", "dn32g"), ("\u{80}", "a"),
    ])
    func textIsEncodedAndDecoded(text: String, encoded: String) {
        #expect(encode(text) == encoded)
        #expect(decode(encoded) == text)
    }

    @Test(arguments: [
        "-", "-a", "a!", "ü", "t", "9", "bcher-kv", "99999999999999999999", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "dn32h",
        "a-\u{FC}", "\u{130}",
    ])
    func malformedEncodingsAreRefused(encoded: String) { #expect(decode(encoded) == nil) }

    @Test(arguments: ["egbpdaj6bu4bxfgehfvwxn", "3B-ww4c5e180e575a65lsy2b", "ihqwcrb4cv8a8dqg056pqjye"])
    func decodableTruncationsRoundTrip(encoded: String) {
        for length in 0...encoded.utf8.count {
            let truncation = String(encoded.prefix(length))
            if let text = decode(truncation) { #expect(encode(text) == truncation) }
        }
    }

    @Test(arguments: 0..<200) func randomTextRoundTrips(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in
            let limit: UInt32 = [0x80, 0x300, 0x3000, 0xD800, 0x110000].randomElement(using: &random) ?? 0x80
            return Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random))?.value ?? 0xFFFD
        }
        #expect(Punycode.decode(Punycode.encode(text)[...]) == text)
    }

    @Test(arguments: 0..<200) func decodableEncodingsRoundTrip(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789-".unicodeScalars)
        for _ in 0..<100 {
            let input = (0..<Int.random(in: 0...9, using: &random)).map { _ in alphabet.randomElement(using: &random)?.value ?? 0x61 }
            if let text = Punycode.decode(input[...]) { #expect(Punycode.encode(text) == input) }
        }
    }
}
