// SPDX-License-Identifier: Apache-2.0

/// A label of a domain, normalised and valid by all rules except that for right-to-left text, which applies to a whole
/// domain.
struct IDNALabel {
    /// The text, decoded if it is an `xn--` label.
    let codePoints: [UInt32]
    /// The form of the label in an ASCII domain.
    let ascii: [UInt8]

    /// Reads a label, which may be empty, from code points that are already mapped.
    ///
    /// UTS 46 §4, steps 2 and 4; §4.1; §4.2
    init(mappedCodePoints: [UInt32]) throws(IDNAViolation) {
        if mappedCodePoints.allSatisfy({ $0 < 0x80 }), !mappedCodePoints.starts(with: Self.prefix) {
            codePoints = mappedCodePoints
            ascii = mappedCodePoints.map(UInt8.init(truncatingIfNeeded:))
            return
        }
        let normalised = NormalizationFormC.normalized(mappedCodePoints)
        if normalised.starts(with: Self.prefix) {
            guard let decoded = Punycode.decode(normalised.dropFirst(Self.prefix.count)), decoded.contains(where: { $0 >= 0x80 }) else {
                throw .invalidPunycode
            }
            guard decoded.allSatisfy({ IDNATable.status(of: $0) == .valid }), NormalizationFormC.normalized(decoded) == decoded,
                !decoded.starts(with: Self.prefix), !decoded.contains(UInt32(UInt8(ascii: ".")))
            else { throw .unmappedPunycode }
            codePoints = decoded
            ascii = normalised.map(UInt8.init(truncatingIfNeeded:))
        } else {
            codePoints = normalised
            ascii = (Self.prefix + Punycode.encode(normalised)).map(UInt8.init(truncatingIfNeeded:))
        }
        if let first = codePoints.first, IDNATable.properties(of: first).isMark { throw .leadingMark }
        if !JoinerRule.allows(codePoints) { throw .misplacedJoiner }
    }

    /// Whether the label makes its domain a "Bidi domain name", to which the rule for right-to-left text applies.
    var hasRightToLeft: Bool {
        codePoints.contains { codePoint in
            guard codePoint >= 0x80 else { return false }
            return switch IDNATable.properties(of: codePoint).bidi {
            case .rightToLeft, .arabicLetter, .arabicNumber: true
            default: false
            }
        }
    }

    /// `xn--`
    private static let prefix = "xn--".unicodeScalars.map(\.value)
}
