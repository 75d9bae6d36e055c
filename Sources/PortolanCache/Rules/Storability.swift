// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
package import PortolanURL

/// Whether a private cache may store a response, and whether it is useful to do so.
///
/// A response to a request with `Authorization` is storable, because the cache is private (§3.5).
///
/// RFC 9111 §3
package enum Storability {
    /// Why a response is not stored. The text cites the section of an RFC that gives the reason.
    package enum Refusal: String, Error, Hashable, Sendable {
        case method = "only a response to GET is stored, or to POST with its URL in 'Content-Location' and a lifetime (RFC 9110 §9.3.3)"
        case interim = "the response is not final (RFC 9111 §3)"
        case status = "the status depends on the request's conditions or credentials (RFC 9111 §3)"
        case neverStored = "no cache may store a response with this status (RFC 6585)"
        case notUnderstood = "'must-understand' is present, and the status is unknown (RFC 9111 §5.2.2.3)"
        case requestNoStore = "the request has 'no-store' (RFC 9111 §5.2.1.5)"
        case responseNoStore = "the response has 'no-store' (RFC 9111 §5.2.2.5)"
        case varyAll = "no request matches its 'Vary' (RFC 9111 §4.1)"
        case noFreshness = "it does not say how long it is fresh, and its status allows no heuristic (RFC 9111 §3)"
        case notUseful = "it is never fresh and has no validator"
        case partial = "its 'Content-Range' is missing, or has no range of bytes (RFC 9111 §3.3)"
        case incomplete = "it is incomplete, and can't be completed (RFC 9111 §3.3)"
    }

    /// The facts about a response that its fields do not say.
    package struct Transfer: Hashable, Sendable {
        /// Whether the whole body was received.
        package var isComplete: Bool
        /// Whether content codings were removed from the body.
        package var isDecoded: Bool

        package init(isComplete: Bool = true, isDecoded: Bool = false) {
            (self.isComplete, self.isDecoded) = (isComplete, isDecoded)
        }
    }

    /// - Parameters:
    ///   - request: the fields of the request.
    ///   - fields: the received fields of the response.
    ///   - now: when the response was received, in seconds since 1970.
    package static func check(
        method: HTTPRequest.Method, request: HTTPFields, status: HTTPResponse.Status, fields: HTTPFields, transfer: Transfer = Transfer(),
        now: Int64
    ) throws(Refusal) {
        guard method == .get else { throw .method }
        guard status.code >= 200 else { throw .interim }
        if dependsOnRequest(status) { throw .status }
        if isNeverStored(status) { throw .neverStored }
        if RequestDirectives(request).isNoStore { throw .requestNoStore }
        let directives = ResponseDirectives(fields)
        if directives.isMustUnderstand {
            // §5.2.2.3: a cache that knows the directive ignores `no-store` if it understands the status.
            guard isUnderstood(status) else { throw .notUnderstood }
        } else if directives.isNoStore {
            throw .responseNoStore
        }
        guard SelectingFields(vary: fields, request: request) != nil else { throw .varyAll }
        try checkFreshness(status, fields, directives, now)
        try checkContent(status, fields, transfer, now)
    }

    /// The method of the requests that a response can answer. The response to a POST request answers GET requests, too,
    /// if it names its own URL in `Content-Location`, and says how long it is fresh.
    ///
    /// RFC 9110 §9.3.3
    package static func answeredMethod(
        _ method: HTTPRequest.Method, url: URLRecord, status: HTTPResponse.Status, fields: HTTPFields
    ) -> HTTPRequest.Method {
        guard method == .post, status == .ok, fields[fields: .contentLocation].count == 1,
            Freshness.isExplicit(fields, ResponseDirectives(fields)),
            Invalidation.target(of: .contentLocation, in: fields, url) == url.withoutFragment
        else { return method }
        return .get
    }

    /// RFC 9111 §3, last condition. A response that always needs validation but has no validator is never used.
    private static func checkFreshness(
        _ status: HTTPResponse.Status, _ fields: HTTPFields, _ directives: ResponseDirectives, _ now: Int64
    ) throws(Refusal) {
        let isExplicit = Freshness.isExplicit(fields, directives)
        guard isExplicit || directives.isPublic || directives.isPrivate || Freshness.isHeuristicallyCacheable(status) else {
            throw .noFreshness
        }
        if EntityTag(of: fields) != nil || fields.contains(.lastModified) { return }
        if !isExplicit || directives.noCache == .always { throw .notUseful }
    }

    /// RFC 9111 §3.3
    private static func checkContent(
        _ status: HTTPResponse.Status, _ fields: HTTPFields, _ transfer: Transfer, _ now: Int64
    ) throws(Refusal) {
        if status == .partialContent {
            guard !transfer.isDecoded, ContentRange(in: fields)?.bytes != nil else { throw .partial }
        }
        guard transfer.isComplete || canBeCompleted(status, fields, isDecoded: transfer.isDecoded, now) else { throw .incomplete }
    }

    private static func canBeCompleted(_ status: HTTPResponse.Status, _ fields: HTTPFields, isDecoded: Bool, _ now: Int64) -> Bool {
        let acceptsRanges = fields.forEachMember(of: .acceptRanges) { !$0.equalsIgnoringCase("none") }
        return (status == .ok || status == .partialContent) && !isDecoded && acceptsRanges && StrongValidator(of: fields, now: now) != nil
    }

    /// Whether a part of a response may be stored, because the rest can be requested later.
    ///
    /// RFC 9111 §3.3
    static func canBeCompleted(_ response: StoredResponse) -> Bool {
        canBeCompleted(response.status, response.fields, isDecoded: response.isDecoded, response.responseTime)
    }

    /// Whether a response that may not be stored still replaces a stored one, because it is the newer answer to the
    /// same request. A response that depends on the conditions, the range or the credentials of a request does not
    /// replace it, nor does a temporary error.
    ///
    /// RFC 9111 §4: a cache uses the most recent response. Browsers remove the stored response, too.
    static func replacesStored(_ refusal: Refusal, _ status: HTTPResponse.Status) -> Bool {
        switch refusal {
        case .responseNoStore, .varyAll, .noFreshness, .notUseful, .notUnderstood: status.code < 500
        case .method, .interim, .status, .neverStored, .requestNoStore, .partial, .incomplete: false
        }
    }

    /// Whether the status can be due to the range, the conditions or the credentials of the request. The key of a
    /// stored response contains none of these, so the response must not answer other requests for the URL.
    private static func dependsOnRequest(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 304, 401, 407, 412, 416: true
        default: false
        }
    }

    /// The statuses that are about the client or its network, not about the resource.
    ///
    /// RFC 6585 §3 to §6
    private static func isNeverStored(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 428, 429, 431, 511: true
        default: false
        }
    }

    /// Whether this cache does what RFC 9110 demands of caches for the status.
    package static func isUnderstood(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 200...206, 300...303, 307, 308, 400...411, 413...415, 417, 421, 422, 426, 500...505: true
        default: false
        }
    }
}
