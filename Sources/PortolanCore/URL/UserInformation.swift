// SPDX-License-Identifier: Apache-2.0

/// Finds user names and passwords of URLs in a text.
///
/// The parser decides: an `@` ends user information exactly if the text up to it, with a host behind it, is a URL with credentials. So every form
/// that a loader follows is found: blanks and quotes in the user name, backslashes, missing slashes, tabs and line breaks anywhere.
///
/// Source: WHATWG URL §4.4, authority state
package enum UserInformation {
    /// Where user information stands, each range with the `@` at its end. Where the end of a URL is not known, too much rather than too little.
    ///
    /// - Parameter includingReferences: whether two slashes without a scheme begin a URL, too, as in `//user:password@host/`.
    /// - Complexity: linear in the length of the text.
    package static func ranges(in bytes: some Collection<UInt8>, includingReferences: Bool = false) -> [Range<Int>] {
        guard bytes.contains(UInt8(ascii: "@")) else { return [] }
        // The parser drops these wherever they are.
        let kept = bytes.enumerated().filter { !$0.element.isTabOrNewline }
        let text = kept.map(\.element)
        var ranges: [Range<Int>] = []
        var position = 0
        while position < text.count {
            guard let start = urlStart(in: text, at: position, includingReferences) else {
                position += 1
                continue
            }
            let authority = text[position...].firstIndex { $0 != UInt8(ascii: ":") && !isSlash($0) } ?? text.count
            // Of special URLs, which references are here, a backslash ends the authority, too.
            let end = text[authority...].firstIndex { endsAuthority($0) && ($0 != UInt8(ascii: "\\") || start.isSpecial) } ?? text.count
            let at = text[authority..<end].lastIndex(of: UInt8(ascii: "@"))
            if let at, at > authority, isUserInformation(text[start.index...at], start) {
                ranges.append(kept[authority].offset..<kept[at].offset + 1)
                position = at + 1
            } else {
                // Nothing that begins in the authority has an `@`, unless it begins with the colon at the end.
                position = max(end > 0 && text[end - 1] == UInt8(ascii: ":") ? end - 1 : end, position + 1)
            }
        }
        return ranges
    }

    /// The text without them.
    package static func removed(from text: String, includingReferences: Bool = false) -> String {
        var bytes = Array(text.utf8)
        let ranges = ranges(in: bytes, includingReferences: includingReferences)
        if ranges.isEmpty { return text }
        for range in ranges.reversed() { bytes.removeSubrange(range) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let specialSchemes = ["https", "http", "ftp", "wss", "ws"].map { Array($0.utf8) }
    /// What references are resolved against; any special URL would do.
    private static let base = try? URLRecord(parsing: "http://base.invalid/")  // `try?` because a constant parses

    private struct Start {
        let index: Int
        let isSpecial: Bool
        var isReference = false
    }

    /// Where a URL begins whose scheme ends, or whose slashes begin, at `position`.
    private static func urlStart(in text: [UInt8], at position: Int, _ includingReferences: Bool) -> Start? {
        if text[position] == UInt8(ascii: ":") {
            let name = scheme(in: text, before: position)
            // Also where more letters stand before it: a password that is found too often does no harm.
            if let special = specialSchemes.first(where: { isEnd($0, of: text[name]) }) {
                return Start(index: position - special.count, isSpecial: true)
            }
            let hasSlashes = position + 2 < text.count && isSlash(text[position + 1]) && isSlash(text[position + 2])
            return hasSlashes && !name.isEmpty ? Start(index: name.lowerBound, isSpecial: false) : nil
        }
        let isReference = isSlash(text[position]) && position + 1 < text.count && isSlash(text[position + 1])
        return includingReferences && isReference ? Start(index: position, isSpecial: true, isReference: true) : nil
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

    private static func isUserInformation(_ text: ArraySlice<UInt8>, _ start: Start) -> Bool {
        let text = String(decoding: text, as: UTF8.self) + "x"
        // `try?` because what does not parse is no URL, and nobody follows it.
        guard let url = try? URLRecord(parsing: text, relativeTo: start.isReference ? base : nil) else { return false }
        return url.hasCredentials && url.host == "x"
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool { isSlash(byte) || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
}
