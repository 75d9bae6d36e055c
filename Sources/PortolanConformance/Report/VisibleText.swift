// SPDX-License-Identifier: Apache-2.0

/// Makes foreign text fit for one line: escapes characters that are invisible, or that a terminal or a line reader
/// interprets.
package enum VisibleText {
    /// The text with every control character, line separator and invisible formatting character written as `\u{…}`.
    package static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: needsEscape) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            if needsEscape(scalar) {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    package static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
