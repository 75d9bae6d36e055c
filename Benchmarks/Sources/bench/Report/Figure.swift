// SPDX-License-Identifier: Apache-2.0

/// Formats numbers for the table and the page.
enum Figure {
    /// Returns three significant digits, or all digits before the decimal point if there are more.
    static func short(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
        let places = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : abs(value) >= 1 ? 2 : 3
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = Int((value * scale).rounded())
        let whole = abs(scaled) / Int(scale)
        var text = (scaled < 0 ? "-" : "") + String(whole)
        guard places > 0 else { return text }
        let fraction = String(abs(scaled) % Int(scale))
        let digits = String(repeating: "0", count: places - fraction.count) + fraction
        guard let last = digits.lastIndex(where: { $0 != "0" }) else { return text }
        text += "." + digits[...last]
        return text
    }
}
