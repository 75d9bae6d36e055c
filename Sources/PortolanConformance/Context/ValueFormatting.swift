// SPDX-License-Identifier: Apache-2.0

/// Formats numbers for findings.
enum ValueFormatting {
    /// For example `12.5 ms`.
    static func time(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }

    static func count(_ count: Int, _ noun: String, plural: String? = nil) -> String {
        "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// The first numbers, and how many more there are: `0, 1, 2 and 17 more`.
    static func list(_ numbers: [Int], showing limit: Int = 3) -> String {
        let shown = numbers.prefix(limit).map(String.init).joined(separator: ", ")
        return numbers.count > limit ? "\(shown) and \(numbers.count - limit) more" : shown
    }
}
