// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// The head of an answer, as it came and as the caller gets it.
struct Answer {
    let head: ResponseHead
    let response: Response
    let storage: CacheStoragePolicy
    /// Whether the body has a content coding, and nothing lies over it.
    let mayBeDecoded: Bool

    /// - Parameters:
    ///   - length: of the body to come, if it is known.
    ///   - type: of the last answer.
    init(_ head: ResponseHead, from url: URLRecord, bodyLength length: Int64?, type: inout ParsedType) {
        let notes = Notes(head.fields)
        self.head = head
        var response = Response(
            url: url, mimeType: notes.contentType.flatMap { type.parsing($0) }, expectedLength: length,
            suggestedFilename: notes.contentDisposition?.filename, status: head.httpStatus, fields: head.fields)
        // Nobody asked for a transfer coding but chunked: what else there is stays, and is said (RFC 9112 §6.3, rule 4).
        response.remainingContentCodings = head.framing.transferCodings
        self.response = response
        mayBeDecoded = notes.hasContentCoding && head.framing.transferCodings.isEmpty
        storage = notes.cacheControl.map(Self.storage) ?? .allowed
    }

    /// RFC 9111 §3, as far as the response alone tells.
    private static func storage(_ control: String) -> CacheStoragePolicy {
        let directives = control.split(separator: ",")
        let forbids = directives.contains { $0.trimmingPrefix { $0 == " " || $0 == "\t" }.lowercased().hasPrefix("no-store") }
        return forbids ? .notAllowed : .allowed
    }

    /// What is looked for in each head, in one pass: `HTTPFields` makes an index for the first look-up, which costs more.
    private struct Notes {
        var contentType: String?
        /// Of several, the first one.
        var contentDisposition: ContentDisposition?
        private var hasDisposition = false
        var cacheControl: String?
        var hasContentCoding = false

        init(_ fields: HTTPFields) {
            for field in fields {
                switch field.name {
                // Of several, the last one: what fields[.contentType] makes of them is no type (Fetch, "extract a MIME type").
                case .contentType: contentType = field.value
                case .contentDisposition where !hasDisposition:
                    hasDisposition = true
                    contentDisposition = ContentDisposition(parsing: unsafe field.withUnsafeBytesOfValue { unsafe Array($0) })
                case .cacheControl: cacheControl = cacheControl.map { "\($0), \(field.value)" } ?? field.value
                case .contentEncoding: hasContentCoding = true
                default: break
                }
            }
        }
    }
}
