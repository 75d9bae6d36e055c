// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Parses the field lines of a head or of trailers, up to the empty line.
///
/// Strict: a name must be a token, and a line must have a colon. Lenient where RFC 9112 allows it: LF without CR ends a
/// line (§2.2), a line that starts with a blank continues the previous line (§5.2), and blanks before the colon are
/// dropped (§5.1). A value keeps octets above 0x7F, and control characters other than NUL, CR and LF (RFC 9110 §5.5).
///
/// The parser reuses the fields of the previous section. A line that equals the previous section's line at the same
/// index costs only one comparison.
struct FieldSectionParser {
    /// The first `count` fields belong to the current section. Until that section ends, fields of the previous section
    /// can follow them.
    private(set) var fields = HTTPFields()
    private var count = 0
    /// The lines of the previous section.
    private var previousLines = RecentLines()
    private(set) var framing = FramingFields()
    private var lines = LineReader()
    /// The number of bytes that the section can still have.
    private var remainingBytes: Int
    private let maximumSectionSize: Int
    private let maximumLineLength: Int
    private let maximumFieldCount: Int
    private let sectionRule: ResponseSyntaxError.Rule
    /// The value of the last field, once a continuation line has extended it.
    private var continuedValue: [UInt8]?
    private var hasContinuedFramingField = false
    private var lastRole = FramingRole.none
    private let names = FieldNameTable.common

    init(headWithin limits: HTTPLimits) {
        self.init(limits, section: limits.maximumFieldSectionBytes, rule: .fieldSectionTooLarge)
        fields.reserveCapacity(min(maximumFieldCount, 16))
    }

    init(trailersWithin limits: HTTPLimits) {
        self.init(limits, section: limits.maximumTrailerSectionBytes, rule: .trailerSectionTooLarge)
    }

    private init(_ limits: HTTPLimits, section: Int, rule: ResponseSyntaxError.Rule) {
        maximumSectionSize = max(0, section)
        remainingBytes = maximumSectionSize
        maximumLineLength = limits.maximumFieldLineBytes
        maximumFieldCount = min(limits.maximumFieldCount, 60_000)  // HTTPFields traps at 65,535
        sectionRule = rule
    }

    /// Prepares for the next section.
    mutating func reset() {
        count = 0
        framing = FramingFields()
        remainingBytes = maximumSectionSize
        hasContinuedFramingField = false
    }

    /// Consumes lines from `offset` on.
    ///
    /// - Returns: whether the section is complete. Then `offset` is after the empty line.
    mutating func parse(_ input: Span<UInt8>, from offset: inout Int) throws(ResponseSyntaxError) -> Bool {
        while true {
            // Each line counts two bytes for its end. The empty line counts 0 bytes.
            let isLineLimit = maximumLineLength <= remainingBytes - 2
            let limit = max(0, isLineLimit ? maximumLineLength : remainingBytes - 2)
            let line = try lines.next(in: input, from: &offset, atMost: limit, orThrow: isLineLimit ? .fieldLineTooLong : sectionRule)
            switch line {
            case nil: return false
            case .inInput(let range): if try parseLine(input.extracting(range)) { return true }
            case .assembled(let octets): if try parseLine(octets.span) { return true }
            }
        }
    }

    /// - Returns: whether the line is empty.
    @inline(__always)
    private mutating func parseLine(_ line: Span<UInt8>) throws(ResponseSyntaxError) -> Bool {
        guard !line.isEmpty else {
            end()
            return true
        }
        remainingBytes -= line.count + 2
        if line[0].isBlank {
            try parseContinuation(line)
        } else {
            if continuedValue != nil { endContinuation() }
            try parseField(line)
        }
        return false
    }

    private mutating func end() {
        endContinuation()
        if count < fields.count {
            fields.removeLast(fields.count - count)
            previousLines.removeLines(from: count)
        }
        if hasContinuedFramingField { recordFramingAgain() }
    }

    // MARK: A field

    @inline(__always)
    private mutating func parseField(_ line: Span<UInt8>) throws(ResponseSyntaxError) {
        if let role = previousLines.role(of: line, at: count) {
            lastRole = role
            if role != .none { unsafe fields[count].withUnsafeBytesOfValue { unsafe framing.record(role, $0.span) } }
            count += 1
        } else {
            try parseNewField(line)
        }
    }

    private mutating func parseNewField(_ line: Span<UInt8>) throws(ResponseSyntaxError) {
        var nameEnd = 0
        while nameEnd < line.count, line[nameEnd].isTokenOctet { nameEnd += 1 }
        guard nameEnd < line.count else { throw ResponseSyntaxError(.missingColon, line) }
        var colon = nameEnd
        if line[colon] != .colon {
            while colon < line.count, line[colon].isBlank { colon += 1 }
            guard colon < line.count, line[colon] == .colon else { throw Self.nameError(in: line) }
        }
        guard nameEnd > 0 else { throw ResponseSyntaxError(.fieldName, line) }
        guard count < maximumFieldCount else { throw ResponseSyntaxError(.tooManyFields) }
        let value = line.extracting(line.trimmed(colon + 1..<line.count))
        try Self.validate(value, of: line)
        let (name, role) = try name(line.extracting(..<nameEnd))
        let field = Self.field(name, value)
        if count < fields.count { replaceField(at: count, with: field) } else { fields.append(field) }
        if colon == nameEnd {
            previousLines.store(line, role, at: count)
        } else {
            framing.isSuspect = true
            previousLines.removeLines(from: count)
        }
        count += 1
        lastRole = role
        if role != .none { framing.record(role, value) }
    }

    /// Replaces a field. `HTTPFields` ignores a new field that equals the existing one, for example if only the case of
    /// the name differs. So this method first sets another value.
    private mutating func replaceField(at index: Int, with field: HTTPField) {
        if fields[index] == field { fields[index] = HTTPField(name: field.name, value: field.value.isEmpty ? "-" : "") }
        fields[index] = field
    }

    private static func nameError(in line: Span<UInt8>) -> ResponseSyntaxError {
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

    /// Visible ASCII and spaces are stored as text, which is fast. Any other value is stored as bytes.
    @inline(__always)
    private static func field(_ name: HTTPField.Name, _ value: Span<UInt8>) -> HTTPField {
        for index in value.indices where !(0x20..<0x7F).contains(value[index]) {
            return unsafe value.withUnsafeBufferPointer { unsafe HTTPField(name: name, lenientValue: $0) }
        }
        return HTTPField(name: name, value: value.utf8Text)
    }

    // MARK: Lines that continue a field

    private mutating func parseContinuation(_ line: Span<UInt8>) throws(ResponseSyntaxError) {
        guard count > 0 else { throw ResponseSyntaxError(.blankBeforeFirstField, line) }
        previousLines.removeLines(from: count - 1)
        let continuation = line.extracting(line.trimmed(0..<line.count))
        try Self.validate(continuation, of: line)
        var value = continuedValue ?? (unsafe fields[count - 1].withUnsafeBytesOfValue { unsafe [UInt8]($0) })
        guard value.count + 1 + continuation.count <= maximumLineLength else { throw ResponseSyntaxError(.fieldLineTooLong) }
        continuedValue = nil  // so that `append` does not copy the array
        value.append(.space)
        unsafe continuation.withUnsafeBufferPointer { unsafe value.append(contentsOf: $0) }
        continuedValue = value
        if lastRole != .none { hasContinuedFramingField = true }
    }

    private mutating func endContinuation() {
        guard let continuedValue else { return }
        let value = continuedValue.span.extracting(continuedValue.span.trimmed(0..<continuedValue.count))
        replaceField(at: count - 1, with: Self.field(fields[count - 1].name, value))
        self.continuedValue = nil
    }

    /// Records the framing fields again, because only the first line of a continued value was recorded.
    private mutating func recordFramingAgain() {
        framing = FramingFields()
        framing.isSuspect = true
        for field in fields {
            let role = FramingRole(of: field.name)
            if role != .none { unsafe field.withUnsafeBytesOfValue { unsafe framing.record(role, $0.span) } }
        }
    }
}
