// SPDX-License-Identifier: Apache-2.0

/// Unicode's Normalization Form C, for code points that are valid by UTS 46.
///
/// These code points are decomposed only to be composed again. Each decomposition is a pair, and the composite of the
/// pair is the same code point. One table therefore serves both directions. The script that writes the table verifies
/// this. The standard library has this form as SPI only.
///
/// UAX 15
enum NormalizationFormC {
    /// - Complexity: linear, except for marks out of order, which cost the square of the number of adjacent marks.
    static func normalized(_ input: [UInt32]) -> [UInt32] {
        if input.allSatisfy({ $0 < 0x300 }) { return input }
        var codePoints: [(value: UInt32, combiningClass: UInt8)] = []
        codePoints.reserveCapacity(input.count)
        for codePoint in input { appendDecomposed(codePoint, to: &codePoints) }
        sortMarks(of: &codePoints)
        return composed(codePoints)
    }

    private static func appendDecomposed(_ codePoint: UInt32, to output: inout [(value: UInt32, combiningClass: UInt8)]) {
        if let parts = Hangul.parts(of: codePoint) ?? IDNATable.pair(of: codePoint) {
            appendDecomposed(parts.0, to: &output)
            appendDecomposed(parts.1, to: &output)
        } else {
            output.append((codePoint, IDNATable.combiningClass(of: codePoint)))
        }
    }

    /// Sorts the marks after a base by their classes, and keeps the order within one class.
    private static func sortMarks(of codePoints: inout [(value: UInt32, combiningClass: UInt8)]) {
        for index in codePoints.indices {
            let mark = codePoints[index]
            if mark.combiningClass == 0 { continue }
            var place = index
            while place > 0, codePoints[place - 1].combiningClass > mark.combiningClass {
                codePoints[place] = codePoints[place - 1]
                place -= 1
            }
            codePoints[place] = mark
        }
    }

    private static func composed(_ codePoints: [(value: UInt32, combiningClass: UInt8)]) -> [UInt32] {
        var output: [UInt32] = []
        output.reserveCapacity(codePoints.count)
        var base: Int?
        // The combining class of the last code point after the base that was not composed. If the next code point has
        // the same class or a lower one, its composition with the base is blocked.
        var blockingClass: UInt8?
        for (value, combiningClass) in codePoints {
            let isBlocked = blockingClass.map { $0 == 0 || $0 >= combiningClass } ?? false
            if let base, !isBlocked,
                let composite = Hangul.composite(of: output[base], value) ?? IDNATable.composite(of: output[base], value)
            {
                output[base] = composite
                continue
            }
            if combiningClass == 0 {
                base = output.count
                blockingClass = nil
            } else {
                blockingClass = combiningClass
            }
            output.append(value)
        }
        return output
    }
}

/// The syllables of Korean, which are composed by arithmetic: from a consonant and a vowel, and from such a syllable
/// and a final consonant.
///
/// The Unicode Standard §3.12
private enum Hangul {
    private static let syllables: Range<UInt32> = 0xAC00..<0xD7A4
    private static let initials: Range<UInt32> = 0x1100..<0x1113
    private static let vowels: Range<UInt32> = 0x1161..<0x1176
    private static let finals: Range<UInt32> = 0x11A8..<0x11C3
    /// The number of syllables with the same consonant and vowel: one without a final consonant, and one with each
    /// final consonant.
    private static let syllablesPerVowel: UInt32 = 28
    private static let syllablesPerInitial: UInt32 = 21 * syllablesPerVowel

    static func parts(of codePoint: UInt32) -> (UInt32, UInt32)? {
        guard syllables.contains(codePoint) else { return nil }
        let index = codePoint - syllables.lowerBound
        let final = index % syllablesPerVowel
        if final > 0 { return (codePoint - final, finals.lowerBound + final - 1) }
        return (initials.lowerBound + index / syllablesPerInitial, vowels.lowerBound + index % syllablesPerInitial / syllablesPerVowel)
    }

    static func composite(of first: UInt32, _ second: UInt32) -> UInt32? {
        if initials.contains(first), vowels.contains(second) {
            return syllables.lowerBound + (first - initials.lowerBound) * syllablesPerInitial + (second - vowels.lowerBound)
                * syllablesPerVowel
        }
        if syllables.contains(first), (first - syllables.lowerBound) % syllablesPerVowel == 0, finals.contains(second) {
            return first + second - finals.lowerBound + 1
        }
        return nil
    }
}
