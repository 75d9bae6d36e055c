// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// The grammar of header fields (RFC 9110 §5).
extension StringProtocol {
    /// `token` of RFC 9110 §5.6.2.
    var isToken: Bool {
        !isEmpty && utf8.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// `type/subtype`, without parameters.
    var isMediaType: Bool {
        let sides = split(separator: "/", omittingEmptySubsequences: false)
        return sides.count == 2 && sides[0].isToken && sides[1].isToken
    }

    /// The text without spaces and tabs at both ends.
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = drop(while: isSpace)
        return String(String(start.reversed()).drop(while: isSpace).reversed())
    }
}

extension UInt8 {
    var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

extension PluginField {
    /// Parses `Name: value`. Returns `nil` if the name is no token, or if the value contains a control character other
    /// than a tab (RFC 9110 §5.5).
    init?(parsing line: [UInt8]) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        var value = ""
        value.unicodeScalars.append(contentsOf: line[(colon + 1)...].map { Unicode.Scalar($0) })
        guard name.isToken, !value.unicodeScalars.contains(where: { ($0 < " " && $0 != "\t") || $0 == "\u{7F}" }) else { return nil }
        self.init(name: name, value: value.trimmed)
    }
}

/// An entity tag (RFC 9110 §8.8.3).
struct EntityTag {
    /// As in an ETag field, with quotes.
    let text: String
    private let opaqueText: Substring

    /// Returns `nil` if the text is not an entity tag, with or without its quotes.
    init?(_ text: String) {
        let opaqueText =
            if text.hasPrefix("\"") || text.hasPrefix("W/\"") {
                text.drop { $0 != "\"" }.dropFirst().dropLast()
            } else {
                text[...]
            }
        self.text = opaqueText.utf8.count == text.utf8.count ? "\"\(text)\"" : text
        self.opaqueText = opaqueText
        guard self.text.utf8.count >= 2, self.text.hasSuffix("\""), self.text != "W/\"",
            opaqueText.utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) })
        else { return nil }
    }

    /// Whether a stored response has the same tag. Weak and strong tags are equal (RFC 9110 §8.8.3.2).
    func matches(_ response: PluginResponse) -> Bool {
        let tags = response.fields.filter { $0.name.lowercased() == "etag" }
        return tags.count == 1 && tags.first.flatMap { EntityTag(field: $0.value) }?.opaqueText == opaqueText
    }

    private init?(field value: String) {
        guard value.hasSuffix("\""), value.hasPrefix("\"") || value.hasPrefix("W/\"") else { return nil }
        self.init(value)
    }
}

/// The type and the charset of a Content-Type field. `nil` if the field is malformed.
struct ContentType {
    let type: String
    let charset: String?

    private static func charset(of parameter: String) -> String? {
        let sides = parameter.split(separator: "=", maxSplits: 1)
        guard sides.count == 2, sides[0].lowercased() == "charset" else { return nil }
        let value = sides[1].filter { $0 != "\"" }
        return value.isToken ? value : nil
    }

    init?(parsing value: String) {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmed }
        guard let type = parts.first, type.isMediaType else { return nil }
        self.type = type
        charset = parts.dropFirst().lazy.compactMap(Self.charset).first
    }
}
