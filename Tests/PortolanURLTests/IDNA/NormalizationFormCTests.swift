// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Testing

@testable import PortolanURL

@Suite struct NormalizationFormCTests {
    private static let composites = IDNATable.compositions.map { UInt32($0 & 0x1F_FFFF) }

    @Test func eachCompositeIsComposedFromItsParts() {
        for composite in Self.composites {
            let parts = IDNATable.pair(of: composite)
            #expect(parts.flatMap { IDNATable.composite(of: $0.0, $0.1) } == composite)
            #expect(NormalizationFormC.normalized([composite]) == [composite])
            #expect(parts.map { NormalizationFormC.normalized([$0.0, $0.1]) } == [composite])
        }
    }

    @Test func eachHangulSyllableIsComposedFromItsLetters() {
        for syllable in UInt32(0xAC00)..<0xD7A4 {
            let index = syllable - 0xAC00
            let letters = [0x1100 + index / 588, 0x1161 + index % 588 / 28] + (index % 28 == 0 ? [] : [0x11A7 + index % 28])
            #expect(NormalizationFormC.normalized(letters) == [syllable])
        }
    }

    @Test(
        arguments: [
            // Marks in order and in the wrong order, and marks that are blocked by a mark of the same class or by a
            // letter
            ([0x61, 0x323, 0x307], [0x1EA1, 0x307]), ([0x61, 0x307, 0x323], [0x1EA1, 0x307]), ([0x61, 0x5AE, 0x300], [0xE0, 0x5AE]),
            ([0x61, 0x5AE, 0x300, 0x301], [0xE0, 0x5AE, 0x301]), ([0x61, 0x200C, 0x300], [0x61, 0x200C, 0x300]),
            ([0x301, 0x61], [0x301, 0x61]), ([0x1EA1, 0x302], [0x1EAD]), ([0xAC00, 0x11A8, 0x11A8], [0xAC01, 0x11A8]),
            ([0xAC01, 0x11A8], [0xAC01, 0x11A8]), ([0xAC00, 0x11A7], [0xAC00, 0x11A7]), ([0x1100, 0x1161, 0x300], [0xAC00, 0x300]),
            ([0x9C7, 0x9BC, 0x9BE], [0x9C7, 0x9BC, 0x9BE]), ([0x9C7, 0x9BE], [0x9CB]), ([], []),
        ] as [([UInt32], [UInt32])])
    func marksComposeUnlessBlocked(input: [UInt32], expected: [UInt32]) { #expect(NormalizationFormC.normalized(input) == expected) }

    /// Swift compares strings by canonical equivalence.
    @Test(arguments: 0..<100) func resultIsEquivalentAndStable(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Each version of the standard library knows the characters of the Basic Multilingual Plane.
        let knownComposites = Self.composites.filter { $0 < 0x10000 }
        let pool =
            knownComposites + knownComposites.flatMap { IDNATable.pair(of: $0).map { [$0.0, $0.1, $0.1] } ?? [] } + [
                0x5AE, 0x345, 0x1100, 0x1161, 0x11A8,
            ]
        for _ in 0..<50 {
            let input = (0..<Int.random(in: 1...8, using: &random)).map { _ in pool.randomElement(using: &random) ?? 0x61 }
            let result = NormalizationFormC.normalized(input)
            #expect(text(result) == text(input))
            #expect(NormalizationFormC.normalized(result) == result)
        }
    }

    private func text(_ codePoints: [UInt32]) -> String {
        String(String.UnicodeScalarView(codePoints.compactMap(Unicode.Scalar.init)))
    }
}
