// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax

/// The head of a response, and the ``Response`` that the client receives.
struct ReceivedResponse {
    let head: ResponseHead
    private(set) var response: Response
    /// Whether the body has a content coding, or a transfer coding other than chunked.
    let mayBeDecoded: Bool

    /// - Parameters:
    ///   - length: the length of the body, if it is known.
    ///   - contentTypeCache: the Content-Type of the previous response. It is updated.
    init(
        _ head: ResponseHead, from url: URLRecord, bodyLength length: Int64?, isVerified: Bool = false,
        contentTypeCache: inout ContentTypeCache
    ) {
        let relevant = RelevantFields(head.fields)
        self.head = head
        response = Response(
            url: url,
            mimeType: relevant.contentType.flatMap {
                contentTypeCache.mediaType(of: $0, fieldCount: relevant.contentTypeCount, in: head.fields)
            },
            expectedLength: length,
            suggestedFilename: relevant.contentDisposition?.filename, status: head.httpStatus, fields: head.fields)
        response.httpVersion = head.version
        if isVerified { response.isVerified = true }
        mayBeDecoded = relevant.hasContentCoding || !head.framing.transferCodings.isEmpty
    }

    /// The fields that each load needs, found in one pass. A look-up in `HTTPFields` would first make an index, which
    /// is slower.
    private struct RelevantFields {
        /// The last Content-Type field.
        var contentType: HTTPField?
        var contentTypeCount = 0
        /// From the first field, if there are several.
        var contentDisposition: ContentDisposition?
        private var hasDisposition = false
        var hasContentCoding = false

        init(_ fields: HTTPFields) {
            for field in fields {
                switch field.name {
                case .contentType:
                    contentType = field
                    contentTypeCount += 1
                case .contentDisposition where !hasDisposition:
                    hasDisposition = true
                    contentDisposition = ContentDisposition(parsing: unsafe field.withUnsafeBytesOfValue { unsafe Array($0) })
                case .contentEncoding: hasContentCoding = true
                default: break
                }
            }
        }
    }
}
