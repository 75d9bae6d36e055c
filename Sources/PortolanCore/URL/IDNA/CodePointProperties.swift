// SPDX-License-Identifier: Apache-2.0

/// What the rules for labels ask about a code point.
struct CodePointProperties {
    let bidi: BidiClass
    let joining: JoiningType
    /// Whether its general category is Mark.
    let isMark: Bool

    /// - Parameter bits: The class in bits 0 to 3, the type in bits 4 to 6, and whether it is a mark in bit 7.
    init(bits: UInt32) {
        bidi = BidiClass(rawValue: UInt8(bits & 15)) ?? .other
        joining = JoiningType(rawValue: UInt8(bits >> 4 & 7)) ?? .none
        isMark = bits >> 7 & 1 == 1
    }
}

/// The Bidi_Class of a code point: how it behaves where text runs from right to left.
///
/// UAX 9 §3.2
enum BidiClass: UInt8 {
    case leftToRight, rightToLeft, arabicLetter, arabicNumber
    case europeanNumber, europeanSeparator, commonSeparator, europeanTerminator
    case otherNeutral, boundaryNeutral, nonspacingMark
    /// White space, separators, and what controls the direction.
    case other
}

/// The Joining_Type of a code point: on which sides a letter connects with its neighbours.
///
/// The Unicode Standard §9.2
enum JoiningType: UInt8 {
    /// On neither; and what makes others join, of which no rule speaks.
    case none
    case left, right, dual
    /// It stands between letters that connect as if it were not there.
    case transparent
}
