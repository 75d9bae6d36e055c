// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// What the cache asks the next handler, and why.
struct CacheQuestion: Sendable {
    /// The stored responses for the URL.
    var entries: [CacheEntry] = []
    /// Why the cache does not answer; `nil` for a request that the cache never answers.
    var reason: CacheReason?
    /// The index of the stored response that is to be validated or completed.
    var chosen: Int?
    /// The request for the octets that the chosen response lacks.
    var completion: Completion?
    /// The octets that are to be loaded because the stored ones are damaged. The head and the octets before them were
    /// delivered.
    var rest: StoredPart?
    /// The request that validates stored responses by its fields.
    var conditional: Validation.ConditionalRequest?
    /// The index of the stored response that the next handler received. The handler can confirm that it is still valid.
    var offeredIndex: Int?
    /// Whether the caller has already declined the redirect that the response is expected to be.
    var declinesRedirects = false
    /// Whether the request is sent for the second time, with only the caller's own conditions, because the first
    /// response can't be used: for example, a 304 was about no known response.
    var isResent = false

    init(
        _ entries: [CacheEntry] = [], _ reason: CacheReason? = nil, completion: Completion? = nil, chosen: Int? = nil,
        declinesRedirects: Bool = false, isResent: Bool = false, rest: StoredPart? = nil
    ) {
        (self.entries, self.reason, self.completion, self.chosen) = (entries, reason, completion, chosen)
        (self.declinesRedirects, self.isResent, self.rest) = (declinesRedirects, isResent, rest)
    }

    var stored: [StoredResponse] { entries.map(\.stored) }
}

/// Octets of a stored response.
struct StoredPart: Sendable {
    let entry: CacheEntry
    let range: Range<Int64>

    /// The fields of a request for the part: the caller's, without conditions. The octets of a decoded body have no
    /// ranges, so the whole body is requested.
    func fields(_ request: HTTPFields) -> HTTPFields {
        var fields = request
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] { fields[fields: name] = [] }
        guard !entry.stored.isDecoded, let validator = entry.stored.strongValidator else { return fields }
        fields.set(.range, "bytes=\(range.lowerBound)-\(range.upperBound - 1)".utf8)
        fields.set(.ifRange, validator.ifRange)
        return fields
    }

    /// The part without its first octets.
    func dropping(_ count: Int64) -> StoredPart {
        StoredPart(entry: entry, range: min(range.lowerBound + count, range.upperBound)..<range.upperBound)
    }
}
