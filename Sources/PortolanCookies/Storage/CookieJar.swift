// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanURL

/// The stored cookies, by domain.
struct CookieJar {
    /// A stored cookie. A class, so that a request can set the time of the last use without a copy of the cookie.
    private final class Entry {
        let cookie: Cookie
        /// Increases with each new cookie. A cookie that replaces another cookie keeps its number.
        let number: UInt64
        let pathBytes: [UInt8]
        var lastAccessTime: Date
        /// The cookie's part of a `Cookie` field: `name=value`, or only the value if the name is empty.
        let pair: [UInt8]

        init(_ cookie: Cookie, number: UInt64) {
            (self.cookie, self.number, lastAccessTime) = (cookie, number, cookie.lastAccessTime)
            pathBytes = Array(cookie.path.utf8)
            pair = cookie.nameBytes.isEmpty ? cookie.valueBytes : cookie.nameBytes + [UInt8(ascii: "=")] + cookie.valueBytes
        }

        /// Whether a request sends the cookie. The caller has already compared the domains.
        ///
        /// Reads the properties one by one, because a copy of the cookie takes longer than the decision.
        ///
        /// RFC 6265bis §5.8.3
        func isSent(in context: CookieContext, isSameSite: Bool, path: Span<UInt8>) -> Bool {
            guard !cookie.isSecure || context.isSecure, !cookie.isHTTPOnly || context.isHTTPAPI,
                isSameSite || cookie.sameSite == Cookie.SameSite.none, !isExpired(at: context.now)
            else { return false }
            return CookieMatching.pathMatches(path, pathBytes) && (cookie.partition == nil || cookie.partition == context.partition)
        }

        private func isExpired(at now: Date) -> Bool { cookie.expiry.map { $0 <= now } ?? false }

        /// The cookie with the time of its last use.
        var cookieWithLastAccessTime: Cookie {
            var cookie = cookie
            cookie.lastAccessTime = lastAccessTime
            return cookie
        }
    }

    private var entries: [String: [Entry]] = [:]
    /// The domains that have cookies, by registrable domain. A domain without a registrable domain is its own key.
    private var domains: [String: Set<String>] = [:]
    private var count = 0
    private var lastNumber: UInt64 = 0
    private let limits: CookieStorage.Limits
    /// The number of evicted cookies that had not expired, for each limit.
    private(set) var evictionCounts: [CookieStorage.Limit: Int] = [:]

    init(limits: CookieStorage.Limits) { self.limits = limits }

    var isEmpty: Bool { count == 0 }

    // MARK: Storing

    /// Stores a received cookie: the steps of the storage model that depend on other cookies.
    ///
    /// RFC 6265bis §5.7
    mutating func receive(_ received: SetCookie, in context: CookieContext) throws(CookieRejection) -> [CookieStorage.Change] {
        let cookie = try CookieRules.cookie(received, in: context)
        if !cookie.isSecure, !context.isSecure, hasSecureCookie(under: cookie, at: context.now) { throw .overSecureCookie }
        if !context.isHTTPAPI, let old = entry(cookie.identity), old.cookie.isHTTPOnly, !old.cookie.isExpired(at: context.now) {
            throw .httpOnly
        }
        return insert(cookie, at: context.now)
    }

    /// Whether a secure cookie exists that the new cookie would cover. The secure cookie can have the same domain, a
    /// domain above or a domain below. A domain above or below is in another site if a public suffix is between them.
    private func hasSecureCookie(under cookie: Cookie, at now: Date) -> Bool {
        let site = Self.site(of: cookie.domain)
        if hasSecureCookie(under: cookie, in: domains[site, default: []], at: now) { return true }
        var domain = cookie.domain[...]
        while let dot = domain.firstIndex(of: ".") {
            domain = domain[domain.index(after: dot)...]
            if hasSecureCookie(under: cookie, in: [String(domain)], at: now) { return true }
        }
        guard site == cookie.domain else { return false }
        let suffix = "." + site
        return domains.contains { $0.key.hasSuffix(suffix) && hasSecureCookie(under: cookie, in: $0.value, at: now) }
    }

    private func hasSecureCookie(under cookie: Cookie, in domains: Set<String>, at now: Date) -> Bool {
        domains.contains { domain in
            entries[domain]?.contains { CookieRules.covers(cookie, secure: $0.cookie) && !$0.cookie.isExpired(at: now) } ?? false
        }
    }

    private static func site(of domain: String) -> String { PublicSuffixList.registrableDomain(of: domain) ?? domain }

    func contains(_ identity: Cookie.Identity) -> Bool { entry(identity) != nil }

    private func entry(_ identity: Cookie.Identity) -> Entry? {
        entries[identity.domain]?.first { $0.cookie.identity == identity }
    }

    /// Inserts a cookie, and replaces the old cookie with the same identity. If one of the two cookies has expired, the
    /// old cookie is removed first, and the new cookie gets a new number.
    mutating func insert(_ cookie: Cookie, at now: Date) -> [CookieStorage.Change] {
        var (cookie, list) = (cookie, entries[cookie.domain, default: []])
        let identity = cookie.identity
        let isExpired = cookie.isExpired(at: now)
        var changes: [CookieStorage.Change] = []
        if let index = list.firstIndex(where: { $0.cookie.identity == identity }) {
            let old = list[index]
            if !isExpired, !old.cookie.isExpired(at: now) {
                cookie.creationTime = old.cookie.creationTime
                list[index] = Entry(cookie, number: old.number)
                store(list, in: cookie.domain, change: 0)
                return [.replaced(old.cookie, by: cookie)]
            }
            list.remove(at: index)
            store(list, in: cookie.domain, change: -1)
            changes = [.removed(old.cookie)]
        }
        if isExpired { return changes }
        lastNumber += 1
        list.append(Entry(cookie, number: lastNumber))
        store(list, in: cookie.domain, change: 1)
        return changes + [.added(cookie)] + evict(from: cookie.domain, at: now)
    }

    /// Replaces the entries of a domain.
    ///
    /// - Parameter change: the difference between the new and the old number of entries.
    private mutating func store(_ list: [Entry], in domain: String, change: Int) {
        let old = entries.updateValue(list, forKey: domain)
        count += change
        if list.isEmpty { entries[domain] = nil }
        guard (old ?? []).isEmpty != list.isEmpty else { return }
        let site = Self.site(of: domain)
        if list.isEmpty { domains[site]?.remove(domain) } else { domains[site, default: []].insert(domain) }
        if domains[site]?.isEmpty == true { domains[site] = nil }
    }

    mutating func remove(_ identity: Cookie.Identity) -> [CookieStorage.Change] {
        var list = entries[identity.domain, default: []]
        guard let index = list.firstIndex(where: { $0.cookie.identity == identity }) else { return [] }
        let removed = list.remove(at: index).cookie
        store(list, in: identity.domain, change: -1)
        return [.removed(removed)]
    }

    mutating func remove(where isChosen: (Cookie) -> Bool) -> [CookieStorage.Change] {
        var removed: [Cookie] = []
        for (domain, list) in entries {
            let rest = list.filter { !isChosen($0.cookie) }
            guard rest.count < list.count else { continue }
            removed += list.map(\.cookie).filter(isChosen)
            store(rest, in: domain, change: rest.count - list.count)
        }
        return removed.map { .removed($0) }
    }

    // MARK: Limits

    private mutating func evict(from domain: String, at now: Date) -> [CookieStorage.Change] {
        var removed: [Cookie] = []
        if let excess = entries[domain].map({ $0.count - limits.perDomain }), excess > 0 {
            removed = evict(excess, from: [domain], over: .perDomain, at: now)
        }
        let neighbours = domains[Self.site(of: domain)] ?? []
        let excess = neighbours.reduce(0) { $0 + (entries[$1]?.count ?? 0) } - limits.perSite
        if excess > 0 { removed += evict(excess, from: neighbours, over: .perSite, at: now) }
        // Removes a twentieth more than necessary, so that a flood does not sort all cookies for each new one.
        if count > limits.total {
            removed += evict(count - limits.total + limits.total / 20, from: Set(entries.keys), over: .total, at: now)
        }
        return removed.map { .removed($0) }
    }

    /// Removes cookies from these domains: first expired cookies, then the others. Among the others, the least recently
    /// sent cookies are removed first.
    ///
    /// - Parameter limit: the exceeded limit. Unless it is the limit in total, cookies that are not secure are removed
    ///   before secure ones.
    private mutating func evict(
        _ excess: Int, from domains: Set<String>, over limit: CookieStorage.Limit, at now: Date
    ) -> [Cookie] {
        func priority(_ cookie: Cookie) -> Int { cookie.isExpired(at: now) ? 0 : limit != .total && cookie.isSecure ? 2 : 1 }
        let order = domains.flatMap { entries[$0] ?? [] }.sorted { a, b in
            let (first, second) = (priority(a.cookie), priority(b.cookie))
            return first == second
                ? (a.lastAccessTime, a.number) < (b.lastAccessTime, b.number) : first < second
        }
        let evicted = order.prefix(excess)
        evictionCounts[limit, default: 0] += evicted.count { !$0.cookie.isExpired(at: now) }
        let numbers = Set(evicted.map(\.number))
        for domain in Set(evicted.map(\.cookie.domain)) {
            let list = entries[domain] ?? []
            let rest = list.filter { !numbers.contains($0.number) }
            store(rest, in: domain, change: rest.count - list.count)
        }
        return evicted.map(\.cookie)
    }

    // MARK: Sending

    /// - Parameter hasAccessTimes: whether the returned cookies have the times when they were last sent.
    func all(at now: Date, withLastAccessTimes hasAccessTimes: Bool = false) -> [Cookie] {
        let entries = entries.values.joined().filter { !$0.cookie.isExpired(at: now) }.sorted { $0.number < $1.number }
        return hasAccessTimes ? entries.map(\.cookieWithLastAccessTime) : entries.map(\.cookie)
    }

    func cookies(for context: CookieContext) -> [Cookie] { useEntries(for: context).map(\.cookieWithLastAccessTime) }

    /// Finds the cookies to send, in the order in which they are sent, and sets the time of their last use.
    ///
    /// RFC 6265bis §5.8.3
    private func useEntries(for context: CookieContext) -> [Entry] {
        guard !entries.isEmpty else { return [] }
        var matches: [Entry] = []
        matches.reserveCapacity(16)
        let (isSameSite, path, host) = (context.isSameSite, context.url.path, context.host)
        let isAddress = PublicSuffixList.isAddress(host)
        var domain = host
        while true {
            let isHost = domain.utf8.count == host.utf8.count
            for entry in entries[String(domain)] ?? [] where isHost || !entry.cookie.isHostOnly {
                guard entry.isSent(in: context, isSameSite: isSameSite, path: path.utf8.span) else { continue }
                entry.lastAccessTime = context.now
                matches.append(entry)
            }
            guard !isAddress, let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { break }
            domain = domain[domain.utf8.index(after: dot)...]
            // A domain without a dot is a public suffix, whose cookies are for its host only.
            if !domain.utf8.contains(UInt8(ascii: ".")) { break }
        }
        if matches.count > 1 { matches.sort { ($1.pathBytes.count, $0.number) < ($0.pathBytes.count, $1.number) } }
        return matches
    }

    func header(for context: CookieContext, excluding names: [[UInt8]]) -> [UInt8]? {
        var matches = useEntries(for: context)
        if !names.isEmpty { matches.removeAll { names.contains($0.cookie.nameBytes) } }
        guard !matches.isEmpty else { return nil }
        var header: [UInt8] = []
        var size = 0
        for entry in matches { size += entry.pair.count + 2 }
        header.reserveCapacity(size)
        for entry in matches {
            if !header.isEmpty {
                header.append(UInt8(ascii: ";"))
                header.append(0x20)
            }
            header.append(contentsOf: entry.pair)
        }
        return header
    }
}
