// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON

/// A body from an archive.
struct ArchivedBody {
    var bytes: [UInt8] = []
    /// The number of received bytes.
    var count = 0
    /// The reason why the body is incomplete; `nil` if it is complete.
    var incompleteness: String?
    /// The media type of `bytes`, if it differs from the response's type.
    var declaredType: MIMEType?
}

extension ErrorLocation {
    func response(for url: URLRecord, isFromPortolan: Bool) throws(Problem) -> Response {
        var response = Response(url: url)
        // 0 means no status, unless the server sent a 0.
        if let status = self["status"], let code = try status.count(), code > 0 || self["_hasStatus"] != nil {
            guard (0...999).contains(code) else { throw status.problem("has to be a status from 0 to 999") }
            response.status = HTTPResponse.Status(code: code, reasonPhrase: try self["statusText"]?.text() ?? "")
        }
        response.fields = try fields(isFromPortolan: isFromPortolan)
        let content = self["content"]
        // Chromium writes `x-unknown` for a missing type.
        response.mimeType =
            try content?["mimeType"]?.text().archivedMIMEType ?? MIMEType(extractedFrom: response.fields)
        response.textEncodingName = response.mimeType?.charset
        if let codings = content?["_codings"] {
            var names: [String] = []
            for coding in try codings.elements() { names.append(try coding.text()) }
            response.remainingContentCodings = names
        }
        return response
    }

    /// Returns the target of a redirect. Returns `nil` if the response is no redirect, or if it has no valid Location
    /// field and the archive has no `redirectURL`; the loader then handles the response.
    ///
    /// - Parameter isFromPortolan: whether Portolan wrote the archive. Then `redirectURL` takes precedence, because the
    ///   redacted Location field can lack a password.
    func redirect(from url: URLRecord, _ response: Response, isFromPortolan: Bool) throws(Problem) -> URLRecord? {
        let redirectURL = try self["redirectURL"]?.text() ?? ""
        if !isFromPortolan || redirectURL.isEmpty, case .url(let target) = RedirectTarget(of: response) { return target }
        // Without a status, the redirect comes from another protocol. With a status, the URL can come from a Location
        // field of a response that is no redirect.
        guard !redirectURL.isEmpty, response.status == nil || [301, 302, 303, 307, 308].contains(response.status?.code) else { return nil }
        do throws(URLSyntaxError) {
            return try URLRecord(parsing: redirectURL, relativeTo: url)
        } catch {
            throw problem("has a redirectURL that is not a URL: \(error)")
        }
    }

    /// - Parameter isFromPortolan: whether Portolan wrote the archive. Then an invalid field is an error. Other
    ///   programs also write fields that no server sent, so their invalid fields are ignored.
    func fields(isFromPortolan: Bool) throws(Problem) -> HTTPFields {
        var fields = HTTPFields()
        guard let list = self["headers"] else { return fields }
        for field in try list.elements() {
            let (name, value) = (try field.required("name").text(), try field["value"]?.text() ?? "")
            do throws(HTTPFields.InvalidField) {
                try fields.append(recorded: name, value)
            } catch {
                if isFromPortolan || error != .isInvalid { throw field.problem(error.rawValue) }
            }
        }
        return fields
    }

    /// Reads the bytes of a text.
    ///
    /// - Parameter encoding: the archive's `encoding` member: `base64`, or missing for plain text.
    func bytes(encoding: ErrorLocation?) throws(Problem) -> [UInt8] {
        let text = try text()
        switch try encoding?.text().lowercased() {
        case nil, "": return Array(text.utf8)
        case "base64": return try base64()
        case let other?: throw (encoding ?? self).problem("is '\(other)'; only base64 is known")
        }
    }

    /// Reads the body of this response.
    ///
    /// - Parameter isFromPortolan: whether Portolan wrote the archive. Then the text is exactly the received bytes. A
    ///   browser writes the decoded text.
    func body(of method: HTTPRequest.Method, _ response: Response, isFromPortolan: Bool) throws(Problem) -> ArchivedBody {
        let content = self["content"]
        let size = try content?["size"]?.count() ?? 0
        if method == .head || [204, 304].contains(response.status?.code) { return ArchivedBody() }
        let comment = try content?["comment"]?.text()
        guard let content, let text = content["text"] else {
            let size = size > 0 ? size : try announcedSize(of: response)
            guard size > 0 else { return ArchivedBody() }
            return ArchivedBody(count: size, incompleteness: "it has none of the \(size) bytes" + (comment.map { " ('\($0)')" } ?? ""))
        }
        var body = ArchivedBody(bytes: try text.bytes(encoding: content["encoding"]))
        body.count = body.bytes.count
        let isText = content["encoding"] == nil && !isFromPortolan
        let isASCII = body.bytes.allSatisfy { $0 < 0x80 }
        if isText, !isASCII, let type = response.mimeType, type.charset?.lowercased() ?? "utf-8" != "utf-8" {
            // The browser decoded the text, so its bytes are UTF-8 here.
            body.declaredType = type.declaringUTF8
        }
        let charset = response.mimeType?.charset?.lowercased() ?? "utf-8"
        let isCutOff =
            if !isText {
                body.count < size
            } else if charset == "utf-8" || charset == "utf8" || (isASCII && !charset.hasPrefix("utf-")) {
                // The difference of 3 bytes is a byte order mark, which the browser removed.
                body.count < size && body.count + 3 != size
            } else {
                // In another charset, the received body had at most four times as many bytes as the UTF-8 text, and a
                // byte order mark of 4 bytes.
                body.count * 4 + 4 < size
            }
        if isCutOff {
            body.incompleteness = "it has the first \(body.count) bytes of \(size)"
            body.count = size
        }
        return body
    }

    /// Returns the body size according to `bodySize` or, if that is not positive, Content-Length; 0 if both are
    /// unknown. Also returns 0 for a response without a status, and for a redirect, because clients do not read the
    /// body of a redirect, and archives seldom contain it.
    private func announcedSize(of response: Response) throws(Problem) -> Int {
        guard let status = response.status?.code, ![301, 302, 303, 307, 308].contains(status) else { return 0 }
        let bodySize = try self["bodySize"]?.count() ?? 0
        return bodySize > 0 ? bodySize : response.contentLength.flatMap { Int(exactly: min($0, 9_000_000_000_000_000)) } ?? 0
    }
}

extension String {
    fileprivate var archivedMIMEType: MIMEType? { self == "x-unknown" ? nil : MIMEType(parsing: self) }
}

extension MIMEType {
    fileprivate var declaringUTF8: MIMEType {
        let otherParameters = parameters.filter { $0.name != "charset" }
            .map { ";\($0.name)=\"\($0.value.filter { $0 != "\"" && $0 != "\\" })\"" }
        return MIMEType(parsing: essence + otherParameters.joined() + ";charset=utf-8") ?? self
    }
}

extension Response {
    /// The value of Content-Length, if it consists only of digits (RFC 9110 §8.6).
    fileprivate var contentLength: Int64? {
        fields[.contentLength].flatMap { text in
            text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
        }
    }

    /// Sets the media type, also in the Content-Type field.
    mutating func setContentType(_ type: MIMEType) {
        (mimeType, textEncodingName) = (type, type.charset)
        fields[.contentType] = type.description
    }

    /// Sets the expected length if the response announced one and the recorded body matches it. Content-Length counts
    /// the bytes on the wire, which a content coding may have changed. Without a content coding, a wrong Content-Length
    /// is removed.
    ///
    /// - Parameters:
    ///   - bodyCount: the number of recorded bytes.
    ///   - isComplete: whether all received bytes are recorded.
    ///   - hasBody: whether the length describes a body that follows.
    mutating func setExpectedLength(bodyCount: Int, isComplete: Bool, hasBody: Bool) {
        guard status != nil else {
            if isComplete { expectedLength = Int64(bodyCount) }
            return
        }
        guard let length = contentLength, !fields.contains(.contentEncoding) else { return }
        if length == bodyCount || !hasBody || (!isComplete && length > bodyCount) {
            expectedLength = length
        } else if bodyCount > 0 {
            fields[.contentLength] = nil
        }
    }
}

extension Transaction {
    /// Adds the body in pieces, spread over its duration, so that a slow reader can pause between them.
    mutating func appendBody(_ bytes: [UInt8], from start: Duration, to end: Duration, count: Int) {
        let size = 64 << 10
        let pieces = max(1, (bytes.count + size - 1) / size)
        guard count > 0 else { return }
        for piece in 0..<pieces {
            let pieceBytes = Array(bytes[piece * size..<min(bytes.count, (piece + 1) * size)])
            let isLast = piece == pieces - 1
            let time = start + (end - start) * (piece + 1) / pieces
            append(.data(pieceBytes, count: isLast ? count - piece * size : pieceBytes.count), at: time)
        }
    }
}
