// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanHTTPSyntax

/// The directives in the `Cache-Control` and `Pragma` fields of a request.
///
/// Of several values of a directive, the most restrictive one counts. A malformed number counts as the most
/// restrictive number. All times are in seconds.
///
/// RFC 9111 §5.2.1, §5.4
package struct RequestDirectives: Hashable, Sendable {
    /// The largest acceptable age.
    package private(set) var maxAge: Int64?
    /// The smallest acceptable time until the response is stale.
    package private(set) var minFresh: Int64?
    /// The largest acceptable time since the response became stale; ``DeltaSeconds/largest`` if there is no limit.
    package private(set) var maxStale: Int64?
    package private(set) var isNoCache = false
    package private(set) var isNoStore = false
    package private(set) var isOnlyIfCached = false
    /// The largest acceptable time since the response became stale, if the request fails. RFC 5861 §4
    package private(set) var staleIfError: Int64?

    /// A request with more directives than ``CacheDirective`` reads (128) counts as `no-cache` and `no-store`.
    package init(_ fields: HTTPFields) {
        let isComplete = CacheDirective.forEach(in: fields) { directive, value in add(directive, value) }
        if !isComplete { (isNoCache, isNoStore) = (true, true) }
        // §5.4: `Pragma` is for servers that do not know Cache-Control, so it counts only without that field.
        if !fields.contains(.cacheControl) { isNoCache = Self.hasPragmaNoCache(fields) }
    }

    private mutating func add(_ directive: CacheDirective, _ value: Span<UInt8>) {
        let name = value.extracting(directive.name)
        if name.equalsIgnoringCase("max-age") {
            maxAge = min(maxAge ?? .max, directive.seconds(in: value) ?? 0)
        } else if name.equalsIgnoringCase("min-fresh") {
            minFresh = max(minFresh ?? 0, directive.seconds(in: value) ?? DeltaSeconds.largest)
        } else if name.equalsIgnoringCase("max-stale") {
            let limit = directive.argument == .none ? DeltaSeconds.largest : directive.seconds(in: value) ?? 0
            maxStale = min(maxStale ?? .max, limit)
        } else if name.equalsIgnoringCase("no-cache") {
            isNoCache = true
        } else if name.equalsIgnoringCase("no-store") {
            isNoStore = true
        } else if name.equalsIgnoringCase("only-if-cached") {
            isOnlyIfCached = true
        } else if name.equalsIgnoringCase("stale-if-error") {
            staleIfError = min(staleIfError ?? .max, directive.seconds(in: value) ?? 0)
        }
    }

    private static func hasPragmaNoCache(_ fields: HTTPFields) -> Bool {
        guard let pragma = HTTPField.Name.pragma else { return false }
        return !fields.forEachMember(of: pragma) { !$0.equalsIgnoringCase("no-cache") }
    }
}

extension HTTPField.Name {
    /// Made once, because a cached load asks for it several times.
    static let pragma = HTTPField.Name("Pragma")
}
