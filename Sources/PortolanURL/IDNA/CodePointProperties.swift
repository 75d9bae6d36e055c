// SPDX-License-Identifier: Apache-2.0

/// The properties of a code point that the rules for labels use.
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

/// The Bidi_Class of a code point: its behaviour in right-to-left text.
///
/// UAX 9 §3.2
enum BidiClass: UInt8 {
    case leftToRight, rightToLeft, arabicLetter, arabicNumber
    case europeanNumber, europeanSeparator, commonSeparator, europeanTerminator
    case otherNeutral, boundaryNeutral, nonspacingMark
    /// White space, separators, and direction controls.
    case other
}

/// The Joining_Type of a code point: on which sides a letter connects with its neighbours.
///
/// The Unicode Standard §9.2
enum JoiningType: UInt8 {
    /// The letter connects on neither side. Code points that make others join also have this type, because no rule
    /// concerns them.
    case none
    case left, right, dual
    /// Ignored between letters that connect.
    case transparent
}
