// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanURL

/// A response to a GET request, as the rules see it: everything except the octets of its body.
///
/// The fields are those that may be stored (see ``StoredFields``). All times are seconds since 1970.
package struct StoredResponse: Sendable {
    /// Without a fragment.
    package let url: URLRecord
    /// A partial response is stored with the status 200, because it is a part of such a response (RFC 9111 §3.3).
    package let status: HTTPResponse.Status
    package internal(set) var fields: HTTPFields {
        didSet { readFields() }
    }
    /// When the request was sent that caused the response, or that validated it last.
    package private(set) var requestTime: Int64
    /// When the head of the response was received, or that of the last validation.
    package private(set) var responseTime: Int64
    package internal(set) var selectingFields: SelectingFields
    package internal(set) var content: StoredContent
    /// Whether the body is stored without its content codings. Such a body answers no range request, because ranges
    /// count the octets of the coded body.
    package let isDecoded: Bool
    /// The directives in ``fields``.
    package private(set) var directives: ResponseDirectives
    /// The freshness lifetime and the age at ``responseTime``. They are calculated once, so that a hit parses no dates.
    private(set) var freshness: Freshness.Origin

    /// - Parameter fields: those that may be stored.
    package init(
        url: URLRecord, status: HTTPResponse.Status, fields: HTTPFields, requestTime: Int64, responseTime: Int64,
        selectingFields: SelectingFields, content: StoredContent, isDecoded: Bool = false
    ) {
        self.url = url.withoutFragment
        self.status = status == .partialContent ? .ok : status
        let fields = status == .partialContent ? Self.fields(fields, of: content) : fields
        self.fields = fields
        (self.requestTime, self.responseTime) = (requestTime, responseTime)
        self.selectingFields = selectingFields
        self.content = content
        self.isDecoded = isDecoded
        directives = ResponseDirectives(fields)
        freshness = Freshness.Origin(
            status: self.status, fields: fields, directives: directives, requestTime: requestTime, responseTime: responseTime)
    }

    private mutating func readFields() {
        directives = ResponseDirectives(fields)
        freshness = Freshness.Origin(
            status: status, fields: fields, directives: directives, requestTime: requestTime, responseTime: responseTime)
    }

    /// Replaces the fields and the times by those of a newer exchange.
    mutating func renew(_ fields: HTTPFields, requestTime: Int64, responseTime: Int64) {
        (self.requestTime, self.responseTime) = (requestTime, responseTime)
        self.fields = fields
    }

    /// The fields of a response that was received in parts. If no octet is missing, returns the fields of a 200
    /// response.
    ///
    /// RFC 9110 §15.3.7.3
    static func fields(_ fields: HTTPFields, of content: StoredContent) -> HTTPFields {
        guard case .complete(let length) = content else { return fields }
        var whole = fields
        whole[fields: .contentRange] = []
        whole.set(.contentLength, String(length).utf8)
        return whole
    }

    package var entityTag: EntityTag? { EntityTag(of: fields) }
    package var strongValidator: StrongValidator? { StrongValidator(of: fields, now: responseTime) }

    /// The response after a 304, or a response to HEAD, has confirmed it.
    ///
    /// - Parameters:
    ///   - newer: the fields of the confirmation.
    ///   - request: the fields of the request; `nil` if they are not known, or if the request does not select this
    ///     response, which only has the same strong tag. This response then keeps its selecting fields.
    /// - Returns: the updated response, and whether it may stay in the cache. A response that may not stay can still
    ///   answer the request.
    ///
    /// RFC 9111 §3.2, §4.3.4, §4.3.5
    package func updated(
        by newer: HTTPFields, request: HTTPFields?, requestTime: Int64, responseTime: Int64
    ) -> (response: StoredResponse, isStorable: Bool) {
        var response = self
        response.renew(StoredFields.updated(fields, from: newer), requestTime: requestTime, responseTime: responseTime)
        let selecting =
            request.map { SelectingFields(vary: response.fields, request: $0) } ?? selectingFields.kept(forVary: response.fields)
        if let selecting { response.selectingFields = selecting }
        let isForbidden = response.directives.isNoStore && !(response.directives.isMustUnderstand && Storability.isUnderstood(status))
        return (response, selecting != nil && !isForbidden && response.fields.count <= StoredFields.limit)
    }
}
