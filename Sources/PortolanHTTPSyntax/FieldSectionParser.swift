// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Parses the field lines of a head or of trailers, up to the empty line.
///
/// Strict rules: a name is a token, and a line has a colon. Lenient where a client may be: LF alone ends a line (RFC
/// 9112 §2.2); a line that starts with a blank continues the previous line, joined with one SP (§5.2); blanks before
/// the colon are dropped, as a proxy would (§5.1). A value keeps control characters other than NUL, CR and LF (RFC 9110
/// §5.5). It also keeps octets above 0x7F unchanged.
///
/// A reused parser starts with the fields of the previous section. A line that equals the previous section's line at
/// the same index then costs one comparison.
struct FieldSectionParser {
    /// The first `count` fields belong to this section. Until the section ends, fields of the previous section may
    /// follow.
    private(set) var fields = HTTPFields()
    private var count = 0
    /// The lines from which the first elements of `fields` were parsed.
    private var recent = RecentLines()
    private(set) var framing = FramingFields()
    private var lines = LineReader()
    /// Remaining bytes that the section may have.
    private var remaining: Int
    private let largestSection: Int
    private let longestLine: Int
    private let mostFields: Int
    private let sectionRule: ResponseSyntaxError.Rule
    /// The value of the last field, once a continuation line has extended it.
    private var continued: [UInt8]?
    private var hasContinuedFramingField = false
    private var lastRole = FramingRole.none
    private let names = FieldNameTable.common

    init(headWithin limits: HTTPLimits) {
        self.init(limits, section: limits.maximumFieldSectionBytes, rule: .fieldSectionTooLarge)
        fields.reserveCapacity(min(mostFields, 16))
    }

    init(trailersWithin limits: HTTPLimits) {
        self.init(limits, section: limits.maximumTrailerSectionBytes, rule: .trailerSectionTooLarge)
    }

    private init(_ limits: HTTPLimits, section: Int, rule: ResponseSyntaxError.Rule) {
        largestSection = max(0, section)
        remaining = largestSection
        longestLine = limits.maximumFieldLineBytes
        mostFields = min(limits.maximumFieldCount, 60_000)  // HTTPFields traps at 65,535
        sectionRule = rule
    }

    /// Prepares for the next section.
    mutating func startAgain() {
        count = 0
        framing = FramingFields()
        remaining = largestSection
        hasContinuedFramingField = false
    }

    /// Consumes lines from `offset` on. Returns true after the empty line; `offset` is then behind it.
    mutating func parse(_ input: Span<UInt8>, from offset: inout Int) throws(ResponseSyntaxError) -> Bool {
        while true {
            // Each line counts two bytes for its end. The empty line counts none.
            let isLineLimit = longestLine <= remaining - 2
            let limit = max(0, isLineLimit ? longestLine : remaining - 2)
            let line = try lines.next(in: input, from: &offset, atMost: limit, orBreak: isLineLimit ? .fieldLineTooLong : sectionRule)
            switch line {
            case nil: return false
            case .inInput(let range): if try take(input.extracting(range)) { return true }
            case .assembled(let octets): if try take(octets.span) { return true }
            }
        }
    }

    /// - Returns: whether the line is empty.
    @inline(__always)
    private mutating func take(_ line: Span<UInt8>) throws(ResponseSyntaxError) -> Bool {
        guard !line.isEmpty else {
            end()
            return true
        }
        remaining -= line.count + 2
        if line[0].isBlank {
            try takeContinuation(line)
        } else {
            if continued != nil { endContinuation() }
            try takeField(line)
        }
        return false
    }

    private mutating func end() {
        endContinuation()
        if count < fields.count {
            fields.removeLast(fields.count - count)
            recent.forget(from: count)
        }
        if hasContinuedFramingField { noteFramingAgain() }
    }

    // MARK: A field

    @inline(__always)
    private mutating func takeField(_ line: Span<UInt8>) throws(ResponseSyntaxError) {
        if let role = recent.role(of: line, at: count) {
            lastRole = role
            if role != .none { unsafe fields[count].withUnsafeBytesOfValue { unsafe framing.note(role, $0.span) } }
            count += 1
        } else {
            try takeNewField(line)
        }
    }

    private mutating func takeNewField(_ line: Span<UInt8>) throws(ResponseSyntaxError) {
        var nameEnd = 0
        while nameEnd < line.count, line[nameEnd].isTokenOctet { nameEnd += 1 }
        guard nameEnd < line.count else { throw ResponseSyntaxError(.missingColon, line) }
        var colon = nameEnd
        if line[colon] != .colon {
            while colon < line.count, line[colon].isBlank { colon += 1 }
            guard colon < line.count, line[colon] == .colon else { throw Self.faultOfName(line) }
        }
        guard nameEnd > 0 else { throw ResponseSyntaxError(.fieldName, line) }
        guard count < mostFields else { throw ResponseSyntaxError(.tooManyFields) }
        let value = line.extracting(line.trimmed(colon + 1..<line.count))
        try Self.validate(value, of: line)
        let (name, role) = try name(line.extracting(..<nameEnd))
        let field = Self.field(name, value)
        if count < fields.count { replaceField(at: count, with: field) } else { fields.append(field) }
        if colon == nameEnd {
            recent.keep(line, role, at: count)
        } else {
            framing.isSuspect = true
            recent.forget(from: count)
        }
        count += 1
        lastRole = role
        if role != .none { framing.note(role, value) }
    }

    /// Replaces a field even if `HTTPFields` considers both equal. `HTTPFields` does not store a field that equals the
    /// existing one, for example with the name in another case or with a text that Unicode considers the same.
    private mutating func replaceField(at place: Int, with field: HTTPField) {
        if fields[place] == field { fields[place] = HTTPField(name: field.name, value: field.value.isEmpty ? "-" : "") }
        fields[place] = field
    }

    private static func faultOfName(_ line: Span<UInt8>) -> ResponseSyntaxError {
        for index in line.indices where line[index] == .colon { return ResponseSyntaxError(.fieldName, line) }
        return ResponseSyntaxError(.missingColon, line)
    }

    @inline(__always)
    private static func validate(_ value: Span<UInt8>, of line: Span<UInt8>) throws(ResponseSyntaxError) {
        for index in value.indices where value[index] == 0 || value[index] == .carriageReturn {
            throw ResponseSyntaxError(.fieldValue, line)
        }
    }

    @inline(__always)
    private func name(_ octets: Span<UInt8>) throws(ResponseSyntaxError) -> (HTTPField.Name, FramingRole) {
        if let common = names.find(octets) { return common }
        guard let name = HTTPField.Name(octets.latin1Text) else { throw ResponseSyntaxError(.fieldName, octets) }
        return (name, FramingRole(of: name))
    }

    /// Stores visible ASCII and spaces as text, which is fast, and any other value as bytes.
    @inline(__always)
    private static func field(_ name: HTTPField.Name, _ value: Span<UInt8>) -> HTTPField {
        for index in value.indices where !(0x20..<0x7F).contains(value[index]) {
            return unsafe value.withUnsafeBufferPointer { unsafe HTTPField(name: name, lenientValue: $0) }
        }
        return HTTPField(name: name, value: value.utf8Text)
    }

    // MARK: Lines that continue a field

    private mutating func takeContinuation(_ line: Span<UInt8>) throws(ResponseSyntaxError) {
        guard count > 0 else { throw ResponseSyntaxError(.blankBeforeFirstField, line) }
        recent.forget(from: count - 1)
        let more = line.extracting(line.trimmed(0..<line.count))
        try Self.validate(more, of: line)
        var value = continued ?? (unsafe fields[count - 1].withUnsafeBytesOfValue { unsafe [UInt8]($0) })
        guard value.count + 1 + more.count <= longestLine else { throw ResponseSyntaxError(.fieldLineTooLong) }
        continued = nil  // so that the append happens in place
        value.append(.space)
        unsafe more.withUnsafeBufferPointer { unsafe value.append(contentsOf: $0) }
        continued = value
        if lastRole != .none { hasContinuedFramingField = true }
    }

    private mutating func endContinuation() {
        guard let continued else { return }
        let value = continued.span.extracting(continued.span.trimmed(0..<continued.count))
        replaceField(at: count - 1, with: Self.field(fields[count - 1].name, value))
        self.continued = nil
    }

    /// Records the framing fields again, because only the first line of a continued value was recorded.
    private mutating func noteFramingAgain() {
        framing = FramingFields()
        framing.isSuspect = true
        for field in fields {
            let role = FramingRole(of: field.name)
            if role != .none { unsafe field.withUnsafeBytesOfValue { unsafe framing.note(role, $0.span) } }
        }
    }
}
