// SPDX-License-Identifier: Apache-2.0

/// Reads one JSON value from bytes: RFC 8259, or JSON5 if the dialect is extended.
///
/// The dialect `.json` is strict about syntax and tolerant of invalid Unicode. In strings, bytes that are not UTF-8 and
/// unpaired surrogates in `\u` escapes become U+FFFD (as in the conversion to a USVString, Web IDL).
///
/// Foundation's decoder is not used because it rejects unpaired surrogates, loses the original text of numbers, and
/// does not report the positions of values.
package struct JSONParser {
    let bytes: [UInt8]
    let dialect: JSONDialect
    var position = 0

    private let leftOut: String?

    init(bytes: [UInt8], dialect: JSONDialect, leftOut: String? = nil) {
        self.bytes = bytes
        self.dialect = dialect
        self.leftOut = leftOut
    }

    /// - Parameter leftOut: a member of the outermost object whose value becomes null. Only the syntax of that value is
    ///   checked; duplicate names inside it are not detected.
    /// - Throws: the error and its offset.
    /// - Complexity: linear in the length of the text.
    package static func parse(
        _ bytes: [UInt8], _ dialect: JSONDialect = .json, leavingOut leftOut: String? = nil
    ) throws(JSONError) -> JSONValue {
        var parser = JSONParser(bytes: bytes, dialect: dialect, leftOut: leftOut)
        if !dialect.repairsText { try parser.checkUnicode() }
        let value = try parser.value(depth: 0)
        try parser.skipWhitespace()
        guard parser.position == bytes.count else { throw parser.error(.trailingText) }
        return value
    }

    mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= dialect.depthLimit else { throw error(.tooDeep) }
        try skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["):
            var values: [JSONValue] = []
            try elements { (parser) throws(JSONError) in values.append(try parser.value(depth: depth + 1)) }
            return .array(values)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "'") where dialect.isExtended: return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try dialect.isExtended ? extendedNumber() : number()
        }
    }

    /// Skips a value. Applies the same syntax checks as reading.
    private mutating func skipValue(depth: Int) throws(JSONError) {
        guard depth <= dialect.depthLimit else { throw error(.tooDeep) }
        try skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"):
            try members(
                named: { (parser) throws(JSONError) in try parser.skipName() },
                { (parser, _, _) throws(JSONError) in try parser.skipValue(depth: depth + 1) })
        case UInt8(ascii: "["): try elements { (parser) throws(JSONError) in try parser.skipValue(depth: depth + 1) }
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "'") where dialect.isExtended: try skipString()
        default: _ = try value(depth: depth)
        }
    }

    private mutating func skipName() throws(JSONError) {
        switch try peek() {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "'") where dialect.isExtended: try skipString()
        default: _ = try name()
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        var values: [JSONValue.Member] = []
        // Most objects have few members, and need no hash table.
        var names: Set<[UInt8]> = []
        try members { (parser, name, offset) throws(JSONError) in
            if !parser.dialect.allowsDuplicates {
                if values.count == 16 { names = Set(values.map { Array($0.name.utf8) }) }
                let isTaken = values.count < 16 ? values.contains { $0.isNamed(name) } : !names.insert(Array(name.utf8)).inserted
                if isTaken { throw JSONError(problem: .duplicateName, offset: offset) }
            }
            let isLeftOut = depth == 0 && parser.leftOut.map(name.hasSameBytes) ?? false
            if isLeftOut { try parser.skipValue(depth: 1) }
            values.append(JSONValue.Member(name: name, value: isLeftOut ? .null : try parser.value(depth: depth + 1)))
        }
        return .object(values)
    }

    /// Iterates over the object that starts here. For each member, `body` gets the name and the name's offset, and
    /// reads the value.
    mutating func members(_ body: (inout JSONParser, String, Int) throws(JSONError) -> Void) throws(JSONError) {
        try members(named: { (parser) throws(JSONError) in try parser.name() }, body)
    }

    private mutating func members<Name>(
        named read: (inout JSONParser) throws(JSONError) -> Name, _ body: (inout JSONParser, Name, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        position += 1
        try skipWhitespace()
        if try take(UInt8(ascii: "}")) { return }
        while true {
            try skipWhitespace()
            let offset = position
            let name = try read(&self)
            try skipWhitespace()
            guard try take(UInt8(ascii: ":")) else { throw error(.missingColon) }
            try skipWhitespace()
            try body(&self, name, offset)
            guard try goesOn(to: UInt8(ascii: "}")) else { return }
        }
    }

    /// Iterates over the array that starts here. For each element, `body` reads the value.
    mutating func elements(_ body: (inout JSONParser) throws(JSONError) -> Void) throws(JSONError) {
        position += 1
        try skipWhitespace()
        if try take(UInt8(ascii: "]")) { return }
        while true {
            try skipWhitespace()
            try body(&self)
            guard try goesOn(to: UInt8(ascii: "]")) else { return }
        }
    }

    /// Reads a comma or `end`.
    ///
    /// - Returns: whether another item follows.
    private mutating func goesOn(to end: UInt8) throws(JSONError) -> Bool {
        try skipWhitespace()
        if try take(end) { return false }
        guard try take(UInt8(ascii: ",")) else { throw error(.missingComma) }
        guard dialect.isExtended else { return true }
        try skipWhitespace()
        return try !take(end)
    }

    private mutating func name() throws(JSONError) -> String {
        switch try peek() {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "'") where dialect.isExtended: try string()
        case _ where dialect.isExtended: try identifier()
        default: throw error(.unexpectedByte)
        }
    }

    mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
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
            // Only a point or an exponent may follow a leading zero.
        } else {
            try digits(orElse: position == start ? .unexpectedByte : .badNumber)
        }
        if skip(UInt8(ascii: ".")) { try digits(orElse: .badNumber) }
        try exponent()
        return .number(text(from: start))
    }

    mutating func exponent() throws(JSONError) {
        guard skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) else { return }
        if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
        try digits(orElse: .badNumber)
    }

    mutating func digits(orElse problem: JSONError.Problem) throws(JSONError) {
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
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func skipWhitespace() throws(JSONError) {
        while position < bytes.count, Self.isWhitespace(bytes[position]) { position += 1 }
        guard dialect.isExtended, position < bytes.count else { return }
        // These bytes start extended white space: a comment, VT, FF, or a character beyond ASCII.
        switch bytes[position] {
        case UInt8(ascii: "/"), 0x0B, 0x0C, 0x80...: try skipExtendedWhitespace()
        default: return
        }
    }

    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    func error(_ problem: JSONError.Problem) -> JSONError { JSONError(problem: problem, offset: position) }
}
