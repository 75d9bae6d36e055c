// SPDX-License-Identifier: Apache-2.0

/// A range of base64 text, read one character at a time.
///
/// A character is one byte or, if the text is part of a URL, one percent escape.
struct Base64Text: Sendable {
    /// The role of a character in base64.
    enum Role {
        /// An alphabet character, with its value from 0 to 63 (RFC 4648, table 1).
        case symbol(UInt8)
        case whitespace
        case padding
        /// Not base64. The value is the decoded byte.
        case foreign(UInt8)
    }

    /// The position of the text in the reader's input.
    let range: Range<Int>

    /// Whether percent escapes are decoded first. If not, a percent sign is foreign.
    let isPercentEncoded: Bool

    /// Returns the role of the character at `position`, and advances `position` past it.
    ///
    /// - Parameter bytes: The bytes up to the end of the range, no more.
    @inline(__always)
    func next(in bytes: Span<UInt8>, at position: inout Int) -> Role {
        var byte = bytes[position]
        if byte == PercentEscape.sign, isPercentEncoded, let decoded = PercentEscape.byte(in: bytes, at: position) {
            byte = decoded
            position += PercentEscape.length
        } else {
            position += 1
        }
        return Self.role(of: byte)
    }

    @inline(__always)
    private static func role(of byte: UInt8) -> Role {
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        if letter < 26 { return .symbol(byte < UInt8(ascii: "a") ? letter : letter + 26) }
        let digit = byte &- UInt8(ascii: "0")
        if digit < 10 { return .symbol(digit + 52) }
        switch byte {
        case UInt8(ascii: "+"): return .symbol(62)
        case UInt8(ascii: "/"): return .symbol(63)
        case UInt8(ascii: "="): return .padding
        case 0x09, 0x0A, 0x0C, 0x0D, 0x20: return .whitespace  // ASCII whitespace (WHATWG Infra, section 4.6)
        default: return .foreign(byte)
        }
    }
}
