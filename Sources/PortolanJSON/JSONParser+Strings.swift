// SPDX-License-Identifier: Apache-2.0

extension JSONParser {
    /// Reads a string, starting at its opening quote.
    mutating func readString() throws(JSONError) -> String {
        let quote = bytes[position]
        position += 1
        let start = position
        try skipPlainText(to: quote)
        guard try peek() == UInt8(ascii: "\\") else {
            defer { position += 1 }
            return text(from: start)
        }
        var text = Array(bytes[start..<position])
        while try peek() == UInt8(ascii: "\\") {
            position += 1
            try appendEscape(to: &text)
            let plainStart = position
            try skipPlainText(to: quote)
            text += bytes[plainStart..<position]
        }
        position += 1
        return String(decoding: text, as: UTF8.self)
    }

    /// Skips a string, starting at its opening quote.
    mutating func skipString() throws(JSONError) {
        let quote = bytes[position]
        position += 1
        try skipPlainText(to: quote)
        while try peek() == UInt8(ascii: "\\") {
            position += 1
            var escaped: [UInt8] = []
            try appendEscape(to: &escaped)
            try skipPlainText(to: quote)
        }
        position += 1
    }

    /// Skips to the closing quote or the next backslash.
    private mutating func skipPlainText(to quote: UInt8) throws(JSONError) {
        while position < bytes.count {
            let byte = bytes[position]
            if byte == quote || byte == UInt8(ascii: "\\") { return }
            // JSON5 forbids only line breaks.
            guard byte >= 0x20 || (dialect.isExtended && byte != 0x0A && byte != 0x0D) else { throw error(.controlCharacter) }
            position += 1
        }
        throw error(.unexpectedEnd)
    }

    /// Reads an escape after its backslash, and appends the decoded bytes.
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
            text += String(try readEscapedScalar()).utf8
            return
        case _ where dialect.isExtended: return try appendExtendedEscape(letter, to: &text)
        default: throw error(.badEscape)
        }
        position += 1
    }

    /// Decodes an escape that only JSON5 has. An escaped line break is dropped. Most other escaped characters stand for
    /// themselves.
    private mutating func appendExtendedEscape(_ letter: UInt8, to text: inout [UInt8]) throws(JSONError) {
        if isAtLineTerminator {
            let isReturn = letter == 0x0D
            position += isAtSeparator ? 3 : 1
            if isReturn { skip(0x0A) }
            return
        }
        switch letter {
        case UInt8(ascii: "v"): text.append(0x0B)
        case UInt8(ascii: "0"):
            position += 1
            guard position == bytes.count || !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) else {
                throw error(.badEscape)
            }
            return text.append(0)
        case UInt8(ascii: "x"):
            position += 1
            let value = try readHexadecimalDigits(2)
            text += String(Unicode.Scalar(UInt8(truncatingIfNeeded: value))).utf8
            return
        case UInt8(ascii: "1")...UInt8(ascii: "9"): throw error(.badEscape)
        default: text.append(letter)
        }
        position += 1
    }

    /// Reads the hexadecimal digits of a `\u` escape. If the escape is the first half of a surrogate pair, also reads
    /// the escape of the second half.
    private mutating func readEscapedScalar() throws(JSONError) -> Unicode.Scalar {
        let replacement: Unicode.Scalar = "\u{FFFD}"
        let start = position
        let unit = try readCodeUnit()
        if !dialect.repairsText, UTF16.isTrailSurrogate(unit) { throw JSONError(problem: .unpairedSurrogate, offset: start) }
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? replacement }
        let afterFirst = position
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else {
            guard dialect.repairsText else { throw JSONError(problem: .unpairedSurrogate, offset: start) }
            return replacement
        }
        position += 2
        let second = try readCodeUnit()
        guard UTF16.isTrailSurrogate(second) else {
            guard dialect.repairsText else { throw JSONError(problem: .unpairedSurrogate, offset: start) }
            position = afterFirst
            return replacement
        }
        return Unicode.Scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(second & 0x3FF))) ?? replacement
    }

    mutating func readCodeUnit() throws(JSONError) -> UInt16 { try readHexadecimalDigits(4) }

    private mutating func readHexadecimalDigits(_ count: Int) throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<count {
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
