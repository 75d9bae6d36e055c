// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Portolan
@_spi(Fuzzing) import PortolanCookies

/// Stores the cookie of a `Set-Cookie` field, for one of several URLs. Name, value and attributes are compared with a
/// reference. The storage must follow the rules for domain, path, expiry and replacement.
///
/// The first byte of the input selects the URL; the others are the field's value.
///
/// Source: RFC 6265bis §5.6, §5.7.
enum SetCookieCase {
    private static let urls = [
        "https://www.example.com/a/b", "http://www.example.com/a/b", "https://example.co.uk/", "http://127.0.0.1/x/",
    ]

    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let text = urls[Int(input.first ?? 0) % urls.count]
        let value = Array(input.dropFirst())
        // `try?` because these URLs are valid.
        guard let url = try? URLRecord(parsing: text) else { throw FuzzFinding("\(text) is no URL") }
        let field = HTTPField(name: .setCookie, value: value)
        // No field can contain NUL, LF or CR.
        guard !value.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return }
        let storage = CookieStorage()
        let count = storage.setCookies(from: HTTPFields([field]), of: url)
        let cookies = storage.cookies
        try require(cookies.count <= count && count <= 1, "\(count) cookies were stored, and there are \(cookies.count)")
        let reference = Reference(field.withBytes)
        try require(count == 0 || reference != nil, "a cookie was stored that §5.6 ignores")
        guard let cookie = cookies.first, let reference else { return }
        try require(CookieFuzzing.nameAndValue(of: cookie) == (reference.name, reference.value), "\(cookie) has another name or value")
        try require(cookie.isSecure == reference.names.contains("secure"), "\(cookie): secure")
        try require(cookie.isHTTPOnly == reference.names.contains("httponly"), "\(cookie): HttpOnly")
        // A connection to the local machine counts as secure.
        try require(
            !cookie.isSecure || text.hasPrefix("https") || text.contains("127.0.0.1"), "\(cookie) is secure, and the connection is not")
        // A combining mark after the slash makes another character of it, so bytes are compared.
        try require(cookie.path.utf8.first == UInt8(ascii: "/"), "\(cookie) has no absolute path")
        let domainMatches = url.host == cookie.domain[...] || (!cookie.isHostOnly && (url.host ?? "").hasSuffix("." + cookie.domain))
        try require(domainMatches, "\(cookie) belongs to another domain")
        try require(["example.com", "www.example.com", "example.co.uk", "127.0.0.1"].contains(cookie.domain), "\(cookie): domain")
        let latestExpiry = Date().addingTimeInterval(400 * 86400 + 60)
        try require((cookie.expiry ?? latestExpiry) <= latestExpiry, "\(cookie) lives longer than 400 days")
        // Storing the field again replaces the cookie.
        storage.setCookies(from: HTTPFields([field]), of: url)
        try require(storage.cookies.count == 1, "\(cookie) is stored twice")
        let isSent = storage.cookies(for: url).contains { CookieFuzzing.nameAndValue(of: $0).name == reference.name }
        let (path, cookiePath) = (Array(url.path.utf8), Array(cookie.path.utf8))
        let pathMatches =
            path == cookiePath || path.starts(with: cookiePath.last == UInt8(ascii: "/") ? cookiePath : cookiePath + [UInt8(ascii: "/")])
        try require(isSent == pathMatches, "\(cookie) is \(isSent ? "" : "not ")sent to \(text)")
    }

    /// The parts of a field according to §5.6, uninterpreted.
    private struct Reference {
        var name: [UInt8] = []
        var value: [UInt8] = []
        /// The names of the attributes, in lower case.
        var names: Set<String> = []

        init?(_ field: [UInt8]) {
            guard !field.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) else { return nil }
            let parts = field.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            let pair = parts.first ?? []
            if let equals = pair.firstIndex(of: UInt8(ascii: "=")) {
                (name, value) = (Self.trimmed(pair[..<equals]), Self.trimmed(pair[(equals + 1)...]))
            } else {
                value = Self.trimmed(pair)
            }
            guard !name.isEmpty || !value.isEmpty, name.count + value.count <= 4096 else { return nil }
            for part in parts.dropFirst() {
                let text = part.prefix { $0 != UInt8(ascii: "=") }
                let content = part.dropFirst(text.count + 1)
                if Self.trimmed(content).count > 1024 { continue }
                names.insert(String(decoding: Self.trimmed(text), as: UTF8.self).lowercased())
            }
        }

        private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var bytes = bytes
            while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
            while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
            return Array(bytes)
        }
    }
}

extension HTTPField {
    fileprivate var withBytes: [UInt8] { unsafe withUnsafeBytesOfValue { unsafe Array($0) } }
}
