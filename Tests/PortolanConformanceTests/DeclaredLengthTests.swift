// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanConformance

/// The places where SEC-09 declares a length of 1 GiB.
@Suite struct DeclaredLengthTests {
    private func texts(_ body: String) -> [String] {
        let bytes = Array(body.utf8)
        return DeclaredLength.all(in: bytes).map { String(decoding: $0.written(to: bytes), as: UTF8.self) }
    }

    @Test func numbersInTextKeepTheWidthOfTheirField() {
        let header = "a.txt/          0           0     0     100644  5         `\nhello"
        #expect(texts(header).contains(header.replacing("5         `", with: "1073741824`")))
        let octal = "ustar\u{0}00000000005\u{0}hello"
        #expect(texts(octal).contains(octal.replacing("00000000005", with: "10000000000")))
        #expect(texts(octal).contains(octal.replacing("00000000005", with: "01073741824")))
    }

    @Test func binaryNumbersComeInBothByteOrders() {
        let bodies = DeclaredLength.all(in: [1, 2, 3, 4, 5]).map { $0.written(to: [1, 2, 3, 4, 5]) }
        #expect(bodies == [[0, 0, 0, 0x40, 5], [0x40, 0, 0, 0, 5], [1, 0, 0, 0, 0x40], [1, 0x40, 0, 0, 0]])
        // Aligned offsets come first.
        #expect(DeclaredLength.all(in: [UInt8](repeating: 1, count: 12)).map(\.place.lowerBound).prefix(8) == [0, 0, 4, 4, 8, 8, 1, 1])
    }

    @Test(arguments: [("", 0), ("1", 0), ("99 ", 0), ("1234", 2), ("no number", 12), ("12345678901234", 24)])
    func fieldsWithoutRoomAreLeftOut(_ body: String, count: Int) {
        #expect(texts(body).count == count && texts(body).allSatisfy { $0.utf8.count == body.utf8.count })
    }

    /// A server can give another body the next time.
    @Test func shorterBodyStaysWhole() throws {
        let last = try #require(DeclaredLength.all(in: [1, 2, 3, 4, 5, 6, 7, 8]).max { $0.place.upperBound < $1.place.upperBound })
        #expect(last.written(to: [1, 2, 3]) == [1, 2, 3])
        #expect(last.written(to: []) == [])
    }

    @Test func numberOfPlacesIsBounded() {
        for field in ["1111111111\n", "11111111111\n"] {
            let body = Array(String(repeating: field, count: 100_000).utf8)
            #expect(DeclaredLength.all(in: body).count < 900)
        }
    }

    /// The sum of the bytes of the header, with spaces in place of the checksum (POSIX.1-2017, pax).
    @Test func checksumOfATarHeaderIsCorrected() throws {
        var header = [UInt8](repeating: 0, count: 512)
        header.replaceSubrange(124..<135, with: "00000000005".utf8)
        header.replaceSubrange(148..<156, with: "0000000\0".utf8)
        header.replaceSubrange(257..<262, with: "ustar".utf8)
        let declared = try #require(DeclaredLength.all(in: header).first { $0.place == 124..<135 }).written(to: header)
        let sum = declared[..<148].reduce(0) { $0 + Int($1) } + 8 * 32 + declared[156...].reduce(0) { $0 + Int($1) }
        #expect(Int(String(decoding: declared[148..<154], as: UTF8.self), radix: 8) == sum)
        #expect(declared[154...155].elementsEqual([0, 32]))
    }
}
