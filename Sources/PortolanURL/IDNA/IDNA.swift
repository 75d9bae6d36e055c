// SPDX-License-Identifier: Apache-2.0

/// Converts domain names in Unicode to the ASCII form that DNS uses.
///
/// The URL Standard decides what UTS 46 leaves open. Processing is non-transitional. The rules for joiners and for
/// right-to-left text are checked. Hyphens are allowed everywhere. Only the URL parser restricts ASCII characters. The
/// limits of the DNS (63 bytes a label, 253 a name) are the resolver's concern.
///
/// UTS 46 §4, WHATWG URL §3.3
enum IDNA {
    /// The longest domain in bytes, in UTF-8 and without percent-encoding, whose labels are encoded. The same limit
    /// applies to the ASCII result, so that the result is a domain, too.
    ///
    /// Punycode inserts in the middle, which costs the square of a label's length. A name that the DNS can hold has at
    /// most as many characters as bytes in ASCII, and needs less than 1,100 bytes.
    static let longestDomain = 4096

    /// The rule that a domain violates, and the byte offset of the code point or the label that violates it.
    struct Failure: Error, Equatable {
        let violation: IDNAViolation
        let offset: Int
    }

    /// Maps, normalises and checks a domain, and converts each label beyond ASCII to its `xn--` form.
    ///
    /// The result may contain ASCII characters that are not allowed in a URL's domain.
    ///
    /// - Complexity: at worst the square of a label's length, which is limited.
    static func ascii(_ domain: String) throws(Failure) -> [UInt8] {
        guard domain.utf8.count <= longestDomain else { throw Failure(violation: .tooLong, offset: 0) }
        let labels = try labels(of: domain)
        if labels.contains(where: { $0.label.hasRightToLeft }) {
            for (label, offset) in labels where !BidiRule.allows(label.codePoints) {
                throw Failure(violation: .mixedDirections, offset: offset)
            }
        }
        let result = Array(labels.map(\.label.ascii).joined(separator: [UInt8(ascii: ".")]))
        if result.isEmpty { throw Failure(violation: .empty, offset: 0) }
        if result.count > longestDomain { throw Failure(violation: .tooLong, offset: 0) }
        return result
    }

    private static func labels(of domain: String) throws(Failure) -> [(label: IDNALabel, offset: Int)] {
        var labels: [(label: IDNALabel, offset: Int)] = []
        var current: [UInt32] = []
        var mapped: [UInt32] = []
        var labelStart = 0
        var offset = 0

        func endLabel() throws(Failure) {
            do throws(IDNAViolation) {
                labels.append((try IDNALabel(mappedCodePoints: current), labelStart))
            } catch {
                throw Failure(violation: error, offset: labelStart)
            }
            current.removeAll(keepingCapacity: true)
            labelStart = offset
        }

        for scalar in domain.unicodeScalars {
            mapped.removeAll(keepingCapacity: true)
            guard IDNATable.map(scalar.value, into: &mapped) else { throw Failure(violation: .disallowedCodePoint, offset: offset) }
            offset += UTF8.width(scalar)
            // Labels are split before they are normalised, because the dot takes part in no composition.
            for codePoint in mapped {
                if codePoint == UInt32(UInt8(ascii: ".")) { try endLabel() } else { current.append(codePoint) }
            }
        }
        try endLabel()
        return labels
    }
}
