// SPDX-License-Identifier: Apache-2.0

/// A percent sign and two hexadecimal digits, which stand for one byte.
///
/// Source: WHATWG URL, "percent-decode".
enum PercentEscape {
    static let sign = UInt8(ascii: "%")
    static let length = 3

    /// The byte that the escape at `position` stands for; `nil` if there is no escape, and a percent sign there stands for itself.
    @inline(__always)
    static func byte(in text: Span<UInt8>, at position: Int) -> UInt8? {
        guard text.count - position >= length, text[position] == sign else { return nil }
        let high = digit(text[position + 1])
        let low = digit(text[position + 2])
        // A digit that is none has the upper bits set, and keeps them set.
        return high | low < 16 ? high << 4 | low : nil
    }

    /// The value of the hexadecimal digit, or 0xFF.
    @inline(__always)
    private static func digit(_ byte: UInt8) -> UInt8 {
        let decimal = byte &- UInt8(ascii: "0")
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return decimal < 10 ? decimal : letter < 6 ? letter + 10 : 0xFF
    }
}
