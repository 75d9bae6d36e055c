// SPDX-License-Identifier: Apache-2.0

/// Text from elsewhere, made fit for one line on a terminal.
enum PlainText {
    /// The text with every control character, line separator and invisible formatting character written as `\u{…}`.
    static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnfit) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            if isUnfit(scalar) {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    private static func isUnfit(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
