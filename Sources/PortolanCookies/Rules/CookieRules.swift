// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Decides whether and how a received cookie is stored, and which cookies a request sends.
enum CookieRules {
    /// The longest life of a cookie, in seconds: 400 days (RFC 6265bis §5.6.1).
    static let longestAge: Int64 = 400 * 86400

    /// Makes a cookie from a received field: the steps of the storage model that need no other cookie.
    ///
    /// RFC 6265bis §5.7
    static func cookie(_ received: SetCookie, in context: CookieContext) throws(CookieRejection) -> Cookie {
        var cookie = Cookie(name: "", value: "", domain: String(context.host), path: path(received, in: context), now: context.now)
        cookie.nameBytes = received.name
        cookie.valueBytes = received.value
        cookie.expiry = expiry(received, context.now)
        (cookie.isSecure, cookie.isHTTPOnly, cookie.sameSite) = (received.isSecure, received.isHTTPOnly, received.sameSite)
        if let domain = received.domain, !domain.isEmpty { try setDomain(of: &cookie, domain, context) }
        if cookie.isSecure, !context.isSecure { throw .insecureOrigin }
        if cookie.isHTTPOnly, !context.isHTTPAPI { throw .httpOnly }
        if cookie.sameSite != Cookie.SameSite.none, !context.isSameSite { throw .crossSite }
        if cookie.sameSite == Cookie.SameSite.none, !cookie.isSecure { throw .sameSiteNoneNotSecure }
        try checkPrefix(of: cookie, hasPath: received.path != nil)
        if received.isPartitioned {
            guard cookie.isSecure else { throw .partitionedNotSecure }
            guard let partition = context.partition else { throw .crossSite }
            cookie.partition = partition
        }
        return cookie
    }

    private static func path(_ received: SetCookie, in context: CookieContext) -> String {
        guard let path = received.path, path.first == UInt8(ascii: "/") else { return CookieMatching.defaultPath(of: context.url) }
        return String(decoding: path, as: UTF8.self)
    }

    private static func expiry(_ received: SetCookie, _ now: Date) -> Date? {
        if let age = received.maxAge {
            return age <= 0 ? .distantPast : now.addingTimeInterval(Double(min(age, longestAge)))
        }
        return received.expires.map { min(Date(timeIntervalSince1970: Double($0)), now.addingTimeInterval(Double(longestAge))) }
    }

    private static func setDomain(of cookie: inout Cookie, _ bytes: [UInt8], _ context: CookieContext) throws(CookieRejection) {
        if bytes.contains(where: { $0 >= 0x80 }) { throw .domainNotASCII }
        let domain = String(decoding: bytes, as: UTF8.self)
        if PublicSuffixList.isPublicSuffix(domain) {
            // A public suffix may set cookies for itself.
            guard domain == context.host else { throw .publicSuffix }
            return
        }
        guard CookieMatching.domainMatches(context.host, domain) else { throw .foreignDomain }
        cookie.domain = domain
        cookie.isHostOnly = false
    }

    static func checkPrefix(of cookie: Cookie, hasPath: Bool) throws(CookieRejection) {
        let name = cookie.nameBytes.span
        if name.hasPrefix(ignoringCase: "__secure-"), !cookie.isSecure { throw .securePrefix }
        if name.hasPrefix(ignoringCase: "__host-") {
            guard cookie.isSecure, cookie.isHostOnly, hasPath, cookie.path == "/" else { throw .hostPrefix }
        }
        if name.isEmpty {
            let value = cookie.valueBytes.span
            if value.hasPrefix(ignoringCase: "__secure-") || value.hasPrefix(ignoringCase: "__host-") { throw .namelessPrefix }
        }
    }

    /// Whether this cookie, from a connection that is not secure, would hide an existing secure cookie.
    ///
    /// RFC 6265bis §5.7, "leave secure cookies alone"
    static func covers(_ cookie: Cookie, secure old: Cookie) -> Bool {
        old.isSecure && old.nameBytes == cookie.nameBytes && CookieMatching.pathMatches(cookie.path.utf8.span, old.path.utf8.span)
            && (CookieMatching.domainMatches(old.domain, cookie.domain) || CookieMatching.domainMatches(cookie.domain, old.domain))
    }
}
