// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanHTTPSyntax

/// The directives in the `Cache-Control` fields of a response, as a private cache uses them.
///
/// A private cache ignores `s-maxage` and `proxy-revalidate`, and stores responses with `private`. It also ignores
/// targeted fields such as `CDN-Cache-Control` (RFC 9213): each has a class of caches as its target, and no private
/// cache belongs to such a class. `Pragma` has no meaning in a response (§5.4).
///
/// Of several `max-age`, the first counts (§4.2.1). A malformed `max-age` is 0, so the response is stale (§4.2.1). A
/// directive that takes no argument counts at any position, also if it has an argument. Unknown directives are ignored
/// (§5.2.3).
///
/// RFC 9111 §5.2.2
package struct ResponseDirectives: Hashable, Sendable {
    /// Which uses of the response need validation even if it is fresh.
    package enum NoCache: Hashable, Sendable {
        case absent
        /// The response can be used without these fields, so they are not stored.
        case fields([HTTPField.Name])
        case always
    }

    /// In seconds.
    package private(set) var maxAge: Int64?
    package private(set) var noCache = NoCache.absent
    package private(set) var isNoStore = false
    package private(set) var isPublic = false
    package private(set) var isPrivate = false
    package private(set) var isMustRevalidate = false
    package private(set) var isMustUnderstand = false
    /// RFC 8246
    package private(set) var isImmutable = false
    /// Seconds after the freshness lifetime in which the response may be used while it is validated. RFC 5861 §3
    package private(set) var staleWhileRevalidate: Int64?
    /// Seconds after the freshness lifetime in which the response may replace an error. RFC 5861 §4
    package private(set) var staleIfError: Int64?

    /// A response with more directives than the limit is not stored.
    package init(_ fields: HTTPFields) {
        let isComplete = CacheDirective.forEach(in: fields) { directive, value in add(directive, value) }
        if !isComplete { (isNoStore, isMustUnderstand) = (true, false) }
    }

    private mutating func add(_ directive: CacheDirective, _ value: Span<UInt8>) {
        let name = value.extracting(directive.name)
        if name.equalsIgnoringCase("max-age") {
            if maxAge == nil { maxAge = directive.seconds(in: value) ?? 0 }
        } else if name.equalsIgnoringCase("no-cache") {
            addNoCache(directive.fieldNames(in: value))
        } else if name.equalsIgnoringCase("no-store") {
            isNoStore = true
        } else if name.equalsIgnoringCase("public") {
            isPublic = true
        } else if name.equalsIgnoringCase("private") {
            isPrivate = true
        } else if name.equalsIgnoringCase("must-revalidate") {
            isMustRevalidate = true
        } else if name.equalsIgnoringCase("must-understand") {
            isMustUnderstand = true
        } else if name.equalsIgnoringCase("immutable") {
            isImmutable = true
        } else if name.equalsIgnoringCase("stale-while-revalidate") {
            if staleWhileRevalidate == nil { staleWhileRevalidate = directive.seconds(in: value) ?? 0 }
        } else if name.equalsIgnoringCase("stale-if-error") {
            if staleIfError == nil { staleIfError = directive.seconds(in: value) ?? 0 }
        }
    }

    /// If the rules need a named field, the response can't be used without it, and is validated each time.
    ///
    /// - Parameter names: `nil` for a directive without field names.
    private mutating func addNoCache(_ names: [HTTPField.Name]?) {
        switch (noCache, names) {
        case (.always, _), (_, nil): noCache = .always
        case (_, let names?) where names.contains(where: StoredFields.isNeeded): noCache = .always
        case (.absent, let names?): noCache = .fields(names)
        case (.fields(let old), let names?): noCache = .fields(old + names)
        }
    }
}
