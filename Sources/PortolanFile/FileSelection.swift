// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCore

/// The bytes of a file that a request selects, and the response that describes them.
struct FileSelection {
    /// The bytes to deliver; `nil` means all bytes, if the size of the file is not known.
    let range: Range<Int64>?
    private let isPart: Bool
    private let size: Int64?
    private let lastModified: HTTPDate?

    /// - Throws: ``LoadError/Code/rangeNotSatisfiable``.
    ///
    /// RFC 9110 §13.1.5, §14.2
    init(of file: borrowing RegularFile, for request: Request) throws(LoadError) {
        lastModified = HTTPDate(secondsSince1970: file.modificationTime)
        size = file.size
        guard let size, let requestedRange = Self.requestedRange(in: request, lastModified: lastModified) else {
            range = file.size.map { 0..<$0 }
            isPart = false
            return
        }
        switch requestedRange.resolved(in: size) {
        case .part(let part):
            range = part
            isPart = true
        case .whole:
            range = 0..<size
            isPart = false
        case .notSatisfiable:
            let remedy = size == 0 ? "load it without a Range field" : "ask for bytes from 0 to \(size - 1)"
            throw LoadError(
                .rangeNotSatisfiable,
                message: "the range '\(requestedRange)' lies outside file '\(file.path)', which has \(size) bytes; \(remedy)")
        }
    }

    /// Returns the range of a GET request; `nil` if the request has none, or if its `If-Range` field is not exactly the
    /// date in `Last-Modified`. Files have no entity tags, so no tag matches. Several ranges would need a multipart
    /// body, so they are ignored.
    private static func requestedRange(in request: Request, lastModified: HTTPDate?) -> ByteRange? {
        guard request.method == .get, let ranges = ByteRange.requested(by: request.fields), ranges.count == 1 else { return nil }
        if let validator = request.fields[.ifRange], validator != lastModified?.description { return nil }
        return ranges.first
    }

    /// The response has no status, because `file:` has none. `Content-Range` shows that a part is delivered.
    func response(to request: Request, type: MIMEType) -> Response {
        let length = range.map { $0.upperBound - $0.lowerBound }
        var fields: HTTPFields = [.contentType: type.description]
        if let length { fields[.contentLength] = String(length) }
        if let lastModified { fields[.lastModified] = lastModified.description }
        if let size, let range {
            fields[.acceptRanges] = "bytes"
            if isPart { fields[.contentRange] = ContentRange(range, of: size).description }
        }
        return Response(url: request.url, mimeType: type, expectedLength: length, fields: fields)
    }
}
