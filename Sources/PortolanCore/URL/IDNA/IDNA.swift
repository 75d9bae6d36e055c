// SPDX-License-Identifier: Apache-2.0

/// Turns the domain names that people write into those that the DNS knows.
///
/// The URL Standard fixes what UTS 46 leaves open: processing is non-transitional, the rules for joiners and for text that runs from right
/// to left are checked, hyphens may stand anywhere, ASCII characters are restricted by the URL parser alone, and the limits of the DNS
/// (63 bytes a label, 253 a name) are the resolver's concern.
///
/// UTS 46 §4, WHATWG URL §3.3
enum IDNA {
    /// How many bytes a domain may have, in UTF-8 and without percent-encoding, for labels in it to be encoded; in ASCII as many, so
    /// that the result is a domain, too.
    ///
    /// Punycode inserts in the middle, which costs the square of a label's length. A name that the DNS can hold, whose characters are at most
    /// as many as its bytes are in ASCII, needs less than 1,100 bytes.
    static let longestDomain = 4096

    /// The rule that a domain breaks, and the offset where, in bytes: that of the code point, or else that of the label.
    struct Failure: Error, Equatable {
        let violation: IDNAViolation
        let offset: Int
    }

    /// Maps, normalises and checks a domain, and puts each label beyond ASCII into its `xn--` form.
    ///
    /// The result may hold ASCII characters that no URL's domain may hold.
    ///
    /// - Complexity: the square of a label's length at worst, which is limited.
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
                labels.append((try IDNALabel(mapped: current), labelStart))
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
            // Labels are cut before they are normalised: the dot takes no part in a composition.
            for codePoint in mapped {
                if codePoint == UInt32(UInt8(ascii: ".")) { try endLabel() } else { current.append(codePoint) }
            }
        }
        try endLabel()
        return labels
    }
}
