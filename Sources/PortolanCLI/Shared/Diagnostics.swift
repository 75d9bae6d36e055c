// SPDX-License-Identifier: Apache-2.0

/// Standard error.
enum Diagnostics {
    /// `portolan: ` and the message, on exactly one line.
    static func report(_ message: String) {
        write("portolan: \(PlainText.line(message))\n")
    }

    /// What is worth knowing and ends nothing.
    static func warn(_ message: String) {
        report("warning: \(message)")
    }

    static func write(_ text: String) {
        // `try?` because there is nobody to be told that standard error is closed.
        try? Descriptor.standardError.write(all: Array(text.utf8))
    }
}
