// SPDX-License-Identifier: Apache-2.0

import PortolanConformance

/// Text from elsewhere, made fit for one line on a terminal.
enum PlainText {
    /// The text with every control character, line separator and invisible formatting character written as `\u{…}`, as the reports of `check` have it.
    static func line(_ text: String) -> String { VisibleText.line(text) }
}
