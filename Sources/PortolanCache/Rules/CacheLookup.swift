// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore
import PortolanURL

/// A request, as the rules for the use of stored responses see it.
///
/// RFC 9111 §4
package struct CacheLookup: Sendable {
    package let method: HTTPRequest.Method
    /// The fields of the request. If the loader replaces them later, for example to add cookies, the directives are not
    /// parsed again.
    package internal(set) var fields: HTTPFields
    /// ``CachePolicy/useProtocol`` follows the fields of the request. The other policies are Fetch's cache modes.
    package let policy: CachePolicy
    /// Seconds since 1970.
    package private(set) var now: Int64
    private let directives: RequestDirectives
    private let ranges: [ByteRange]?

    package init(method: HTTPRequest.Method, fields: HTTPFields, policy: CachePolicy = .useProtocol, now: Int64) {
        (self.method, self.fields, self.policy, self.now) = (method, fields, policy, now)
        directives = RequestDirectives(fields)
        // RFC 9110 §14.2: a range has a meaning only in a GET request.
        ranges = method == .get ? ByteRange.requested(by: fields) : nil
    }

    /// Whether the request may be sent. If not, only a stored response answers it.
    var mayLoad: Bool { !directives.isOnlyIfCached && policy != .onlyCached }

    /// The same request at a later time.
    func at(_ now: Int64) -> CacheLookup {
        var lookup = self
        lookup.now = now
        return lookup
    }

    /// Decides what to do with the request.
    ///
    /// - Parameter responses: those that are stored for the URL of the request.
    package func decide(_ responses: [StoredResponse]) -> CacheDecision {
        let decision = decideIgnoringOnlyIfCached(responses)
        if mayLoad { return decision }
        switch decision {
        case .use: return decision
        case .validate(_, let reason), .load(let reason), .fail(let reason): return .fail(reason)
        case .complete: return .fail(.incomplete)
        }
    }

    private func decideIgnoringOnlyIfCached(_ responses: [StoredResponse]) -> CacheDecision {
        guard method == .get || method == .head else { return .load(.method) }
        if policy == .noStore || policy == .reload { return .load(.policy) }
        // §5.2.1.5 does not forbid the use of a stored response, but the caller wants no trace in the cache. Deployed
        // caches forward the request.
        if directives.isNoStore { return .load(.requestNoStore) }
        // §4.3.2: only the origin server can evaluate these.
        if fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince) { return .load(.precondition) }
        guard !responses.isEmpty else { return .load(.noResponse) }
        guard let index = choose(responses) else { return .load(.noMatch) }
        return decide(responses[index], index)
    }

    /// The index of the stored response that matches the request; the most recent of several; `nil` for none.
    ///
    /// A response without `Vary` matches any request. It counts only if no response with `Vary` matches.
    ///
    /// RFC 9111 §4.1
    package func choose(_ responses: [StoredResponse]) -> Int? {
        if responses.count == 1 { return responses[0].selectingFields.matches(fields) ? 0 : nil }
        let matching = responses.indices.filter { responses[$0].selectingFields.matches(fields) }
        let varied = matching.filter { !responses[$0].selectingFields.isEmpty }
        return (varied.isEmpty ? matching : varied).max { isOlder(responses[$0], responses[$1]) }
    }

    func isOlder(_ a: StoredResponse, _ b: StoredResponse) -> Bool {
        let (dateA, dateB) = (a.freshness.date, b.freshness.date)
        return dateA != dateB ? dateA < dateB : a.responseTime < b.responseTime
    }

    private func decide(_ response: StoredResponse, _ index: Int) -> CacheDecision {
        let freshness = Freshness(of: response, now: now)
        let verdict = Self.verdict(on: response, freshness, directives, policy)
        guard let answer = answer(from: response) else {
            // The request for the rest also validates the part, because of its If-Range.
            if method == .get, ranges == nil, Completion(of: response) != nil { return .complete(index: index) }
            return .load(ranges == nil ? .incomplete : .missingRange)
        }
        switch verdict {
        case .use(let reason): return .use(CacheDecision.Use(index: index, answer: answer, age: freshness.age, reason: reason))
        case .useAndRevalidate(let reason):
            return .use(CacheDecision.Use(index: index, answer: answer, age: freshness.age, needsRevalidation: true, reason: reason))
        case .validate(let reason): return .validate(index: index, reason)
        }
    }

    // MARK: - Freshness

    enum Verdict: Hashable, Sendable {
        case use(CacheReason), useAndRevalidate(CacheReason), validate(CacheReason)
    }

    /// Whether the stored response may be used without validation.
    ///
    /// RFC 9111 §4, §4.2.4, §5.2.1
    static func verdict(
        on response: StoredResponse, _ freshness: Freshness, _ request: RequestDirectives, _ policy: CachePolicy
    ) -> Verdict {
        if policy == .preferCached || policy == .onlyCached { return .use(.policy) }
        if response.directives.noCache == .always { return .validate(.noCache) }
        if request.isNoCache { return .validate(.requestNoCache) }
        // Fetch's mode "no-cache" always validates.
        if policy == .revalidate { return .validate(.policy) }
        // Browsers send `max-age=0` to reload a page, and `immutable` is for that case (RFC 8246 §2). Otherwise, a
        // response with the age 0 is validated, too, because the caller asks for validation.
        if request.maxAge == 0 {
            guard freshness.isFresh, response.directives.isImmutable, isAuthenticated(response.url) else {
                return .validate(.requestMaxAge)
            }
            return .use(.immutable)
        }
        if let maxAge = request.maxAge, freshness.age > maxAge { return .validate(.requestMaxAge) }
        if let minFresh = request.minFresh, freshness.staleness > -minFresh { return .validate(.requestMinFresh) }
        if freshness.isFresh { return .use(.fresh) }
        if response.directives.isMustRevalidate { return .validate(.mustRevalidate) }
        if let maxStale = request.maxStale, maxStale == DeltaSeconds.largest || freshness.staleness <= maxStale { return .use(.maxStale) }
        if let window = response.directives.staleWhileRevalidate, window > 0, freshness.staleness <= window {
            return .useAndRevalidate(.staleWhileRevalidate)
        }
        return .validate(.stale)
    }

    /// Whether the response was received over a connection whose bytes nobody else can change: a TLS connection, or a
    /// connection to this machine.
    ///
    /// RFC 8246 §3
    static func isAuthenticated(_ url: URLRecord) -> Bool {
        if url.scheme == "https" { return true }
        guard let host = url.host else { return false }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || isLoopbackAddress(host)
    }

    private static func isLoopbackAddress(_ host: Substring) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The decision after a request failed: use the stored response, or `nil` to deliver the error.
    ///
    /// The response of the server, if there is one, must be an error of the server: 500, 502, 503 or 504.
    ///
    /// - Parameter status: `nil` if there is no response.
    ///
    /// RFC 5861 §4; RFC 9111 §4.2.4, §4.3.3
    package func decide(afterError status: HTTPResponse.Status?, _ responses: [StoredResponse]) -> CacheDecision.Use? {
        guard method == .get || method == .head, policy == .useProtocol || policy == .revalidate, !directives.isNoCache,
            !directives.isNoStore, status.map({ [500, 502, 503, 504].contains($0.code) }) ?? true, let index = choose(responses)
        else { return nil }
        let response = responses[index]
        guard response.directives.noCache != .always, !response.directives.isMustRevalidate, let answer = answer(from: response),
            let window = [response.directives.staleIfError, directives.staleIfError].compactMap({ $0 }).max(), window > 0
        else { return nil }
        let freshness = Freshness(of: response, now: now)
        guard freshness.staleness <= window else { return nil }
        return CacheDecision.Use(index: index, answer: answer, age: freshness.age, reason: .staleIfError)
    }

    // MARK: - Concurrent requests

    /// Whether the response to this request can answer another one.
    var isShareable: Bool {
        method == .get && policy != .noStore && policy != .onlyCached && !directives.isNoStore && ranges == nil
    }

    /// Whether a response that was just received can answer other requests without validation.
    static func isShareable(_ response: StoredResponse, now: Int64) -> Bool {
        Freshness(of: response, now: now).isFresh && response.directives.noCache != .always
    }

    /// Whether this request can wait for the response to an equal request that was sent shortly before. When the
    /// response arrives, ``decide(_:)`` says whether it answers this request, too. The response must be storable, and
    /// usable without validation.
    ///
    /// RFC 9111 §4
    package func mayWait(for sent: CacheLookup) -> Bool {
        guard method == .get, sent.method == .get, !directives.isNoStore, !sent.directives.isNoStore, !directives.isNoCache,
            !directives.isOnlyIfCached, directives.maxAge != 0
        else { return false }
        switch policy {
        case .useProtocol, .preferCached: break
        case .noStore, .reload, .revalidate, .onlyCached: return false
        }
        let hasPrecondition = [HTTPField.Name.ifMatch, .ifUnmodifiedSince].contains { fields.contains($0) || sent.fields.contains($0) }
        return sent.policy != .noStore && !hasPrecondition && sent.ranges == nil
    }

    // MARK: - Preconditions and ranges

    /// The part of a stored response that answers the request; `nil` if it does not have the octets.
    ///
    /// Preconditions are evaluated in the order of RFC 9110 §13.2.2: `If-None-Match`, or else `If-Modified-Since`; then
    /// `Range` with `If-Range`.
    ///
    /// RFC 9111 §4.3.2, §3.3
    package func answer(from response: StoredResponse) -> CachedContent? {
        if isNotModified(response) { return .notModified }
        guard let ranges, response.status == .ok, !response.isDecoded, isRangeWanted(response) else {
            // An incomplete response does not answer HEAD either, because its fields may lack the length.
            return response.content.isComplete ? .full : nil
        }
        switch response.content.range(for: ranges) {
        case .range(let range): return .partial(range)
        // A suffix range of an empty representation is satisfiable, but no Content-Range can describe an empty range.
        case .whole: return .full
        case .unsatisfiable: return .unsatisfiableRange
        case .missing: return nil
        }
    }

    private func isNotModified(_ response: StoredResponse) -> Bool {
        // RFC 9110 §13.2.1: a server ignores preconditions if the response would not be successful. RFC 9111 §3.3: an
        // incomplete response answers only ranges.
        guard response.status.kind == .successful, response.content.isComplete else { return false }
        if fields.contains(.ifNoneMatch) {
            return EntityTagCondition(ifNoneMatch: fields)?.matches(response.entityTag) ?? false
        }
        guard fields[fields: .ifModifiedSince].count == 1, let since = HTTPDate.seconds(of: .ifModifiedSince, in: fields, now: now) else {
            return false
        }
        let modified = HTTPDate.seconds(of: .lastModified, in: response.fields, now: response.responseTime)
        return (modified ?? response.freshness.date) <= since
    }

    /// Whether the condition of `If-Range`, if there is one, is true. If it is false, the answer is the whole response.
    ///
    /// RFC 9110 §13.1.5
    private func isRangeWanted(_ response: StoredResponse) -> Bool {
        guard let condition = fields.firstOctets(of: .ifRange) else { return true }
        if let tag = response.entityTag, let wanted = EntityTag(condition.span), wanted.stronglyMatches(tag) { return true }
        return StrongValidator.lastModified(of: response.fields, now: response.responseTime) == .lastModified(condition)
    }

    // MARK: - Fields

    /// The fields of a request that the cache does not answer. Fetch's modes add directives for the caches on the way,
    /// unless the caller has set some.
    ///
    /// Fetch, "HTTP-network-or-cache fetch"
    package var forwardedFields: HTTPFields {
        guard !fields.contains(.cacheControl) else { return fields }
        var forwarded = fields
        switch policy {
        case .revalidate: forwarded.set(.cacheControl, "max-age=0".utf8)
        case .noStore, .reload:
            forwarded.set(.cacheControl, "no-cache".utf8)
            if let pragma = HTTPField.Name.pragma, !fields.contains(pragma) { forwarded.set(pragma, "no-cache".utf8) }
        case .useProtocol, .preferCached, .onlyCached: break
        }
        return forwarded
    }
}
