// SPDX-License-Identifier: Apache-2.0

/// Finds the user names and passwords of URLs in a text.
///
/// It decides as the parser does: an `@` ends user information exactly if the text up to it, with a host after it, is a
/// URL with credentials. (The tests compare both. The parser itself takes too long for texts with very many URLs.)
/// Every form that a loader follows is therefore found: blanks and quotes in the user name, backslashes, missing
/// slashes, and tabs and line breaks anywhere.
///
/// Source: WHATWG URL §4.4, authority state
package enum UserInformation {
    /// Returns the ranges of user information, each with the `@` at its end. If the end of a URL is unknown, the range
    /// covers too much rather than too little.
    ///
    /// - Parameter includingReferences: whether two slashes without a scheme also begin a URL, as in
    ///   `//user:password@host/`.
    /// - Complexity: linear in the length of the text.
    package static func ranges(in bytes: some Collection<UInt8>, includingReferences: Bool = false) -> [Range<Int>] {
        let source = Array(bytes)
        guard source.contains(UInt8(ascii: "@")) else { return [] }
        // The parser removes tabs and newlines anywhere.
        let originalIndices = source.contains(where: \.isTabOrNewline) ? source.indices.filter { !source[$0].isTabOrNewline } : nil
        let text = originalIndices?.map { source[$0] } ?? source
        var ranges: [Range<Int>] = []
        var position = 0
        while position < text.count {
            let byte = text[position]
            guard byte == UInt8(ascii: ":") || (includingReferences && isSlash(byte)),
                let start = urlStart(in: text, at: position, includingReferences)
            else {
                position += 1
                continue
            }
            let authority = text[position...].firstIndex { $0 != UInt8(ascii: ":") && !isSlash($0) } ?? text.count
            // In special URLs, which include references here, a backslash also ends the authority.
            let end = text[authority...].firstIndex { endsAuthority($0) && ($0 != UInt8(ascii: "\\") || start.isSpecial) } ?? text.count
            let atSign = text[authority..<end].lastIndex(of: UInt8(ascii: "@"))
            if let atSign, atSign > authority, isAuthority(at: authority, of: start, in: text) {
                ranges.append((originalIndices?[authority] ?? authority)..<(originalIndices?[atSign] ?? atSign) + 1)
                position = atSign + 1
            } else {
                // No URL that begins in the authority has an `@`, unless it begins with the colon at the end.
                position = max(end > 0 && text[end - 1] == UInt8(ascii: ":") ? end - 1 : end, position + 1)
            }
        }
        return ranges
    }

    /// Returns the text without user information.
    package static func removed(from text: String, includingReferences: Bool = false) -> String {
        var bytes = Array(text.utf8)
        let ranges = ranges(in: bytes, includingReferences: includingReferences)
        if ranges.isEmpty { return text }
        for range in ranges.reversed() { bytes.removeSubrange(range) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let specialSchemes = ["https", "http", "ftp", "wss", "ws"].map { Array($0.utf8) }
    private static let file = Array("file".utf8)

    private struct URLStart {
        /// The index of the slashes, if there are any.
        let slashes: Int
        let isSpecial: Bool
    }

    /// Returns the start of the URL whose scheme ends, or whose slashes begin, at `position`.
    private static func urlStart(in text: [UInt8], at position: Int, _ includingReferences: Bool) -> URLStart? {
        if text[position] == UInt8(ascii: ":") {
            let name = scheme(in: text, before: position)
            // Also if more letters precede the name, because it is harmless to find a password where there is none.
            if specialSchemes.contains(where: { isEnd($0, of: text[name]) }) { return URLStart(slashes: position + 1, isSpecial: true) }
            let hasSlashes = position + 2 < text.count && text[position + 1] == UInt8(ascii: "/") && text[position + 2] == UInt8(ascii: "/")
            // The host of a `file:` URL has no user.
            let isFile = name.count == file.count && isEnd(file, of: text[name])
            return hasSlashes && !name.isEmpty && !isFile ? URLStart(slashes: position + 1, isSpecial: false) : nil
        }
        let isReference = isSlash(text[position]) && position + 1 < text.count && isSlash(text[position + 1])
        return includingReferences && isReference ? URLStart(slashes: position, isSpecial: true) : nil
    }

    private static func isEnd(_ scheme: [UInt8], of name: ArraySlice<UInt8>) -> Bool {
        name.count >= scheme.count && zip(name.suffix(scheme.count), scheme).allSatisfy { $0 | 0x20 == $1 }
    }

    private static func scheme(in text: [UInt8], before colon: Int) -> Range<Int> {
        // No registered scheme is longer than 36 bytes.
        let window = text[max(0, colon - 64)..<colon]
        let start = window.lastIndex { !$0.isSchemeByte }.map { $0 + 1 } ?? window.startIndex
        return (text[start..<colon].firstIndex(where: \.isASCIILetter) ?? colon)..<colon
    }

    /// Whether the bytes at `authority`, which follow slashes and colons, are in the authority of a URL. Any number of
    /// slashes precedes the authority of a special URL. In another URL, two slashes precede the authority, and a
    /// backslash is a part of the authority. A colon is a part of the authority in every URL.
    private static func isAuthority(at authority: Int, of start: URLStart, in text: [UInt8]) -> Bool {
        guard start.isSpecial else {
            return authority >= start.slashes + 2 && !text[(start.slashes + 2)..<authority].contains(UInt8(ascii: "/"))
        }
        return text[start.slashes..<authority].drop(while: isSlash).allSatisfy { $0 == UInt8(ascii: ":") }
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool { isSlash(byte) || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
}
