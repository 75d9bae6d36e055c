// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import PortolanURL

/// The properties of a request that decide which cookies it can send and its response can set.
package struct CookieContext: Sendable {
    package let url: URLRecord
    /// The site of the document on whose behalf the load is made; `nil` if there is none, as for a URL that a person
    /// typed.
    private let siteForCookies: Site?
    /// Whether there is a document. A document without a host, such as a `data:` URL, has no site.
    private let hasDocument: Bool
    package var isHTTPAPI = true
    package var now: Date

    let host: Substring
    let isSecure: Bool

    /// - Parameter document: the top-level document of the load.
    /// - Returns: `nil` if the URL has no host.
    package init?(_ url: URLRecord, document: URLRecord? = nil, now: Date) {
        guard let host = url.host, !host.isEmpty else { return nil }
        self.url = url
        self.host = host
        self.now = now
        isSecure = Self.isSecure(url.scheme, host)
        hasDocument = document != nil
        siteForCookies = document.flatMap(Site.init)
    }

    /// Whether the connection counts as secure: TLS, or this machine, as in browsers (W3C Secure Contexts §3.1).
    private static func isSecure(_ scheme: Substring, _ host: Substring) -> Bool {
        if scheme == "https" || scheme == "wss" { return true }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || (host.hasPrefix("127.") && PublicSuffixList.isAddress(host))
    }

    /// RFC 6265bis §5.2
    var isSameSite: Bool {
        !hasDocument || (siteForCookies != nil && Site(url) == siteForCookies)
    }

    /// The partition of the load's cookies; `nil` if the document has no site.
    var partition: Site? { hasDocument ? siteForCookies : Site(url) }
}

/// Pure functions of hosts and paths.
enum CookieMatching {
    /// RFC 6265bis §5.1.3
    static func domainMatches(_ host: some StringProtocol, _ domain: some StringProtocol) -> Bool {
        if host == domain { return true }
        guard !domain.isEmpty, host.hasSuffix(domain) else { return false }
        return host.dropLast(domain.count).last == "." && !PublicSuffixList.isAddress(host)
    }

    /// RFC 6265bis §5.1.4
    static func pathMatches(_ path: Span<UInt8>, _ cookiePath: Span<UInt8>) -> Bool {
        guard path.count >= cookiePath.count else { return false }
        for index in cookiePath.indices where path[index] != cookiePath[index] { return false }
        return path.count == cookiePath.count || (!cookiePath.isEmpty && cookiePath[cookiePath.count - 1] == UInt8(ascii: "/"))
            || path[cookiePath.count] == UInt8(ascii: "/")
    }

    static func pathMatches(_ path: Span<UInt8>, _ cookiePath: [UInt8]) -> Bool { pathMatches(path, cookiePath.span) }

    /// RFC 6265bis §5.1.4
    static func defaultPath(of url: URLRecord) -> String {
        let path = url.path.utf8
        guard path.first == UInt8(ascii: "/"), let end = path.lastIndex(of: UInt8(ascii: "/")), end > path.startIndex else { return "/" }
        return String(url.path[..<end])
    }
}
