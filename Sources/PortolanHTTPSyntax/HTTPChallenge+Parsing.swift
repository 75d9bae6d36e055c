// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPChallenge {
    /// Parses the challenges in all fields with this name, in their order.
    ///
    /// If a field is malformed, the part after the error is ignored. The challenge before the error keeps its complete
    /// parameters.
    ///
    /// - Complexity: linear in the bytes of the fields.
    package static func parse(_ name: HTTPField.Name, of fields: HTTPFields) -> [HTTPChallenge] {
        fields[fields: name].flatMap { field in
            unsafe field.withUnsafeBytesOfValue { unsafe parse($0.span) }
        }
    }

    /// The schemes in the fields of one name, in lower case and in their order, each once.
    package static func schemes(_ name: HTTPField.Name, of fields: HTTPFields) -> [String] {
        var schemes: [String] = []
        for challenge in parse(name, of: fields) where !schemes.contains(challenge.scheme) { schemes.append(challenge.scheme) }
        return schemes
    }

    /// Parses the parameters of the `Authentication-Info` field of a response (RFC 9110 §11.6.3).
    ///
    /// - Returns: the parameters of all lines, in a challenge with the scheme `info`; `nil` if the response does not
    ///   have the field.
    package static func information(in fields: HTTPFields) -> HTTPChallenge? {
        guard let name = HTTPField.Name("Authentication-Info") else { return nil }
        let lines = fields[fields: name].map { unsafe $0.withUnsafeBytesOfValue { unsafe Array($0) } }
        guard !lines.isEmpty else { return nil }
        // The field has the syntax of a challenge without a scheme.
        let value = Array("info ".utf8) + lines.joined(separator: Array(", ".utf8))
        return parse(value.span).first
    }

    static func parse(_ value: Span<UInt8>) -> [HTTPChallenge] {
        var scanner = ChallengeScanner()
        scanner.scan(value)
        return scanner.challenges
    }
}

/// Parses the value of one field.
private struct ChallengeScanner {
    private(set) var challenges: [HTTPChallenge] = []
    private var position = 0

    mutating func scan(_ value: Span<UInt8>) {
        var isAfterScheme = false
        while true {
            skip(in: value) { $0.isBlank || $0 == .comma && !isAfterScheme }
            if isAfterScheme, position < value.count, value[position] == .comma {
                isAfterScheme = false
                continue
            }
            guard position < value.count, let name = token(in: value) else { return }
            let end = position
            skip(in: value, while: \.isBlank)
            if position < value.count, value[position] == .equals {
                guard parseParameter(name, in: value), skipToEndOfElement(value) else { return }
                isAfterScheme = false
                continue
            }
            guard !isAfterScheme else { return }  // two schemes without a comma
            position = end
            challenges.append(HTTPChallenge(scheme: name))
            guard position < value.count, value[position] != .comma else { continue }
            guard value[position].isBlank else { return }
            skip(in: value, while: \.isBlank)
            if let token68 = token68(in: value) { challenges[challenges.count - 1].token68 = token68 } else { isAfterScheme = true }
        }
    }

    private mutating func skip(in value: Span<UInt8>, while condition: (UInt8) -> Bool) {
        while position < value.count, condition(value[position]) { position += 1 }
    }

    /// Reads the token at the position. Returns it in lower case.
    private mutating func token(in value: Span<UInt8>) -> String? {
        let start = position
        skip(in: value, while: \.isTokenOctet)
        guard position > start else { return nil }
        return value.extracting(start..<position).latin1Text.lowercased()
    }

    /// Reads `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`. If anything else follows in the element,
    /// the position does not change.
    private mutating func token68(in value: Span<UInt8>) -> String? {
        let start = position
        skip(in: value, while: \.isToken68Octet)
        guard position > start else { return nil }
        skip(in: value) { $0 == .equals }
        let text = value.extracting(start..<position).latin1Text
        guard skipToEndOfElement(value) else {
            position = start
            return nil
        }
        return text
    }

    /// Consumes blanks if a comma or the end of the value follows them.
    ///
    /// - Returns: whether a comma or the end of the value follows.
    private mutating func skipToEndOfElement(_ value: Span<UInt8>) -> Bool {
        let start = position
        skip(in: value, while: \.isBlank)
        if position == value.count || value[position] == .comma { return true }
        position = start
        return false
    }

    /// Reads the value after the equals sign, and adds the parameter to the last challenge.
    private mutating func parseParameter(_ name: String, in value: Span<UInt8>) -> Bool {
        guard !challenges.isEmpty, challenges[challenges.count - 1].token68 == nil else { return false }
        position += 1
        skip(in: value, while: \.isBlank)
        guard position < value.count else { return false }
        var text: [UInt8] = []
        if value[position] == .quote {
            guard parseQuotedString(value, into: &text) else { return false }
        } else {
            // Some servers also send values without quotes that are not tokens, such as Base64.
            let start = position
            skip(in: value) { $0 != .comma && $0 != .semicolon && $0 != .quote && !$0.isBlank && $0.isFieldOctet }
            guard position > start else { return false }
            for index in start..<position { text.append(value[index]) }
        }
        challenges[challenges.count - 1].parameters.append(HTTPChallenge.Parameter(name: name, octets: text))
        return true
    }

    /// Reads the quoted string at the position. Returns `false` if it has no end, or contains a forbidden octet.
    ///
    /// RFC 9110 §5.6.4
    private mutating func parseQuotedString(_ value: Span<UInt8>, into text: inout [UInt8]) -> Bool {
        position += 1
        while position < value.count {
            var octet = value[position]
            position += 1
            switch octet {
            case .quote: return true
            case .backslash:
                guard position < value.count else { return false }
                octet = value[position]
                position += 1
                guard octet.isFieldOctet else { return false }
            default: guard octet.isQuotedText else { return false }
            }
            text.append(octet)
        }
        return false
    }
}

extension UInt8 {
    /// Whether the octet can be part of a token68, apart from its padding.
    fileprivate var isToken68Octet: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: isDecimalDigit || lowercased &- 0x61 < 26
        }
    }
}
