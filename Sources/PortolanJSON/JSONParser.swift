// SPDX-License-Identifier: Apache-2.0

/// Reads one JSON value from bytes: RFC 8259, or JSON5 if the dialect is extended.
///
/// The dialect `.json` is strict about syntax and tolerates invalid Unicode. In strings, bytes that are not UTF-8 and
/// unpaired surrogates in `\u` escapes become U+FFFD (as for a USVString in Web IDL).
///
/// This replaces Foundation's decoder, which rejects unpaired surrogates, loses the original text of numbers, and does
/// not report the positions of values.
package struct JSONParser {
    let bytes: [UInt8]
    let dialect: JSONDialect
    var position = 0

    private let omittedName: String?

    init(bytes: [UInt8], dialect: JSONDialect, omittedName: String? = nil) {
        self.bytes = bytes
        self.dialect = dialect
        self.omittedName = omittedName
    }

    /// - Parameter omittedName: the name of a member of the outermost object. Its value becomes null. The parser checks
    ///   only the syntax of that value, and does not detect duplicate names inside it. `nil` omits no value.
    /// - Throws: why the parser rejects the text, and where.
    /// - Complexity: linear in the length of the text.
    package static func parse(
        _ bytes: [UInt8], _ dialect: JSONDialect = .json, omitting omittedName: String? = nil
    ) throws(JSONError) -> JSONValue {
        var parser = JSONParser(bytes: bytes, dialect: dialect, omittedName: omittedName)
        if !dialect.repairsText { try parser.checkUnicode() }
        let value = try parser.readValue(depth: 0)
        try parser.skipWhitespace()
        guard parser.position == bytes.count else { throw parser.error(.trailingText) }
        return value
    }

    mutating func readValue(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= dialect.depthLimit else { throw error(.tooDeep) }
        try skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"): return try readObject(depth: depth)
        case UInt8(ascii: "["):
            var values: [JSONValue] = []
            try forEachElement { (parser) throws(JSONError) in values.append(try parser.readValue(depth: depth + 1)) }
            return .array(values)
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "'") where dialect.isExtended: return .string(try readString())
        case UInt8(ascii: "t"): return try readKeyword("true", .bool(true))
        case UInt8(ascii: "f"): return try readKeyword("false", .bool(false))
        case UInt8(ascii: "n"): return try readKeyword("null", .null)
        default: return try dialect.isExtended ? readExtendedNumber() : readNumber()
        }
    }

    /// Skips a value. Checks its syntax in the same way as `readValue`.
    private mutating func skipValue(depth: Int) throws(JSONError) {
        guard depth <= dialect.depthLimit else { throw error(.tooDeep) }
        try skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"):
            try forEachMember(
                readingName: { (parser) throws(JSONError) in try parser.skipName() },
                { (parser, _, _) throws(JSONError) in try parser.skipValue(depth: depth + 1) })
        case UInt8(ascii: "["): try forEachElement { (parser) throws(JSONError) in try parser.skipValue(depth: depth + 1) }
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "'") where dialect.isExtended: try skipString()
        default: _ = try readValue(depth: depth)
        }
    }

    private mutating func skipName() throws(JSONError) {
        switch try peek() {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "'") where dialect.isExtended: try skipString()
        default: _ = try readName()
        }
    }

    private mutating func readObject(depth: Int) throws(JSONError) -> JSONValue {
        var values: [JSONValue.Member] = []
        // Most objects have few members, and need no hash table.
        var names: Set<[UInt8]> = []
        try forEachMember { (parser, name, offset) throws(JSONError) in
            if !parser.dialect.allowsDuplicates {
                if values.count == 16 { names = Set(values.map { Array($0.name.utf8) }) }
                let isDuplicate = values.count < 16 ? values.contains { $0.isNamed(name) } : !names.insert(Array(name.utf8)).inserted
                if isDuplicate { throw JSONError(problem: .duplicateName, offset: offset) }
            }
            let isOmitted = depth == 0 && parser.omittedName.map(name.hasSameBytes) ?? false
            if isOmitted { try parser.skipValue(depth: 1) }
            values.append(JSONValue.Member(name: name, value: isOmitted ? .null : try parser.readValue(depth: depth + 1)))
        }
        return .object(values)
    }

    /// Reads the object that starts here. For each member, calls `body` with the name and its offset. `body` reads the
    /// value.
    mutating func forEachMember(_ body: (inout JSONParser, String, Int) throws(JSONError) -> Void) throws(JSONError) {
        try forEachMember(readingName: { (parser) throws(JSONError) in try parser.readName() }, body)
    }

    private mutating func forEachMember<Name>(
        readingName readName: (inout JSONParser) throws(JSONError) -> Name, _ body: (inout JSONParser, Name, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        position += 1
        try skipWhitespace()
        if try skipExpected(UInt8(ascii: "}")) { return }
        while true {
            try skipWhitespace()
            let offset = position
            let name = try readName(&self)
            try skipWhitespace()
            guard try skipExpected(UInt8(ascii: ":")) else { throw error(.missingColon) }
            try skipWhitespace()
            try body(&self, name, offset)
            guard try readSeparator(orEnd: UInt8(ascii: "}")) else { return }
        }
    }

    /// Reads the array that starts here. For each element, calls `body`, which reads the value.
    mutating func forEachElement(_ body: (inout JSONParser) throws(JSONError) -> Void) throws(JSONError) {
        position += 1
        try skipWhitespace()
        if try skipExpected(UInt8(ascii: "]")) { return }
        while true {
            try skipWhitespace()
            try body(&self)
            guard try readSeparator(orEnd: UInt8(ascii: "]")) else { return }
        }
    }

    /// Reads a comma or `end`.
    ///
    /// - Returns: whether another item follows.
    private mutating func readSeparator(orEnd end: UInt8) throws(JSONError) -> Bool {
        try skipWhitespace()
        if try skipExpected(end) { return false }
        guard try skipExpected(UInt8(ascii: ",")) else { throw error(.missingComma) }
        guard dialect.isExtended else { return true }
        try skipWhitespace()
        return try !skipExpected(end)
    }

    private mutating func readName() throws(JSONError) -> String {
        switch try peek() {
        case UInt8(ascii: "\""): try readString()
        case UInt8(ascii: "'") where dialect.isExtended: try readString()
        case _ where dialect.isExtended: try readIdentifier()
        default: throw error(.unexpectedByte)
        }
    }

    mutating func readKeyword(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for byte in word.description.utf8 {
            guard try skipExpected(byte) else { throw error(.unexpectedByte) }
        }
        return value
    }

    /// Reads a number (RFC 8259 §6).
    private mutating func readNumber() throws(JSONError) -> JSONValue {
        let start = position
        skip(UInt8(ascii: "-"))
        if skip(UInt8(ascii: "0")) {
            // Only a point or an exponent can follow a leading zero.
        } else {
            try skipDigits(orElse: position == start ? .unexpectedByte : .badNumber)
        }
        if skip(UInt8(ascii: ".")) { try skipDigits(orElse: .badNumber) }
        try skipExponent()
        return .number(text(from: start))
    }

    mutating func skipExponent() throws(JSONError) {
        guard skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) else { return }
        if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
        try skipDigits(orElse: .badNumber)
    }

    mutating func skipDigits(orElse problem: JSONError.Problem) throws(JSONError) {
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

    /// Skips `byte` if it is next. Throws at the end of the text.
    mutating func skipExpected(_ byte: UInt8) throws(JSONError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    /// Skips `byte` if it is next.
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
