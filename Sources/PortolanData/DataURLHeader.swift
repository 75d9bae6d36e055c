// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// The part of a `data:` URL before the comma: the MIME type, and whether the body is base64.
///
/// Source: WHATWG Fetch, `data:` URL processor, steps 3 to 8 and 11 to 13.
struct DataURLHeader {
    let mimeType: MIMEType
    let isBase64: Bool

    /// The offset of the body, directly after the comma.
    let bodyStart: Int

    /// Reads the part of the URL before `end`, which must not lie beyond the end of the URL.
    init(parsing url: String, upTo end: Int) throws(DataURLError) {
        let bytes = url.utf8.span.extracting(0..<end)
        guard Self.matches(Self.scheme, in: bytes, at: 0) else { throw .wrongScheme }
        let start = Self.scheme.utf8.count
        var comma = start
        while comma < end, bytes[comma] != UInt8(ascii: ",") { comma += 1 }
        guard comma < end else { throw .missingComma(endOffset: end) }
        bodyStart = comma + 1

        let trimmed = Self.trimmed(start..<comma, in: bytes)
        let shortened = Self.rangeBeforeBase64Suffix(of: trimmed, in: bytes)
        isBase64 = shortened != nil
        mimeType = Self.mimeType(in: shortened ?? trimmed, of: url)
    }

    private static let scheme = "data:"
    private static let suffix = "base64"

    /// The range without the semicolon, spaces and "base64" at its end; `nil` if it does not end that way.
    private static func rangeBeforeBase64Suffix(of range: Range<Int>, in bytes: Span<UInt8>) -> Range<Int>? {
        var end = range.upperBound - suffix.utf8.count
        guard end > range.lowerBound, matches(suffix, in: bytes, at: end) else { return nil }
        while end > range.lowerBound, bytes[end - 1] == UInt8(ascii: " ") { end -= 1 }
        guard end > range.lowerBound, bytes[end - 1] == UInt8(ascii: ";") else { return nil }
        return range.lowerBound..<end - 1
    }

    private static func mimeType(in range: Range<Int>, of url: String) -> MIMEType {
        guard !range.isEmpty else { return .plainASCIIText }
        let start = url.utf8.index(url.startIndex, offsetBy: range.lowerBound)
        let text = url[start..<url.utf8.index(start, offsetBy: range.count)]
        let parsed = text.utf8.first == UInt8(ascii: ";") ? MIMEType(parsing: "text/plain\(text)") : MIMEType(parsing: String(text))
        return parsed ?? .plainASCIIText
    }

    /// Removes ASCII whitespace from both ends (WHATWG Infra, section 4.6).
    private static func trimmed(_ range: Range<Int>, in bytes: Span<UInt8>) -> Range<Int> {
        var range = range
        while let first = range.first, isWhitespace(bytes[first]) { range = range.dropFirst() }
        while let last = range.last, isWhitespace(bytes[last]) { range = range.dropLast() }
        return range
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0C || byte == 0x0D
    }

    /// Whether the lower-case ASCII word is at `position`, ignoring case.
    private static func matches(_ word: String, in bytes: Span<UInt8>, at position: Int) -> Bool {
        guard bytes.count - position >= word.utf8.count else { return false }
        var position = position
        for expected in word.utf8 {
            let byte = bytes[position]
            guard byte == expected || (0x41...0x5A).contains(byte) && byte | 0x20 == expected else { return false }
            position += 1
        }
        return true
    }
}
