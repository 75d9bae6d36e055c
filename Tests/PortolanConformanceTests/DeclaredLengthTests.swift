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
    }

    @Test(arguments: ["", "1", "123", "99 ", "no number"]) func shortBodiesStayWhole(_ body: String) {
        #expect(texts(body).allSatisfy { $0.utf8.count == body.utf8.count })
    }

    @Test func numberOfPlacesIsBounded() {
        let body = Array(String(repeating: "1111111111\n", count: 100_000).utf8)
        #expect(DeclaredLength.all(in: body).count < 600)
    }
}
