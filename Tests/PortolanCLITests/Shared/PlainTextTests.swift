// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct PlainTextTests {
    @Test(arguments: [
        ("as it is: é 😀", "as it is: é 😀"), ("two\nlines", #"two\u{a}lines"#), ("\u{1B}[31m", #"\u{1b}[31m"#),
        ("a\u{2028}b\u{202E}c", #"a\u{2028}b\u{202e}c"#),
    ])
    func textStaysOnOneLine(text: String, line: String) {
        #expect(PlainText.line(text) == line)
    }
}
