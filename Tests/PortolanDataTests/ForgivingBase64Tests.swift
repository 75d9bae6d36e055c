// SPDX-License-Identifier: Apache-2.0

import PortolanData
import PortolanTestSupport
import Testing

/// `ForgivingBase64`, the base64 decoder of `data:` URLs.
@Suite struct ForgivingBase64Tests {
    @Test(
        arguments: [
            ("", []), ("  \n", []),
            ("TWFu", [77, 97, 110]), ("TWE=", [77, 97]), ("TQ==", [77]),
            // Padding may be missing
            ("TWE", [77, 97]), ("TQ", [77]),
            // Bits that do not fill a last byte are dropped
            ("TR", [77]), ("TX==", [77]), ("TWF", [77, 97]), ("TWH=", [77, 97]), ("//", [255]), ("///", [255, 255]),
            // White space is allowed everywhere
            (" T W F u ", [77, 97, 110]), ("T\tW\nF\u{C}u\r", [77, 97, 110]), ("TQ= =", [77]), ("TQ==\n", [77]),
            ("TQ \r\n= \t=\u{C}", [77]),
            ("T Q", [77]),
            // The first and last character of each range of the alphabet
            ("+/+/", [251, 255, 191]), ("AAAA", [0, 0, 0]), ("0189", [211, 95, 61]), ("azAZ", [107, 48, 25]),
        ] as [(String, [UInt8])])
    func textIsDecoded(text: String, bytes: [UInt8]) throws {
        #expect(try ForgivingBase64.decode(text) == bytes)
    }

    @Test(
        arguments: [
            ("T", .incompleteGroup(count: 1)),
            ("TWFuT", .incompleteGroup(count: 5)),
            (" T ", .incompleteGroup(count: 1)),
            ("=", .wrongPadding(count: 1, offset: 0)),
            ("==", .wrongPadding(count: 2, offset: 0)),
            ("===", .wrongPadding(count: 3, offset: 0)),
            ("====", .wrongPadding(count: 4, offset: 0)),
            ("T===", .wrongPadding(count: 4, offset: 1)),
            ("T=", .wrongPadding(count: 2, offset: 1)),
            ("TQ=", .wrongPadding(count: 3, offset: 2)),
            ("TQ===", .wrongPadding(count: 5, offset: 2)),
            ("TWE==", .wrongPadding(count: 5, offset: 3)),
            ("TWFu=", .wrongPadding(count: 5, offset: 4)),
            ("TWFu==", .wrongPadding(count: 6, offset: 4)),
            ("TWFu====", .wrongPadding(count: 8, offset: 4)),
            (" TQ =", .wrongPadding(count: 3, offset: 4)),
            ("TQ==TQ==", .characterAfterPadding(offset: 4)),
            ("TQ= =u", .characterAfterPadding(offset: 5)),
            ("=TWFu", .characterAfterPadding(offset: 1)),
            ("TQ-_", .foreignCharacter(0x2D, offset: 2)),
            ("TWFu.", .foreignCharacter(0x2E, offset: 4)),
            ("TW%46u", .foreignCharacter(0x25, offset: 2)),
            ("TWF\u{B}u", .foreignCharacter(0x0B, offset: 3)),
            ("TWF\u{0}", .foreignCharacter(0, offset: 3)),
            ("TQ==\u{A0}", .foreignCharacter(0xC2, offset: 4)),
            ("\u{1F600}", .foreignCharacter(0xF0, offset: 0)),
            ("@[`{:,", .foreignCharacter(0x40, offset: 0)),
        ] as [(String, Base64Error)])
    func malformedTextIsRefused(text: String, error: Base64Error) {
        #expect(throws: error) { try ForgivingBase64.decode(text) }
    }

    @Test(arguments: UInt8.min...UInt8.max) func eachByteIsDecodedLikeTheReferenceAtEachPosition(byte: UInt8) {
        // In a text of 70 bytes, the first 64 bytes are checked in four blocks together, and the last 6 one by one. In
        // a text of 20 bytes, the first 16 are checked in one block.
        for (length, positions) in [(70, 0..<70), (20, 0..<20), (3, 0..<3)] {
            for position in positions {
                var text = (0..<length).map { ReferenceDecoder.base64Alphabet[$0 * 7 % 64] }
                text[position] = byte
                #expect(
                    (try? ForgivingBase64.decode(text.span)) == ReferenceDecoder.decodeBase64(text), "\(byte) at \(position) of \(length)")
            }
        }
    }

    @Test(arguments: 0...200) func encodedBytesRoundTrip(length: Int) throws {
        var generator = SeededGenerator(seed: UInt64(length))
        let bytes = generator.bytes(length)
        var text = ReferenceDecoder.encodeBase64(bytes)
        #expect(try ForgivingBase64.decode(text.span) == bytes)

        for _ in 0..<20 {
            let whitespace: [UInt8] = [0x20, 0x09, 0x0A, 0x0C, 0x0D]
            text.insert(whitespace[Int.random(in: 0..<5, using: &generator)], at: Int.random(in: 0...text.count, using: &generator))
            #expect(try ForgivingBase64.decode(text.span) == bytes)
        }
        text.removeAll { $0 == UInt8(ascii: "=") }
        #expect(try ForgivingBase64.decode(text.span) == bytes)
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func randomTextIsDecodedLikeTheReference(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let otherBytes: [UInt8] = Array(" \t\n\r==-%\u{0}".utf8) + [0x0C, 0xFF, 0x80]
        for _ in 0..<100 {
            let length = Int.random(in: 0...150, using: &generator)
            var text = (0..<length).map { _ in ReferenceDecoder.base64Alphabet[Int.random(in: 0..<64, using: &generator)] }
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                text.insert(
                    otherBytes[Int.random(in: 0..<otherBytes.count, using: &generator)],
                    at: Int.random(in: 0...text.count, using: &generator))
            }
            text += [[], [UInt8(ascii: "=")], Array("==".utf8)][Int.random(in: 0..<3, using: &generator)]
            #expect((try? ForgivingBase64.decode(text.span)) == ReferenceDecoder.decodeBase64(text), "\(text)")
        }
    }
}
