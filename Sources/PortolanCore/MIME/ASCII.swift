// SPDX-License-Identifier: Apache-2.0

/// The sets of bytes that MIME types consist of, and strings made from such bytes.
///
/// Every delimiter is ASCII, so text can be checked as UTF-8 without decoding it.
enum ASCII {
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let slash = UInt8(ascii: "/")
    static let semicolon = UInt8(ascii: ";")
    static let equals = UInt8(ascii: "=")

    /// Whether the byte is an HTTP token code point (WHATWG MIME Sniffing, section 3; `tchar` of RFC 9110 §5.6.2).
    static func isHTTPToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"): true
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        case UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Whether there is at least one byte and each is an HTTP token code point.
    static func isHTTPToken(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices where !isHTTPToken(bytes[index]) { return false }
        return !bytes.isEmpty
    }

    /// Whether the byte is HTTP whitespace: tab, line feed, carriage return or space (WHATWG Fetch, section 2.2).
    static func isHTTPWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// Whether the UTF-8 encodes only HTTP quoted-string token code points (WHATWG MIME Sniffing, section 3). `true`
    /// for no bytes at all.
    ///
    /// U+0080…U+00FF, the greatest of these code points, have the lead bytes 0xC2 and 0xC3.
    static func isHTTPQuotedStringToken(_ utf8: Span<UInt8>) -> Bool {
        for index in utf8.indices {
            switch utf8[index] {
            case 0x09, 0x20...0x7E, 0x80...0xBF, 0xC2, 0xC3: continue
            default: return false
            }
        }
        return true
    }

    /// The text that the UTF-8 encodes, with A–Z replaced by a–z and every other code point unchanged.
    static func lowercased(_ utf8: Span<UInt8>) -> String {
        text(utf8) { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// The text that the UTF-8 encodes.
    static func text(_ utf8: Span<UInt8>) -> String {
        text(utf8) { $0 }
    }

    /// Writes the bytes directly into the string, so that text of up to fifteen bytes needs no allocation.
    @inline(__always)
    private static func text(_ utf8: Span<UInt8>, _ transform: (UInt8) -> UInt8) -> String {
        unsafe String(unsafeUninitializedCapacity: utf8.count) { buffer in
            for index in utf8.indices { unsafe buffer[index] = transform(utf8[index]) }
            return utf8.count
        }
    }
}
