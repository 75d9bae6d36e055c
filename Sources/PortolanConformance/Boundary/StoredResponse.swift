// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import PortolanPlugins

/// A stored response that a check offers to a load.
struct StoredResponse: Sendable {
    enum Reading: Hashable, Sendable {
        case whole
        /// Each read gives one byte.
        case byteByByte
        /// Reads that begin at or after this offset fail.
        case failing(at: Int64)
    }

    var response: Response
    var body: [UInt8]
    var storage: CacheStoragePolicy
    /// How `read_cached` gives the body.
    var reading = Reading.whole

    /// Makes the stored form of a response; `nil` if it cannot be stored.
    init?(_ delivered: ReadResponse, body: [UInt8], of request: Request) {
        guard let storage = CacheStoragePolicy(rawValue: delivered.storage), storage != .notAllowed else { return nil }
        var fields = HTTPFields()
        for field in delivered.fields ?? [] {
            guard let name = field.name.text.flatMap({ HTTPField.Name($0) }) else { continue }
            fields.append(HTTPField(name: name, value: field.value.bytes ?? []))
        }
        // `try?` because BODY-11 reports a URL that does not parse.
        let url = delivered.url.text.flatMap { try? URLRecord(parsing: $0) } ?? request.url
        response = Response(
            url: url, mimeType: delivered.mimeType.text.flatMap { MIMEType(parsing: $0) }, textEncodingName: delivered.charset.text,
            expectedLength: delivered.expectedLength < 0 ? nil : delivered.expectedLength, suggestedFilename: delivered.name.text,
            status: (200...999).contains(delivered.status) ? HTTPResponse.Status(code: Int(delivered.status)) : nil, fields: fields)
        (self.body, self.storage) = (body, storage)
    }

    /// The bytes that a call of `read_cached` gives; `nil` if they cannot be read.
    func bytes(at offset: Int64, atMost capacity: Int) -> ArraySlice<UInt8>? {
        var limit = capacity
        switch reading {
        case .whole: break
        case .byteByByte: limit = min(limit, 1)
        case .failing(let failingOffset):
            if offset >= failingOffset { return nil }
            limit = min(limit, Int(clamping: failingOffset - offset))
        }
        guard limit > 0, (0..<Int64(body.count)).contains(offset) else { return [] }
        return body[Int(offset)...].prefix(limit)
    }

    /// The form that a handler of this process receives.
    var cachedResponse: CachedResponse {
        guard case .failing = reading else { return CachedResponse(response: response, body: .bytes(body)) }
        let unreadableBody = Body(length: nil, isRewindable: true) { () throws(LoadError) in
            throw LoadError(.ioFailed, message: "the stored response could not be read")
        }
        return CachedResponse(response: response, body: unreadableBody)
    }
}

/// A stored response as the plugin borrows it, on separate memory pages.
@safe
final class StoredResponseImage: @unchecked Sendable {  // … because it does not change
    private let pages: ReadOnlyPages<portolan_response>
    var pointer: UnsafePointer<portolan_response> { unsafe pages.pointer }

    /// - Throws: If no memory can be mapped.
    init(_ stored: StoredResponse) throws(CheckSkipped) {
        unsafe pages = try unsafe ReadOnlyPages { unsafe portolan_response(stored.response, storage: stored.storage, in: &$0) }
    }
}
