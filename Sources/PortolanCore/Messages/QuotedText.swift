// SPDX-License-Identifier: Apache-2.0

/// A text from a file or a peer, for a message: in quotes, with invisible characters escaped, shortened to sixty code
/// points.
package struct QuotedText: CustomStringConvertible {
    /// In code points.
    private static let maximumLength = 60
    package let description: String

    package init(_ text: some StringProtocol) {
        var line = "'"
        for scalar in text.unicodeScalars.prefix(Self.maximumLength) { line += scalar.escaped(asASCII: scalar.isInvisible) }
        description = line + (text.unicodeScalars.dropFirst(Self.maximumLength).isEmpty ? "'" : "…'")
    }
}

extension String {
    /// The text on one line: control characters, line breaks and invisible characters are escaped, as in `\n`.
    package var withInvisibleCharactersEscaped: String {
        guard unicodeScalars.contains(where: \.isInvisible) else { return self }
        var line = ""
        for scalar in unicodeScalars {
            if scalar.isInvisible { line += scalar.escaped(asASCII: true) } else { line.unicodeScalars.append(scalar) }
        }
        return line
    }
}

extension Unicode.Scalar {
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    /// A count and a noun, as in `1 redirect` and `2 redirects`.
    package init(_ count: some BinaryInteger, of noun: String) {
        self = "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
