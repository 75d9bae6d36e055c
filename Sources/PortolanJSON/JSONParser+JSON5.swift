// SPDX-License-Identifier: Apache-2.0

/// The parts of JSON5 that JSON does not have (spec.json5.org): comments, more white space, names without quotes, and
/// more number formats.
extension JSONParser {
    func checkUnicode() throws(JSONError) {
        guard String(validating: bytes, as: UTF8.self) == nil else { return }
        var (decoder, iterator, offset) = (UTF8(), bytes.makeIterator(), 0)
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { offset += UTF8.width(scalar) }
        throw JSONError(problem: .notUnicode, offset: offset)
    }

    /// Skips white space and comments.
    mutating func skipExtendedWhitespace() throws(JSONError) {
        while position < bytes.count {
            let byte = bytes[position]
            if Self.isWhitespace(byte) || byte == 0x0B || byte == 0x0C {
                position += 1
            } else if byte == UInt8(ascii: "/") {
                try skipComment()
            } else if byte >= 0x80, let (scalar, length) = peekScalar(), Self.isExtendedSpace(scalar) {
                position += length
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(JSONError) {
        let start = position
        position += 1
        guard position < bytes.count else { throw JSONError(problem: .unexpectedByte, offset: start) }
        switch bytes[position] {
        case UInt8(ascii: "/"):
            while position < bytes.count, !isAtLineTerminator { position += 1 }
        case UInt8(ascii: "*"):
            position += 1
            while true {
                guard position + 1 < bytes.count else { throw JSONError(problem: .unterminatedComment, offset: start) }
                if bytes[position] == UInt8(ascii: "*"), bytes[position + 1] == UInt8(ascii: "/") { break }
                position += 1
            }
            position += 2
        default: throw JSONError(problem: .unexpectedByte, offset: start)
        }
    }

    /// Whether a line terminator is next: LF, CR, U+2028 or U+2029.
    var isAtLineTerminator: Bool {
        bytes[position] == 0x0A || bytes[position] == 0x0D || isAtSeparator
    }

    /// Whether U+2028 or U+2029 is next.
    var isAtSeparator: Bool {
        position + 2 < bytes.count && bytes[position] == 0xE2 && bytes[position + 1] == 0x80
            && (bytes[position + 2] == 0xA8 || bytes[position + 2] == 0xA9)
    }

    private static func isExtendedSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{FEFF}", "\u{2028}", "\u{2029}": true
        default: scalar.properties.generalCategory == .spaceSeparator
        }
    }

    /// The next code point, and its length in bytes. `nil` at the end of the text, and at bytes that are not UTF-8.
    func peekScalar() -> (Unicode.Scalar, Int)? {
        let rest = bytes[position..<min(position + 4, bytes.count)]
        var (decoder, iterator) = (UTF8(), rest.makeIterator())
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        return (scalar, UTF8.width(scalar))
    }

    /// Reads an IdentifierName (ECMAScript 5.1 §7.6).
    mutating func readIdentifier() throws(JSONError) -> String {
        var name = ""
        while position < bytes.count {
            let start = position
            guard let scalar = try readIdentifierScalar() else { break }
            guard Self.isIdentifier(scalar, atStart: name.isEmpty) else {
                position = start
                break
            }
            name.unicodeScalars.append(scalar)
        }
        guard !name.isEmpty else { throw error(.unexpectedByte) }
        return name
    }

    private mutating func readIdentifierScalar() throws(JSONError) -> Unicode.Scalar? {
        if skip(UInt8(ascii: "\\")) {
            guard skip(UInt8(ascii: "u")), let scalar = Unicode.Scalar(try readCodeUnit()) else { throw error(.badEscape) }
            return scalar
        }
        guard let (scalar, length) = peekScalar() else { return nil }
        position += length
        return scalar
    }

    private static func isIdentifier(_ scalar: Unicode.Scalar, atStart: Bool) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "$", "_": return true
        case "0"..."9", "\u{200C}", "\u{200D}": return !atStart
        default: break
        }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber: return true
        case .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation: return !atStart
        default: return false
        }
    }

    /// Reads a number and returns it in JSON's syntax. Keeps `Infinity` and `NaN`, which JSON does not have. The code
    /// that uses the value accepts or rejects them.
    mutating func readExtendedNumber() throws(JSONError) -> JSONValue {
        let sign = skip(UInt8(ascii: "-")) ? "-" : ""
        if sign.isEmpty { skip(UInt8(ascii: "+")) }
        switch try peek() {
        case UInt8(ascii: "I"): return try readKeyword("Infinity", .number(sign + "Infinity"))
        case UInt8(ascii: "N"): return try readKeyword("NaN", .number("NaN"))
        case UInt8(ascii: "0") where position + 1 < bytes.count && bytes[position + 1] | 0x20 == UInt8(ascii: "x"):
            position += 2
            return .number(sign + (try readHexadecimal()))
        default: return .number(sign + (try readDecimal()))
        }
    }

    private mutating func readHexadecimal() throws(JSONError) -> String {
        let start = position
        while position < bytes.count, Unicode.Scalar(bytes[position]).properties.isASCIIHexDigit { position += 1 }
        guard let value = UInt64(text(from: start), radix: 16) else { throw JSONError(problem: .badNumber, offset: start) }
        return String(value)
    }

    private mutating func readDecimal() throws(JSONError) -> String {
        let start = position
        var text = "0"
        if skip(UInt8(ascii: ".")) {
            try skipDigits(orElse: .badNumber)
            text += self.text(from: start)
        } else {
            if !skip(UInt8(ascii: "0")) { try skipDigits(orElse: .unexpectedByte) }
            text = self.text(from: start)
            let point = position
            if skip(UInt8(ascii: ".")), position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
                try skipDigits(orElse: .badNumber)
                text += self.text(from: point)
            }
        }
        let end = position
        try skipExponent()
        return text + self.text(from: end)
    }
}
