// SPDX-License-Identifier: Apache-2.0

import PortolanHTTPSyntax

/// The filename that a server proposes for a response.
///
/// The field is parsed as in browsers, more leniently than the grammar. A value without quotes ends at the next
/// semicolon, and a malformed parameter is skipped. Without a disposition type there is no filename.
///
/// RFC 6266; RFC 8187 for `filename*`
struct ContentDisposition {
    /// The last path segment. `_` replaces leading dots, which would hide the file, and leading spaces. The name can
    /// still contain characters that a file system does not allow: see ``Response/suggestedFilename``.
    let filename: String?

    /// The maximum length of the field in bytes. Longer fields are ignored. A filename has at most 255 bytes.
    private static let maximumByteCount = 8 << 10

    init?(parsing octets: [UInt8]) {
        guard octets.count <= Self.maximumByteCount else { return nil }
        var reader = DispositionReader(octets)
        guard reader.readType() else { return nil }
        var plain: String?
        var extended: String?
        while let parameter = reader.nextParameter() {
            switch parameter.name {
            case "filename": plain = plain ?? Self.text(of: parameter.value)
            case "filename*" where !parameter.isQuoted: extended = extended ?? Self.extendedText(of: parameter.value)
            default: break
            }
        }
        // `filename*` takes precedence (RFC 6266 §4.3).
        filename = (extended ?? plain).flatMap(Self.lastSegment)
    }

    /// Decodes UTF-8, or ISO-8859-1 if the value is not UTF-8 (RFC 6266 §4.3 and appendix C).
    private static func text(of value: [UInt8]) -> String {
        String(validating: value, as: UTF8.self) ?? latin1(value)
    }

    private static func latin1(_ octets: [UInt8]) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: octets.lazy.map { Unicode.Scalar($0) })
        return String(scalars)
    }

    /// Decodes `charset'language'value`, percent-encoded. Returns `nil` for anything else (RFC 8187 §3.2.1).
    private static func extendedText(of value: [UInt8]) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let octets = percentDecoded(parts[2]) else { return nil }
        return switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": String(validating: octets, as: UTF8.self)
        case "iso-8859-1": latin1(octets)
        default: nil
        }
    }

    /// Decodes `attr-char` and percent-encoded octets. Returns `nil` if there is any other octet.
    private static func percentDecoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var octets: [UInt8] = []
        var rest = text
        while let octet = rest.popFirst() {
            switch octet {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else { return nil }
                octets.append(high << 4 | low)
            case UInt8(ascii: "*"), UInt8(ascii: "'"): return nil
            default:
                guard octet.isTokenOctet else { return nil }
                octets.append(octet)
            }
        }
        return octets
    }

    /// The part after the last slash or backslash. `_` replaces leading dots, which would hide the file, and leading
    /// spaces. `nil` if nothing else is left.
    private static func lastSegment(of name: String) -> String? {
        let segment = name.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? ""
        let visible = segment.drop { $0 == "." || $0 == " " }
        if visible.isEmpty { return nil }
        return visible.startIndex == segment.startIndex ? String(visible) : "_" + visible
    }
}

/// Parses a field's value.
private struct DispositionReader {
    struct Parameter {
        /// In lower case.
        let name: String
        let value: [UInt8]
        let isQuoted: Bool
    }

    private var rest: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { rest = octets[...] }

    /// Reads the disposition type. Returns whether the value starts with one.
    mutating func readType() -> Bool {
        skipBlanks()
        guard !readToken().isEmpty else { return false }
        skipBlanks()
        return rest.isEmpty || rest.first == .semicolon
    }

    mutating func nextParameter() -> Parameter? {
        while !rest.isEmpty {
            skipToSemicolon()
            skipBlanks()
            let name = readToken()
            skipBlanks()
            guard !name.isEmpty, rest.first == .equals else { continue }
            rest.removeFirst()
            skipBlanks()
            let isQuoted = rest.first == .quote
            guard let value = isQuoted ? readQuoted() : readPlain() else { continue }
            return Parameter(name: String(decoding: name, as: UTF8.self).lowercased(), value: value, isQuoted: isQuoted)
        }
        return nil
    }

    private mutating func readToken() -> ArraySlice<UInt8> {
        let token = rest.prefix { $0.isTokenOctet }
        rest = rest.dropFirst(token.count)
        return token
    }

    private mutating func skipBlanks() { rest = rest.drop { $0.isBlank } }

    /// Skips past the next semicolon that is not in quotes.
    private mutating func skipToSemicolon() {
        while let octet = rest.popFirst(), octet != .semicolon {
            if octet == .quote { skipQuoted() }
        }
    }

    private mutating func skipQuoted() {
        while let octet = rest.popFirst(), octet != .quote {
            if octet == .backslash { rest = rest.dropFirst() }
        }
    }

    /// Returns `nil` if the closing quote is missing.
    private mutating func readQuoted() -> [UInt8]? {
        var value: [UInt8] = []
        rest.removeFirst()
        while let octet = rest.popFirst() {
            if octet == .quote { return value }
            if octet == .backslash, let escaped = rest.popFirst() { value.append(escaped) } else { value.append(octet) }
        }
        return nil
    }

    /// Reads up to the semicolon, without the blanks before it.
    private mutating func readPlain() -> [UInt8]? {
        var value = rest.prefix { $0 != .semicolon }
        rest = rest.dropFirst(value.count)
        while let last = value.last, last.isBlank { value.removeLast() }
        return value.isEmpty ? nil : Array(value)
    }
}
