// SPDX-License-Identifier: Apache-2.0

extension JSONParser {
    /// Reads the string whose opening quote is next.
    mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        try skipPlainText()
        guard try peek() == UInt8(ascii: "\\") else {
            defer { position += 1 }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
        var text = Array(bytes[start..<position])
        while try peek() == UInt8(ascii: "\\") {
            position += 1
            try appendEscape(to: &text)
            let plain = position
            try skipPlainText()
            text += bytes[plain..<position]
        }
        position += 1
        return String(decoding: text, as: UTF8.self)
    }

    /// Moves to the next quote or backslash.
    private mutating func skipPlainText() throws(JSONError) {
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            guard byte >= 0x20 else { throw error(.controlCharacter) }
            position += 1
        }
        throw error(.unexpectedEnd)
    }

    /// Appends what the escape stands for, of which the backslash is read.
    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONError) {
        let letter = try peek()
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            text += String(try scalar()).utf8
            return
        default: throw error(.badEscape)
        }
        position += 1
    }

    /// The scalar of a `\u` escape whose digits are next, with the second escape where the first is half a pair.
    private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
        let replacement: Unicode.Scalar = "\u{FFFD}"
        let unit = try codeUnit()
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? replacement }
        let afterFirst = position
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else {
            return replacement
        }
        position += 2
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else {
            position = afterFirst
            return replacement
        }
        return Unicode.Scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(second & 0x3FF))) ?? replacement
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let digit = try peek()
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: throw error(.badEscape)
            }
            unit = unit << 4 | UInt16(value)
            position += 1
        }
        return unit
    }
}
