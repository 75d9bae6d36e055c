// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Testing

@Suite struct DecodeTests {
    private func decode(_ encoded: [UInt8]?, capacity: Int = 64) -> FillResult {
        unsafe withString(encoded) { string in unsafe fill(capacity: capacity) { unsafe portolan_decode(string, $0, $1) } }
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a%20b", "a b"), ("%41%42", "AB"), ("%e2%82%ac", "€"), ("%E2%82%aC", "€"), ("a+b", "a+b"),
        ("%2541", "%41"),
        ("%25", "%"), ("%2F%2f", "//"), ("%7f%09", "\u{7f}\t"),
    ])
    func escapesAreDecodedOnce(encoded: String, decoded: String) {
        #expect(decode(Array(encoded.utf8)) == FillResult(result: Int64(decoded.utf8.count), writtenBytes: Array(decoded.utf8)))
    }

    @Test(arguments: [
        ("%", PORTOLAN_REFUSED_ESCAPE), ("a%", PORTOLAN_REFUSED_ESCAPE), ("%4", PORTOLAN_REFUSED_ESCAPE), ("%zz", PORTOLAN_REFUSED_ESCAPE),
        ("%4g", PORTOLAN_REFUSED_ESCAPE), ("%g4", PORTOLAN_REFUSED_ESCAPE), ("% 41", PORTOLAN_REFUSED_ESCAPE),
        ("%%41", PORTOLAN_REFUSED_ESCAPE),
        ("%u0041", PORTOLAN_REFUSED_ESCAPE), ("%+4", PORTOLAN_REFUSED_ESCAPE), ("%00", PORTOLAN_REFUSED_NUL),
        ("a\0b", PORTOLAN_REFUSED_NUL),
        ("a%0D", PORTOLAN_REFUSED_CR), ("%0d", PORTOLAN_REFUSED_CR), ("\r", PORTOLAN_REFUSED_CR), ("%0A", PORTOLAN_REFUSED_LF),
        ("%0a%00", PORTOLAN_REFUSED_LF), ("\n", PORTOLAN_REFUSED_LF),
    ])
    func refusalNamesTheReasonAndWritesNothing(encoded: String, refused: portolan_refused) {
        #expect(decode(Array(encoded.utf8)) == FillResult(result: Int64(refused.rawValue), writtenBytes: []))
    }

    /// The digits that would complete the sequence follow the string in memory.
    @Test(arguments: [1, 2])
    func escapeIsNotReadBeyondTheEndOfTheString(length: Int) {
        let result = unsafe withString("%41") { string in
            unsafe fill(capacity: 64) { unsafe portolan_decode(portolan_string(bytes: string.bytes, length: length), $0, $1) }
        }
        #expect(result == FillResult(result: Int64(PORTOLAN_REFUSED_ESCAPE.rawValue), writtenBytes: []))
    }

    @Test func decodingRefusesOnlyNULCarriageReturnAndLineFeed() {
        let digits = Array("0123456789aBcDeF".utf8)
        for byte in UInt8.min...UInt8.max {
            let result = decode([0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            let resultWithoutEscape = byte == 0x25 ? result : decode([byte])
            switch byte {
            case 0, 10, 13: #expect(result.result < 0 && resultWithoutEscape == result, "byte \(byte)")
            default: #expect(result == FillResult(result: 1, writtenBytes: [byte]) && resultWithoutEscape == result, "byte \(byte)")
            }
        }
    }

    @Test func shortBufferStaysEmptyAndTheNeededLengthIsReturned() {
        for capacity in 0...7 {
            let result = decode(Array("%41bc%44ef".utf8), capacity: capacity)
            #expect(result == FillResult(result: 6, writtenBytes: capacity > 6 ? Array("AbcDef".utf8) : []), "capacity \(capacity)")
        }
    }

    @Test func lengthIsReturnedWithoutABuffer() {
        let length = unsafe withString("%41bc") { unsafe portolan_decode($0, nil, 0) }
        #expect(length == 3)
    }

    @Test func absentStringDecodesToAnEmptyString() {
        #expect(decode(nil) == FillResult(result: 0, writtenBytes: []))
    }
}
