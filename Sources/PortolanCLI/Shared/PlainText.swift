// SPDX-License-Identifier: Apache-2.0

import PortolanConformance

/// Escapes text of servers and plugins, so that it is one line and cannot control the terminal.
enum PlainText {
    /// Returns the text with every control character, line separator and invisible formatting character written as
    /// `\u{…}`, as in the reports of `check`.
    static func line(_ text: String) -> String { VisibleText.line(text) }
}
