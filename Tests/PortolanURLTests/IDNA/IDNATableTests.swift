// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanURL

@Suite struct IDNATableTests {
    /// The mapping of a code point; `nil` if it is disallowed.
    private func mapped(_ codePoint: UInt32) -> [UInt32]? {
        var result: [UInt32] = []
        return IDNATable.map(codePoint, into: &result) ? result : nil
    }

    @Test func recordsAreSortedFromZero() {
        let firstCodePoints = [
            IDNATable.mapping.map { UInt32($0 & 0x1F_FFFF) }, IDNATable.properties.map { $0 & 0x1F_FFFF },
            IDNATable.combiningClasses.map { $0 & 0x1F_FFFF },
        ]
        for table in firstCodePoints {
            #expect(table.first == 0)
            #expect(zip(table, table.dropFirst()).allSatisfy(<))
        }
        #expect(zip(IDNATable.compositions, IDNATable.compositions.dropFirst()).allSatisfy(<))
    }

    /// Checks the first three and the last two code points of each run. If the look-up used a neighbouring run, these
    /// code points would differ.
    @Test func mappingResultsAreValidCodePoints() {
        let starts = IDNATable.mapping.map { UInt32($0 & 0x1F_FFFF) }
        for (start, end) in zip(starts, starts.dropFirst() + [0x110000]) {
            for codePoint in Set([start, start + 1, start + 2, end - 2, end - 1]) where (start..<end).contains(codePoint) {
                let status = IDNATable.status(of: codePoint)
                let result = mapped(codePoint)
                #expect((result == nil) == (status == .disallowed))
                #expect((result == [codePoint]) == (status == .valid))
                #expect((result?.isEmpty == true) == (status == .ignored))
                #expect(result?.allSatisfy { IDNATable.status(of: $0) == .valid } != false, "\(codePoint)")
            }
        }
    }

    @Test func onlyCapitalsAreMappedInASCII() {
        for byte in UInt8(0)..<0x80 {
            #expect(mapped(UInt32(byte)) == [UInt32((0x41...0x5A).contains(byte) ? byte + 32 : byte)])
        }
    }

    @Test(
        arguments: [
            (0xDF, [0xDF]), (0x1E9E, [0xDF]), (0x3C2, [0x3C2]), (0x200C, [0x200C]), (0xAD, []), (0x100, [0x101]), (0x101, [0x101]),
            (0x12E, [0x12F]), (0x130, [0x69, 0x307]), (0x3002, [0x2E]), (0x2026, nil), (0xFF21, [0x61]),
            (0x3300, [0x30A2, 0x30D1, 0x30FC, 0x30C8]),
            (0x2488, nil), (0xD800, nil), (0xDFFF, nil), (0xE000, nil), (0xFFFD, nil), (0x378, nil), (0x10FFFF, nil), (0xE0001, nil),
            (0x2F868, [0x36FC]), (0x2FA1D, [0x2A600]),
            (
                0xFDFA,
                [0x635, 0x644, 0x649, 0x20, 0x627, 0x644, 0x644, 0x647, 0x20, 0x639, 0x644, 0x64A, 0x647, 0x20, 0x648, 0x633, 0x644, 0x645]
            ),
        ] as [(UInt32, [UInt32]?)])
    func mappingMatchesUnicode(codePoint: UInt32, expected: [UInt32]?) { #expect(mapped(codePoint) == expected) }

    @Test(
        arguments: [
            (0x61, .leftToRight, .none, false), (0x5D0, .rightToLeft, .none, false), (0x628, .arabicLetter, .dual, false),
            (0x627, .arabicLetter, .right, false), (0x661, .arabicNumber, .none, false), (0x6F1, .europeanNumber, .none, false),
            (0x301, .nonspacingMark, .transparent, true), (0x903, .leftToRight, .none, true), (0x2D, .europeanSeparator, .none, false),
            (0x21, .otherNeutral, .none, false), (0x24, .europeanTerminator, .none, false), (0xA872, .leftToRight, .left, false),
            (0x200C, .boundaryNeutral, .none, false),
        ] as [(UInt32, BidiClass, JoiningType, Bool)])
    func propertiesMatchUnicode(codePoint: UInt32, bidi: BidiClass, joining: JoiningType, isMark: Bool) {
        let properties = IDNATable.properties(of: codePoint)
        #expect(properties.bidi == bidi)
        #expect(properties.joining == joining)
        #expect(properties.isMark == isMark)
    }

    @Test(arguments: [(0x61, 0), (0x94D, 9), (0x301, 230), (0x323, 220), (0x302A, 218), (0x338, 1)] as [(UInt32, UInt8)])
    func combiningClassesMatchUnicode(codePoint: UInt32, expected: UInt8) {
        #expect(IDNATable.combiningClass(of: codePoint) == expected)
    }
}
