// SPDX-License-Identifier: Apache-2.0

/// A percent sign and two hexadecimal digits, which encode one byte.
///
/// Source: WHATWG URL, "percent-decode".
enum PercentEscape {
    static let sign = UInt8(ascii: "%")
    static let length = 3

    /// The byte that the escape at `position` encodes; `nil` if there is no escape: a `%` at `position` is literal.
    @inline(__always)
    static func byte(in text: Span<UInt8>, at position: Int) -> UInt8? {
        guard text.count - position >= length, text[position] == sign else { return nil }
        let high = digit(text[position + 1])
        let low = digit(text[position + 2])
        // An invalid digit has its upper bits set, and the OR keeps them set.
        return high | low < 16 ? high << 4 | low : nil
    }

    /// The value of the hexadecimal digit; 0xFF if it is invalid.
    @inline(__always)
    private static func digit(_ byte: UInt8) -> UInt8 {
        let decimal = byte &- UInt8(ascii: "0")
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return decimal < 10 ? decimal : letter < 6 ? letter + 10 : 0xFF
    }
}
