// SPDX-License-Identifier: Apache-2.0

/// A foreign text for a message: in quotes, with invisible characters escaped, shortened to sixty code points.
package struct QuotedText: CustomStringConvertible {
    private static let longest = 60
    package let description: String

    package init(_ text: some StringProtocol) {
        var line = "'"
        for scalar in text.unicodeScalars.prefix(Self.longest) { line += scalar.escaped(asASCII: !Self.isVisible(scalar)) }
        description = line + (text.unicodeScalars.dropFirst(Self.longest).isEmpty ? "'" : "…'")
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
