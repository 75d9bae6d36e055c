// SPDX-License-Identifier: Apache-2.0

/// A header field, a trailer field, or the equivalent in another protocol.
public struct PluginField: Hashable, Sendable {
    public let name: String
    /// One character for each byte (ISO-8859-1), so that every byte is kept.
    public let value: String

    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Whether the host accepts the field: the name is a token, and the value has no control character except tab (RFC
    /// 9110 §5).
    public var isWellFormed: Bool {
        Syntax.isToken(name) && value.unicodeScalars.allSatisfy { ($0 >= " " || $0 == "\t") && $0 != "\u{7F}" && $0.value < 256 }
    }
}

/// Syntax checks for names and text. The host rejects text that fails them.
enum Syntax {
    /// Whether `text` is a token (RFC 9110 §5.6.2).
    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Whether `text` is `type/subtype` without parameters (RFC 9110 §8.3.1).
    static func isMediaType(_ text: String) -> Bool {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        return sides.count == 2 && isToken(sides[0]) && isToken(sides[1])
    }

    /// Whether `url` is `scheme:…` in printable ASCII (RFC 3986 §4.3). The host parses the rest.
    static func isAbsolute(_ url: String) -> Bool {
        let scheme = url.utf8.prefix { isLetterOrDigit($0) || "+-.".utf8.contains($0) }
        return scheme.first.map { isLetterOrDigit($0) && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
            && url.utf8.dropFirst(scheme.count).first == UInt8(ascii: ":") && url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Whether `text` has at least two labels of letters, digits, hyphens and underscores, and at most 255 bytes.
    static func isReverseDNS(_ text: String) -> Bool {
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 255 && labels.count >= 2
            && labels.allSatisfy { label in
                !label.isEmpty && label.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
            }
    }

    /// Whether `scalar` is a control character, or a separator that some terminals treat as a line break.
    static func isBreaking(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Returns `text` as one line of 1 to 4096 bytes of UTF-8.
    static func oneLine(_ text: String) -> String {
        if text.utf8.count <= 4096, !text.isEmpty, !text.unicodeScalars.contains(where: isBreaking) { return text }
        var line = String.UnicodeScalarView()
        var remainingBytes = 4096
        for scalar in text.unicodeScalars {
            let visibleScalar = isBreaking(scalar) ? "\u{FFFD}" : scalar
            remainingBytes -= UTF8.width(visibleScalar)
            guard remainingBytes >= 0 else { break }
            line.append(visibleScalar)
        }
        return line.isEmpty ? "no reason was given" : String(line)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}
