// SPDX-License-Identifier: Apache-2.0

/// Reads one JSON value (RFC 8259) from bytes.
///
/// Strict in what is JSON, forgiving in what is text: what is not Unicode in a string becomes U+FFFD, be it bytes that are no UTF-8 or a
/// surrogate without its partner in `\u` escapes (as the conversion to a USVString has it, Web IDL).
///
/// Written here because Foundation's decoder refuses lone surrogates, and loses how numbers were written.
struct JSONParser {
    private static let depthLimit = 512

    let bytes: [UInt8]
    var position = 0

    /// - Throws: what is wrong with the text, and where.
    /// - Complexity: linear in the length of the text.
    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        var parser = JSONParser(bytes: bytes)
        let value = try parser.value(depth: 0)
        parser.skipWhitespace()
        guard parser.position == bytes.count else { throw parser.error(.trailingText) }
        return value
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= Self.depthLimit else { throw error(.tooDeep) }
        skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        var members: [JSONValue.Member] = []
        position += 1
        skipWhitespace()
        if try take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipWhitespace()
            guard try peek() == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
            let name = try string()
            skipWhitespace()
            guard try take(UInt8(ascii: ":")) else { throw error(.unexpectedByte) }
            members.append(JSONValue.Member(name: name, value: try value(depth: depth + 1)))
            skipWhitespace()
            if try take(UInt8(ascii: "}")) { return .object(members) }
            guard try take(UInt8(ascii: ",")) else { throw error(.unexpectedByte) }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        position += 1
        skipWhitespace()
        if try take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipWhitespace()
            if try take(UInt8(ascii: "]")) { return .array(elements) }
            guard try take(UInt8(ascii: ",")) else { throw error(.unexpectedByte) }
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for byte in word.description.utf8 {
            guard try take(byte) else { throw error(.unexpectedByte) }
        }
        return value
    }

    /// RFC 8259 §6
    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        skip(UInt8(ascii: "-"))
        if skip(UInt8(ascii: "0")) {
            // Nothing but a point or an exponent may follow.
        } else {
            try digits(orElse: position == start ? .unexpectedByte : .badNumber)
        }
        if skip(UInt8(ascii: ".")) { try digits(orElse: .badNumber) }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            try digits(orElse: .badNumber)
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits(orElse problem: JSONError.Problem) throws(JSONError) {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) { position += 1 }
        guard position > start else { throw error(position < bytes.count ? problem : .unexpectedEnd) }
    }
}

extension JSONParser {
    func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    mutating func take(_ byte: UInt8) throws(JSONError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhitespace() {
        while position < bytes.count, Self.isWhitespace(bytes[position]) { position += 1 }
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    func error(_ problem: JSONError.Problem) -> JSONError { JSONError(problem: problem, offset: position) }
}
