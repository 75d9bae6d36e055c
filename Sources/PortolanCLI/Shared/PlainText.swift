// SPDX-License-Identifier: Apache-2.0

import PortolanConformance

/// Makes foreign text safe for one line on a terminal.
enum PlainText {
    /// Returns the text with every control character, line separator and invisible formatting character written as
    /// `\u{…}`, as in the reports of `check`.
    static func line(_ text: String) -> String { VisibleText.line(text) }
}
