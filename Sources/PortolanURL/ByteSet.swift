// SPDX-License-Identifier: Apache-2.0

/// A set of ASCII bytes, with or without all bytes beyond ASCII.
///
/// Each set of the URL Standard treats all code points beyond ASCII alike, so two words of bits and a Boolean are
/// enough.
struct ByteSet: Sendable, Hashable {
    /// One bit for each byte below 64.
    private var low: UInt64 = 0
    /// One bit for each byte from 64 to 127.
    private var high: UInt64 = 0
    private var containsNonASCII = false

    /// Makes the set of the ASCII characters in `characters`.
    init(_ characters: String) {
        for byte in characters.utf8 { insert(byte) }
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        if byte >= 0x80 { return containsNonASCII }
        return ((byte < 64 ? low : high) &>> UInt64(byte & 63)) & 1 != 0
    }

    /// Returns the set with all bytes above 0x7F added.
    func includingNonASCII() -> ByteSet {
        var result = self
        result.containsNonASCII = true
        return result
    }

    mutating func insert(_ byte: UInt8) {
        guard byte < 0x80 else { return }
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
    }

    func union(_ other: ByteSet) -> ByteSet {
        var result = self
        result.low |= other.low
        result.high |= other.high
        result.containsNonASCII = containsNonASCII || other.containsNonASCII
        return result
    }

    func union(_ characters: String) -> ByteSet { union(ByteSet(characters)) }
}

/// The percent-encode sets: the bytes that must be percent-encoded in a component.
///
/// WHATWG URL §1.3
extension ByteSet {
    static let c0ControlSet: ByteSet = {
        var set = ByteSet("\u{7F}")
        for byte in UInt8(0)...0x1F { set.insert(byte) }
        return set.includingNonASCII()
    }()
    static let fragmentSet = c0ControlSet.union(" \"<>`")
    static let querySet = c0ControlSet.union(" \"#<>")
    static let specialQuerySet = querySet.union("'")
    static let pathSet = querySet.union("?^`{}")
    static let userinfoSet = pathSet.union("/:;=@[\\]|")
}

/// The bytes that a host must not contain.
///
/// WHATWG URL §3.1
extension ByteSet {
    static let forbiddenInHost = ByteSet("\0\t\n\r #/:<>?@[\\]^|")
    static let forbiddenInDomain = forbiddenInHost.union(c0ControlSet).union("%")
    /// Bytes that prevent a domain from being kept unchanged: forbidden, percent-encoded, upper-case, or beyond ASCII.
    static let mustBeConvertedInDomain = forbiddenInDomain.union("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

extension UInt8 {
    var isASCIIDigit: Bool { self &- 0x30 < 10 }
    var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }
    var isASCIIUppercase: Bool { self &- 0x41 < 26 }
    var isTabOrNewline: Bool { self == 0x09 || self == 0x0A || self == 0x0D }
    /// The letter in lower case; any other byte unchanged.
    var lowercasedASCII: UInt8 { isASCIIUppercase ? self | 0x20 : self }

    /// Whether the byte may occur in a scheme after the first letter.
    var isSchemeByte: Bool {
        isASCIILetter || isASCIIDigit || self == UInt8(ascii: "+") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }

    /// The value of a hexadecimal digit, or nil.
    var hexDigitValue: UInt8? {
        if isASCIIDigit { return self - 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter + 10 : nil
    }

    /// The digit for a value of 0 to 15, in upper case as percent-encoding requires.
    static func uppercaseHexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
    /// The digit for a value of 0 to 15, in lower case as IPv6 addresses require.
    static func lowercaseHexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}
