// SPDX-License-Identifier: Apache-2.0

/// The rule for each label of a domain that contains right-to-left text.
///
/// A label has one direction, which its first character decides. The characters at its start and its end must ensure
/// that the label is not displayed mixed with its neighbours.
///
/// RFC 5893 §2
enum BidiRule {
    static func allows(_ label: [UInt32]) -> Bool {
        let classes = label.map { IDNATable.properties(of: $0).bidi }
        guard let first = classes.first else { return true }
        let last = classes.last { $0 != .nonspacingMark }
        switch first {
        case .leftToRight: return classes.allSatisfy(isAllowedLeftToRight) && (last == .leftToRight || last == .europeanNumber)
        case .rightToLeft, .arabicLetter:
            guard classes.allSatisfy(isAllowedRightToLeft), !(classes.contains(.europeanNumber) && classes.contains(.arabicNumber)) else {
                return false
            }
            return last == .rightToLeft || last == .arabicLetter || last == .europeanNumber || last == .arabicNumber
        case .arabicNumber, .europeanNumber, .europeanSeparator, .commonSeparator, .europeanTerminator, .otherNeutral, .boundaryNeutral,
            .nonspacingMark, .other:
            return false
        }
    }

    private static func isAllowedLeftToRight(_ bidi: BidiClass) -> Bool {
        switch bidi {
        case .leftToRight, .europeanNumber, .europeanSeparator, .commonSeparator, .europeanTerminator, .otherNeutral, .boundaryNeutral,
            .nonspacingMark:
            true
        case .rightToLeft, .arabicLetter, .arabicNumber, .other: false
        }
    }

    private static func isAllowedRightToLeft(_ bidi: BidiClass) -> Bool {
        switch bidi {
        case .rightToLeft, .arabicLetter, .arabicNumber, .europeanNumber, .europeanSeparator, .commonSeparator, .europeanTerminator,
            .otherNeutral, .boundaryNeutral, .nonspacingMark:
            true
        case .leftToRight, .other: false
        }
    }
}
