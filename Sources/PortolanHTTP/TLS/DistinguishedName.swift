// SPDX-License-Identifier: Apache-2.0

/// The names of subjects and issuers, as one line for a person.
///
/// RFC 5280 §4.1.2.4
enum DistinguishedName {
    // 2.5.4.3, .10 and .11 in DER: common name, organisation, organisational unit, the likeliest to be known first.
    private static let preferred: [[UInt8]] = [[0x55, 0x04, 0x03], [0x55, 0x04, 0x0A], [0x55, 0x04, 0x0B]]

    static func line(_ name: DERReader.Element) throws(DERReader.SyntaxError) -> String {
        var (best, rank) = ("without a name", Int.max)
        var sets = DERReader(name)
        while !sets.isAtEnd {
            var attributes = DERReader(try sets.next(.derSet))
            while !attributes.isAtEnd {
                var attribute = DERReader(try attributes.next(.derSequence))
                let type = try attribute.next(.derObjectIdentifier).content
                let value = try attribute.next()
                let new = preferred.firstIndex { type.elementsEqual($0) } ?? preferred.count
                if new < rank, let text = text(value) { (best, rank) = (DisplayText.line(text), new) }
            }
        }
        return best
    }

    private static func text(_ value: DERReader.Element) -> String? {
        switch value.tag {
        // UTF8String, PrintableString, IA5String
        case 0x0C, 0x13, 0x16: String(decoding: value.content, as: UTF8.self)
        // TeletexString, which is written as ISO-8859-1
        case 0x14: String(String.UnicodeScalarView(value.content.map { Unicode.Scalar($0) }))
        // BMPString
        case 0x1E:
            String(
                decoding: stride(from: value.content.startIndex, to: value.content.endIndex - 1, by: 2)
                    .map { UInt16(value.content[$0]) << 8 | UInt16(value.content[$0 + 1]) }, as: UTF16.self)
        default: nil
        }
    }
}

/// What a certificate says, made fit for a message.
enum DisplayText {
    private static let limit = 64

    /// Short, on one line, and without what changes how a line reads.
    static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard line.count < limit else { return String(line) + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: line.append("\u{FFFD}")
            default: line.append(scalar)
            }
        }
        return String(line)
    }
}
