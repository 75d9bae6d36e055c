// SPDX-License-Identifier: Apache-2.0

/// What to do with a request, given the stored responses for its URL. A stored response is named by its index.
package enum CacheDecision: Hashable, Sendable {
    /// Answer from the stored response.
    case use(Use)
    /// Send a conditional request (see ``Validation``). If it is answered by a 304, the stored response answers.
    case validate(index: Int, CacheReason)
    /// Request the octets that an incomplete response lacks (see ``Completion``), and answer with all octets.
    case complete(index: Int)
    /// Send the request. Stored responses that do not match it can still be validated by their entity tags.
    case load(CacheReason)
    /// Answer with 504 (RFC 9111 §5.2.1.7), because the request allows only a stored response. Fail with an error if
    /// the policy is ``CachePolicy/onlyCached``.
    case fail(CacheReason)

    package struct Use: Hashable, Sendable {
        package let index: Int
        package let answer: CachedContent
        /// In seconds.
        package let age: Int64
        /// Whether the stored response must be validated in the background (RFC 5861 §3).
        package var needsRevalidation = false
        package let reason: CacheReason
    }
}

/// The part of a stored response that answers a request.
package enum CachedContent: Hashable, Sendable {
    case full
    /// 304: the caller has the representation.
    case notModified
    /// 206 with these octets.
    case partial(Range<Int64>)
    /// 416.
    case unsatisfiableRange
}

/// Why a request is, or is not, answered from the cache. The raw value is for programs.
package enum CacheReason: String, CaseIterable, Hashable, Sendable {
    case fresh, immutable, maxStale, staleWhileRevalidate, staleIfError, policy
    case stale, noCache, mustRevalidate, requestNoCache, requestMaxAge, requestMinFresh
    case requestNoStore, method, precondition, noResponse, noMatch, missingRange, incomplete

    /// The reason, for people. The text cites the section of an RFC that gives the reason.
    package var text: String {
        switch self {
        case .fresh: "the stored response is fresh (RFC 9111 §4.2)"
        case .immutable: "the stored response is fresh and immutable (RFC 8246)"
        case .maxStale: "the request accepts a stale response (RFC 9111 §5.2.1.2)"
        case .staleWhileRevalidate: "the stored response may be used while it is validated (RFC 5861 §3)"
        case .staleIfError: "the stored response may replace an error (RFC 5861 §4)"
        case .policy: "the cache policy of the request says so"
        case .stale: "the stored response is stale (RFC 9111 §4.2)"
        case .noCache: "the stored response has 'no-cache' (RFC 9111 §5.2.2.4)"
        case .mustRevalidate: "the stored response is stale and has 'must-revalidate' (RFC 9111 §5.2.2.2)"
        case .requestNoCache: "the request has 'no-cache' (RFC 9111 §5.2.1.4)"
        case .requestMaxAge: "the stored response is older than 'max-age' of the request (RFC 9111 §5.2.1.1)"
        case .requestMinFresh: "the stored response is not fresh as long as 'min-fresh' of the request demands (RFC 9111 §5.2.1.3)"
        case .requestNoStore: "the request has 'no-store' (RFC 9111 §5.2.1.5)"
        case .method: "the method is neither GET nor HEAD (RFC 9111 §4)"
        case .precondition: "the request has a precondition for the origin server (RFC 9111 §4.3.2)"
        case .noResponse: "no response is stored for the URL"
        case .noMatch: "no stored response matches the fields that 'Vary' names (RFC 9111 §4.1)"
        case .missingRange: "the stored response does not have the octets (RFC 9111 §3.3)"
        case .incomplete: "the stored response is incomplete (RFC 9111 §3.3)"
        }
    }
}
