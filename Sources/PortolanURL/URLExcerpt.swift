// SPDX-License-Identifier: Apache-2.0

/// Shortens a text that failed to parse, so that a message can quote it.
enum URLExcerpt {
    /// The maximum number of bytes in an excerpt.
    private static let byteLimit = 80
    /// The number of bytes to show before the offset if the excerpt does not begin at the start of the text. Also the
    /// maximum number of bytes to show before hidden user information.
    private static let byteCountBeforeOffset = 40

    /// Quotes about 80 bytes of `text` around `offset`, with control characters escaped and user information replaced
    /// by "…".
    ///
    /// The parser's rules cannot find the user information of a text that did not parse: a password with a slash, for
    /// example, ends the authority early. Everything between the slashes and the last "@" is therefore left out.
    static func make(from text: String, around offset: Int) -> String {
        let bytes = text.utf8
        let hidden = hiddenRange(of: bytes)
        guard let hidden else { return window(of: text[...], around: offset) }
        let visibleText = text[hidden.upperBound...]
        let visibleOffset = offset - bytes.distance(from: bytes.startIndex, to: hidden.upperBound)
        return escaped(text[..<hidden.lowerBound], limit: byteCountBeforeOffset) + "…" + window(of: visibleText, around: visibleOffset)
    }

    private static func hiddenRange(of bytes: String.UTF8View) -> Range<String.Index>? {
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let colon = bytes.firstIndex { !$0.isSchemeByte } ?? at
        let isScheme = colon < at && bytes[colon] == UInt8(ascii: ":") && bytes[bytes.startIndex].isASCIILetter
        let slashes = bytes[(isScheme ? bytes.index(after: colon) : bytes.startIndex)..<at]
        return (slashes.firstIndex { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") } ?? at)..<at
    }

    /// Up to 80 bytes of `text` around the offset, with "…" in the place of omitted bytes.
    private static func window(of text: Substring, around offset: Int) -> String {
        let bytes = text.utf8
        let start =
            offset < byteLimit
            ? bytes.startIndex
            : bytes.index(bytes.startIndex, offsetBy: offset - byteCountBeforeOffset, limitedBy: bytes.endIndex) ?? bytes.endIndex
        return (start > bytes.startIndex ? "…" : "") + escaped(text[start...], limit: byteLimit)
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    /// The first bytes of `text`, up to a limit, with "…" at the end if more bytes follow.
    private static func escaped(_ text: Substring, limit: Int) -> String {
        let bytes = text.utf8
        let end = bytes.index(bytes.startIndex, offsetBy: limit, limitedBy: bytes.endIndex) ?? bytes.endIndex
        var result = ""
        for scalar in text[..<end].unicodeScalars { result += scalar.escaped(asASCII: !isVisible(scalar)) }
        return result + (end < bytes.endIndex ? "…" : "")
    }
}
