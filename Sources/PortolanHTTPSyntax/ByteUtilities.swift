// SPDX-License-Identifier: Apache-2.0

/// The octet classes of the HTTP/1.1 grammar.
///
/// RFC 9110 §5.6; RFC 5234 appendix B.1
extension UInt8 {
    static let tab = UInt8(ascii: "\t")
    package static let lineFeed = UInt8(ascii: "\n")
    package static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    package static let colon = UInt8(ascii: ":")
    static let comma = UInt8(ascii: ",")
    package static let semicolon = UInt8(ascii: ";")
    package static let equals = UInt8(ascii: "=")
    package static let quote = UInt8(ascii: "\"")
    package static let backslash = UInt8(ascii: "\\")

    /// Whether the octet is a `tchar`. The two masks have one bit for each of the 128 ASCII octets.
    @inline(__always)
    package var isTokenOctet: Bool {
        guard self < 0x80 else { return false }
        let mask: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return (mask &>> UInt64(self & 63)) & 1 != 0
    }

    /// Whether the octet is SP or HTAB, the octets of `OWS` and `BWS`.
    @inline(__always)
    package var isBlank: Bool { self == .space || self == .tab }

    package var isDecimalDigit: Bool { self &- 0x30 < 10 }

    /// Whether the octet can stand in a `quoted-string` without an escape: HTAB, SP, VCHAR and obs-text, except quote
    /// and backslash.
    var isQuotedText: Bool { self != .quote && self != .backslash && isFieldOctet }

    /// Whether the octet is HTAB, SP, VCHAR or obs-text. A field value consists of these octets.
    @inline(__always)
    package var isFieldOctet: Bool { self >= 0x20 ? self != 0x7F : self == .tab }

    /// The letter in lower case. Any other octet is unchanged.
    @inline(__always)
    package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// The value of a hexadecimal digit; `nil` for any other octet.
    @inline(__always)
    package var hexadecimalValue: UInt8? {
        if isDecimalDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }
}

extension Span<UInt8> {
    /// `range` without the blanks at both ends.
    @inline(__always)
    package func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        return start..<end
    }

    /// Whether the octets equal `text`, ignoring the case of letters. `text` is in lower case.
    package func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in indices where unsafe self[index].lowercased != text.utf8Start[index] { return false }
        return true
    }

    /// The octets decoded as ISO-8859-1.
    package var latin1Text: String {
        if isASCII { return utf8Text }
        var scalars = String.UnicodeScalarView()
        for index in indices { scalars.append(Unicode.Scalar(self[index])) }
        return String(scalars)
    }

    /// The octets decoded as UTF-8.
    @inline(__always)
    package var utf8Text: String {
        unsafe withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    @inline(__always)
    var isASCII: Bool {
        var union: UInt8 = 0
        for index in indices { union |= self[index] }
        return union < 0x80
    }
}

extension RawSpan {
    /// Calls `body` with the bytes as borrowed octets.
    @inline(__always)
    package func withOctets<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure) -> Result {
        try unsafe withUnsafeBytes { (bytes) throws(Failure) in
            try body(unsafe bytes.bindMemory(to: UInt8.self).span)
        }
    }
}
