// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore

/// The request for the octets that an incomplete response lacks.
///
/// RFC 9111 §3.3; RFC 9110 §13.1.5
package struct Completion: Hashable, Sendable {
    /// The position of the first missing octet.
    package let first: Int64
    /// The position of the last missing octet; `nil` for the end of the representation.
    package let last: Int64?
    package let validator: StrongValidator

    /// - Returns: `nil` if nothing is missing, or if the rest can't be requested: the status is not 200, the body was
    ///   decoded, or the response has no strong validator.
    package init?(of response: StoredResponse) {
        guard case .partial(let ranges, let length) = response.content, !response.isDecoded, response.status == .ok,
            let validator = response.strongValidator
        else { return nil }
        self.validator = validator
        guard let length else {
            // Without the length, everything after the first range is requested.
            first = ranges.ranges.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0
            last = nil
            return
        }
        let gaps = ranges.gaps(length: length)
        guard let firstGap = gaps.first, let lastGap = gaps.last else { return nil }
        first = firstGap.lowerBound
        last = lastGap.upperBound == length ? nil : lastGap.upperBound - 1
    }

    /// The fields of the request: the caller's fields, with `Range` and `If-Range`. The caller's conditions are
    /// evaluated when the response is complete.
    package func fields(_ request: HTTPFields) -> HTTPFields {
        var fields = request
        fields[fields: .ifNoneMatch] = []
        fields[fields: .ifModifiedSince] = []
        fields.set(.range, "bytes=\(first)-\(last.map(String.init) ?? "")".utf8)
        fields.set(.ifRange, validator.ifRange)
        return fields
    }
}

extension StoredResponse {
    /// Whether this response is a part of the representation that has the validator, although the response itself has
    /// no validator. A server leaves out `Last-Modified` if the request had the same date in `If-Range`.
    ///
    /// RFC 9110 §15.3.7
    private func isPart(of validator: StrongValidator, _ completion: Completion) -> Bool {
        guard case .lastModified = validator else { return false }
        return completion.validator == validator && !fields.contains(.eTag) && !fields.contains(.lastModified)
    }

    /// Whether a response to a request for the rest of this response has octets of the same representation.
    ///
    /// RFC 9110 §15.3.7.3
    func hasSameRepresentation(as fields: HTTPFields, _ status: HTTPResponse.Status, now: Int64) -> Bool {
        guard let validator = strongValidator else { return false }
        if let received = StrongValidator(of: fields, now: now) { return received == validator }
        // A 206 response leaves out the `Last-Modified` that was in `If-Range`.
        guard case .lastModified = validator, status == .partialContent else { return false }
        return !fields.contains(.eTag) && !fields.contains(.lastModified)
    }

    /// Joins two responses with parts of one representation. The fields are those of this response, updated by the
    /// newer one.
    ///
    /// The caller must join the octets in the same way: those of `newer` replace those at the same positions.
    ///
    /// - Parameter completion: the request that `newer` answers, if it was made to complete this response.
    /// - Returns: `nil` if they can't be joined: a status is not 200, they do not share a strong validator, their
    ///   lengths differ, a body was decoded, or there are too many ranges or fields.
    ///
    /// RFC 9111 §3.4; RFC 9110 §15.3.7.3
    package func combined(with newer: StoredResponse, answering completion: Completion? = nil) -> StoredResponse? {
        guard status == .ok, newer.status == .ok, !isDecoded, !newer.isDecoded, let validator = strongValidator,
            validator == newer.strongValidator || completion.map({ newer.isPart(of: validator, $0) }) ?? false
        else { return nil }
        let lengths = [content.completeLength, newer.content.completeLength].compactMap { $0 }
        guard Set(lengths).count <= 1 else { return nil }
        let ranges = content.ranges.union(newer.content.ranges)
        guard newer.content.ranges.ranges.allSatisfy(ranges.contains) else { return nil }
        var combined = self
        combined.content = StoredContent(ranges, completeLength: lengths.first)
        combined.renew(
            Self.fields(StoredFields.updated(fields, from: newer.fields), of: combined.content), requestTime: newer.requestTime,
            responseTime: newer.responseTime)
        combined.selectingFields = newer.selectingFields
        return combined.fields.count <= StoredFields.limit ? combined : nil
    }
}
