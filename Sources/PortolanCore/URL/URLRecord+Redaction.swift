// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The URL for people and logs: without its user information, and without that of a URL inside it, as in `gzip:http://user:password@host/`.
    package var redacted: String {
        let text = withoutCredentials.description
        guard host == nil, let range = Self.innerUserInformation(in: text) else { return text }
        return String(text[..<range.lowerBound] + text[range.upperBound...])
    }

    /// Where it stands, the `@` included, in the URL that follows one scheme or several. What follows that of http: and its like is an authority even
    /// where no slashes say so.
    private static func innerUserInformation(in text: String) -> Range<String.Index>? {
        guard var rest = afterScheme(text.utf8[...]) else { return nil }
        while let inner = afterScheme(rest) {
            let scheme = String(Substring(rest[..<inner.startIndex]).dropLast()).lowercased()
            rest = inner
            let isSpecial = ["http", "https", "ftp", "ws", "wss"].contains(scheme)
            if isSpecial || rest.starts(with: "//".utf8) {
                let start = isSpecial ? rest.drop { isSlash($0) } : rest.dropFirst(2)
                let authority = start.prefix { !isSlash($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
                return authority.lastIndex(of: UInt8(ascii: "@")).map { authority.startIndex..<text.utf8.index(after: $0) }
            }
        }
        return nil
    }

    private static func afterScheme(_ text: Substring.UTF8View) -> Substring.UTF8View? {
        guard let end = text.firstIndex(where: { !$0.isSchemeByte }), text[end] == UInt8(ascii: ":"), text.first?.isASCIILetter == true
        else { return nil }
        return text[text.index(after: end)...]
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
}
