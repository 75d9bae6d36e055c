// SPDX-License-Identifier: Apache-2.0

/// Iterates over the elements of a comma-separated list, without the blanks around them. Skips empty elements.
///
/// A comma within a quoted string does not separate elements.
///
/// RFC 9110 §5.6.1.2
struct ListElements {
    private var position: Int

    init(of value: Span<UInt8>) { position = 0 }

    mutating func next(in value: Span<UInt8>) -> Range<Int>? {
        while position < value.count {
            let start = position
            var isQuoted = false
            while position < value.count, isQuoted || value[position] != .comma {
                if value[position] == .quote { isQuoted.toggle() }
                if isQuoted, value[position] == .backslash { position += 1 }
                position += 1
            }
            let element = value.trimmed(start..<min(position, value.count))
            position += 1
            if !element.isEmpty { return element }
        }
        return nil
    }
}

/// The optional parameters after a coding or a chunk size. A semicolon precedes each one.
enum Parameters {
    /// Whether the octets are `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`.
    static func areValid(_ octets: Span<UInt8>) -> Bool {
        var scanner = ParameterScanner()
        for index in octets.indices where !scanner.consume(octets[index]) { return false }
        return scanner.isComplete
    }
}

/// Validates parameters octet by octet. Stores nothing.
///
/// RFC 9112 §7 (`transfer-parameter`), §7.1.1 (`chunk-ext`)
struct ParameterScanner {
    private enum State: Sendable {
        case beforeSemicolon, beforeName, name, beforeEquals, beforeValue, value, quoted, escaped, afterQuote
    }

    private var state = State.beforeSemicolon

    /// Whether the parameters can end here.
    var isComplete: Bool {
        switch state {
        case .beforeSemicolon, .name, .beforeEquals, .value, .afterQuote: true
        case .beforeName, .beforeValue, .quoted, .escaped: false
        }
    }

    /// Whether the input had only blanks.
    var isEmpty: Bool { state == .beforeSemicolon }

    /// Consumes one octet. Returns `false` if the octet is not allowed here.
    mutating func consume(_ octet: UInt8) -> Bool {
        switch state {
        case .beforeSemicolon, .afterQuote:
            if octet == .semicolon { state = .beforeName } else { return octet.isBlank }
        case .beforeName:
            if octet.isTokenOctet { state = .name } else { return octet.isBlank }
        case .name:
            if octet.isTokenOctet { return true }
            return consumeAfterName(octet)
        case .beforeEquals:
            return consumeAfterName(octet)
        case .beforeValue:
            if octet == .quote { state = .quoted } else if octet.isTokenOctet { state = .value } else { return octet.isBlank }
        case .value:
            if octet.isTokenOctet { return true }
            if octet == .semicolon { state = .beforeName } else { state = .afterQuote }
            return octet == .semicolon || octet.isBlank
        case .quoted:
            if octet == .quote { state = .afterQuote } else if octet == .backslash { state = .escaped } else { return octet.isQuotedText }
        case .escaped:
            state = .quoted
            return octet.isFieldOctet
        }
        return true
    }

    private mutating func consumeAfterName(_ octet: UInt8) -> Bool {
        switch octet {
        case .semicolon: state = .beforeName
        case .equals: state = .beforeValue
        default:
            state = .beforeEquals
            return octet.isBlank
        }
        return true
    }
}
