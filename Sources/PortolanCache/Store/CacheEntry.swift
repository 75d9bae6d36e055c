// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// A stored response with its body. Immutable: an update makes another entry with the same identifier and body.
package final class CacheEntry: Sendable {
    /// Identifies an entry in its store. A store never uses an identifier twice.
    package struct ID: Hashable, Sendable {
        package let rawValue: Int64
        package init(_ rawValue: Int64) { self.rawValue = rawValue }
    }

    /// How loads have used an entry, as far as its store knows.
    package struct Use: Hashable, Sendable {
        /// When a load used it last, or stored it, in seconds since 1970.
        package let time: Double
        /// How often loads used it.
        package let count: Int64

        package init(time: Double, count: Int64) { (self.time, self.count) = (time, count) }
    }

    package let id: ID
    package let key: CacheKey
    /// The properties that the rules of caching need.
    package let stored: StoredResponse
    /// The other properties of the response.
    package let attributes: CacheAttributes
    /// The trailer fields, which are never merged into the others (RFC 9110 §6.5.1).
    package let trailers: HTTPFields?
    package let body: any CacheBody
    /// `nil` if the store does not count uses.
    package let use: Use?

    package init(
        id: ID, key: CacheKey, stored: StoredResponse, attributes: CacheAttributes, trailers: HTTPFields?, body: any CacheBody,
        use: Use? = nil
    ) {
        (self.id, self.key, self.stored, self.attributes) = (id, key, stored, attributes)
        (self.trailers, self.body, self.use) = (trailers, body, use)
    }

    /// This entry after a validation.
    package func updated(_ stored: StoredResponse) -> CacheEntry {
        CacheEntry(id: id, key: key, stored: stored, attributes: attributes, trailers: trailers, body: body, use: use)
    }
}

/// The properties of a response that its fields do not contain.
package struct CacheAttributes: Sendable {
    package var mimeType: MIMEType?
    package var textEncodingName: String?
    /// The length that the handler announced, in bytes; `nil` if it is not known.
    package var expectedLength: Int64?
    /// The file name that the handler suggested, unchanged.
    package var suggestedFilename: String?
    /// Whether the protocol has a status. Without one, the rules treat the response as a 200.
    package var hasStatus: Bool
    package var remainingContentCodings: [String]
    package var isVerified: Bool
    /// The values that the delegate stores with the response.
    package var userInfo: [String: String] = [:]

    /// The attributes of a response without a status and without any properties.
    init() { (hasStatus, remainingContentCodings, isVerified) = (false, [], false) }

    package init(_ response: Response) {
        (mimeType, textEncodingName) = (response.mimeType, response.textEncodingName)
        (expectedLength, suggestedFilename) = (response.expectedLength, response.unsanitizedFilename)
        (hasStatus, remainingContentCodings) = (response.status != nil, response.remainingContentCodings)
        isVerified = response.isVerified
    }
}

extension CacheEntry {
    /// The response for the caller.
    ///
    /// - Parameters:
    ///   - status: the status of the stored response, or 206, 304 or 416 (``CachedContent``).
    ///   - fields: the result of `answer`, `partialAnswer`, `notModifiedAnswer` or `unsatisfiableAnswer` of
    ///     ``StoredFields``.
    ///   - length: the number of octets that follow; `nil` to keep the length that the handler announced.
    package func response(_ status: HTTPResponse.Status, _ fields: HTTPFields, length: Int64? = nil) -> Response {
        var response = Response(
            url: key.url, mimeType: attributes.mimeType, textEncodingName: attributes.textEncodingName,
            expectedLength: length ?? attributes.expectedLength, suggestedFilename: attributes.suggestedFilename,
            status: attributes.hasStatus || status != stored.status ? status : nil, fields: fields)
        response.remainingContentCodings = attributes.remainingContentCodings
        response.isVerified = attributes.isVerified
        response.cacheUserInfo = attributes.userInfo
        return response
    }
}
