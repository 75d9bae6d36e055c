// SPDX-License-Identifier: Apache-2.0

/// Formats numbers for findings.
enum ValueFormatting {
    /// For example `12.5 ms`.
    static func time(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }

    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
