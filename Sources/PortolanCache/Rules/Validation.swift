// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore

/// Conditional requests, and what their responses mean for stored responses.
///
/// RFC 9111 §4.3
package enum Validation {
    /// The largest number of stored responses that one request nominates, and of octets in its `If-None-Match`.
    package static let limits = (responses: 16, octets: 4096)

    /// A request that asks the server which stored response is still valid.
    package struct ConditionalRequest: Sendable {
        package let fields: HTTPFields
        /// The indices of the stored responses whose validators the request has. If there are none, the request is the
        /// caller's.
        package let nominated: [Int]
        /// Whether the caller's own `If-None-Match` has tags that no nominated response has. A 304 without tag can then
        /// be about any of them.
        fileprivate let hasOtherTags: Bool
    }

    /// Makes the conditional request for a decision ``CacheDecision/validate(index:_:)`` or
    /// ``CacheDecision/load(_:)``.
    ///
    /// It nominates the chosen response and all others of the URL that have an entity tag: if the server has selected
    /// one of them for this request, its body need not be sent again (§4.1). Tags of the caller stay in the list. A
    /// date is sent only for the chosen response, only if no other response is nominated, and only without `Range`. It
    /// is sent octet by octet as it was received, because some servers accept no other form (RFC 9110 §13.1.3).
    ///
    /// - Parameter chosen: the index of the response that matches the request; `nil` if none does.
    ///
    /// RFC 9111 §4.3.1, §4.3.2
    package static func request(_ lookup: CacheLookup, _ responses: [StoredResponse], chosen: Int?) -> ConditionalRequest {
        let caller = lookup.forwardedFields
        let own = EntityTagCondition(ifNoneMatch: caller)
        // The caller's tags can't be extended if they are not known, or if any representation will do.
        let isExtensible = own.map { !$0.isAny } ?? !caller.contains(.ifNoneMatch)
        guard isExtensible, !caller.contains(.ifMatch), !caller.contains(.ifUnmodifiedSince) else {
            return ConditionalRequest(fields: caller, nominated: [], hasOtherTags: true)
        }
        var tags = own?.tags ?? []
        var size = tags.reduce(0) { $0 + $1.octets.count + 2 }
        var nominated: [Int] = []
        for index in order(responses, chosen) where nominated.count < limits.responses {
            // §4.3.2: a part is nominated only for a range that it has.
            guard let tag = responses[index].entityTag, lookup.answer(from: responses[index]) != nil else { continue }
            if !tags.contains(where: { $0.octets == tag.octets }) {
                guard size + tag.octets.count + 2 <= limits.octets || nominated.isEmpty else { continue }
                tags.append(tag)
                size += tag.octets.count + 2
            }
            nominated.append(index)
        }
        var fields = caller
        if !nominated.isEmpty { fields.set(.ifNoneMatch, Array(tags.map(\.octets).joined(separator: ", ".utf8))) }
        if let chosen, responses.indices.contains(chosen), nominated.allSatisfy({ $0 == chosen }), !caller.contains(.range),
            lookup.answer(from: responses[chosen]) != nil, let date = modificationDate(responses[chosen])
        {
            fields.set(.ifModifiedSince, date)
            if nominated.isEmpty { nominated.append(chosen) }
        }
        let hasOtherTags = (own?.tags ?? []).contains { tag in
            !nominated.contains { responses[$0].entityTag.map(tag.weaklyMatches) ?? false }
        }
        return ConditionalRequest(fields: fields, nominated: nominated, hasOtherTags: hasOtherTags)
    }

    private static func order(_ responses: [StoredResponse], _ chosen: Int?) -> [Int] {
        responses.indices.filter { $0 == chosen } + responses.indices.filter { $0 != chosen }
    }

    /// `Last-Modified`; `Date` if the response has no validator at all.
    ///
    /// RFC 9110 §13.1.3
    private static func modificationDate(_ response: StoredResponse) -> [UInt8]? {
        let name: HTTPField.Name = response.fields.contains(.lastModified) || response.fields.contains(.eTag) ? .lastModified : .date
        guard HTTPDate.seconds(of: name, in: response.fields, now: response.responseTime) != nil else { return nil }
        return response.fields.firstOctets(of: name)
    }

    /// The indices of the stored responses that a 304 updates, the one that answers the request first.
    ///
    /// Two cases go beyond §4.3.4, because servers do not do what RFC 9110 demands, and because there is no doubt which
    /// response they mean:
    ///
    /// - A 304 without validator updates the nominated response if there is exactly one. RFC 9110 §15.4.5 obliges the
    ///   server to repeat an entity tag, and many do not.
    /// - A 304 with a strong tag updates a nominated response whose tag is weak and otherwise the same. Servers compare
    ///   the tags of `If-None-Match` weakly (RFC 9110 §13.1.2). nginx makes a tag weak when it compresses a response,
    ///   and repeats the strong tag in the 304.
    ///
    /// RFC 9111 §4.3.4
    static func updates(
        by notModified: HTTPFields, _ request: ConditionalRequest, _ lookup: CacheLookup, _ responses: [StoredResponse]
    ) -> [Int] {
        let candidates = responses.indices.filter {
            request.nominated.contains($0) || responses[$0].selectingFields.matches(lookup.fields)
        }
        let recentFirst = candidates.sorted { a, b in
            let areSelected = [a, b].map { responses[$0].selectingFields.matches(lookup.fields) }
            return areSelected[0] != areSelected[1] ? areSelected[0] : lookup.isOlder(responses[b], responses[a])
        }
        if notModified.contains(.eTag) {
            guard let tag = EntityTag(of: notModified) else { return [] }
            let matching = recentFirst.filter { index in
                responses[index].entityTag.map { tag.isWeak ? $0.weaklyMatches(tag) : $0.stronglyMatches(tag) } ?? false
            }
            if !matching.isEmpty { return tag.isWeak ? Array(matching.prefix(1)) : matching }
            let nominated = recentFirst.filter { index in
                request.nominated.contains(index) && responses[index].entityTag.map(tag.weaklyMatches) ?? false
            }
            return Array(nominated.prefix(1))
        }
        if let modified = notModified.firstOctets(of: .lastModified) {
            return Array(recentFirst.filter { responses[$0].fields.firstOctets(of: .lastModified) == modified }.prefix(1))
        }
        return request.nominated.count == 1 && !request.hasOtherTags ? request.nominated : []
    }

    /// What a 304 means.
    package enum Outcome: Hashable, Sendable {
        /// The stored responses with these indices are valid. Update each of them with `StoredResponse.updated`: the
        /// first one with the fields of the request, and the others without. The first one answers the request
        /// (``CacheLookup/answer(from:)``).
        case update([Int])
        /// The 304 answers the caller's own conditions: deliver it.
        case deliver
        /// The 304 is about no known response. Send the request again with ``CacheLookup/forwardedFields``, which has
        /// only the caller's conditions. A second 304 is then delivered.
        case resend
    }

    /// Decides what a 304 means.
    ///
    /// RFC 9111 §4.3.3, §4.3.4
    package static func outcome(
        of notModified: HTTPFields, _ request: ConditionalRequest, _ lookup: CacheLookup, _ responses: [StoredResponse]
    ) -> Outcome {
        if request.nominated.isEmpty { return .deliver }
        let updates = updates(by: notModified, request, lookup, responses)
        if !updates.isEmpty { return .update(updates) }
        if let tag = EntityTag(of: notModified), EntityTagCondition(ifNoneMatch: lookup.fields)?.matches(tag) ?? false { return .deliver }
        return .resend
    }

    /// What a response to HEAD says about a stored response.
    package enum HeadEffect: Hashable, Sendable {
        case update
        /// The representation has changed, so the stored response needs validation.
        case invalidate
        case none
    }

    /// Whether a 200 response to HEAD confirms a stored response that could have answered the same request with GET.
    ///
    /// RFC 9111 §4.3.5
    package static func effect(
        ofHead fields: HTTPFields, _ status: HTTPResponse.Status, request: HTTPFields, on response: StoredResponse
    ) -> HeadEffect {
        guard status == .ok, response.selectingFields.matches(request) else { return .none }
        guard response.status == .ok else { return .invalidate }
        for name in [HTTPField.Name.eTag, .lastModified] {
            if let received = fields.firstOctets(of: name), received != response.fields.firstOctets(of: name) { return .invalidate }
        }
        if let received = fields.firstOctets(of: .contentLength) {
            // The length of a decoded body is not the length that the server sends.
            let stored =
                response.isDecoded
                ? response.fields.firstOctets(of: .contentLength).flatMap { DecimalDigits.number($0.span) }
                : response.content.completeLength
            if let stored, DecimalDigits.number(received.span) != stored { return .invalidate }
        }
        return ResponseDirectives(fields).isNoStore ? .none : .update
    }
}
