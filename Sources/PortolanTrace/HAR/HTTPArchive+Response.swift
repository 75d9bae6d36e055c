// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON

/// A body as an archive has it.
struct ArchivedBody {
    var bytes: [UInt8] = []
    /// How many came.
    var count = 0
    /// Why it is not the whole body.
    var gap: String?
    /// What the bytes are, where that is not what the response says.
    var declared: MIMEType?
}

extension ErrorLocation {
    func response(for url: URLRecord, isOwn: Bool) throws(Problem) -> Response {
        var response = Response(url: url)
        // 0 stands for none, unless a server has sent it.
        if let status = self["status"], let code = try status.count(), code > 0 || self["_hasStatus"] != nil {
            guard (0...999).contains(code) else { throw status.problem("has to be a status from 0 to 999") }
            response.status = HTTPResponse.Status(code: code, reasonPhrase: try self["statusText"]?.text() ?? "")
        }
        response.fields = try fields(isOwn: isOwn)
        let content = self["content"]
        // Chromium writes `x-unknown` where there is none.
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

    /// Where a redirect leads; `nil` where the response is none, or says so in a way that can't be read, which the loader judges.
    ///
    /// - Parameter isOwn: what is told is where it led, which its field without a password may not say.
    func redirect(from url: URLRecord, _ response: Response, isOwn: Bool) throws(Problem) -> URLRecord? {
        let told = try self["redirectURL"]?.text() ?? ""
        if !isOwn || told.isEmpty, case .url(let target) = RedirectTarget(of: response) { return target }
        // Without a status it is one of another protocol; with one the URL may be that of a Location that is no redirect.
        guard !told.isEmpty, response.status == nil || [301, 302, 303, 307, 308].contains(response.status?.code) else { return nil }
        do throws(URLSyntaxError) {
            return try URLRecord(parsing: told, relativeTo: url)
        } catch {
            throw problem("has a redirectURL that is none: \(error)")
        }
    }

    /// - Parameter isOwn: what can be no field is an error. That of others is left out, as they write also what no server has sent.
    func fields(isOwn: Bool) throws(Problem) -> HTTPFields {
        var fields = HTTPFields()
        guard let list = self["headers"] else { return fields }
        for field in try list.elements() {
            let (name, value) = (try field.required("name").text(), try field["value"]?.text() ?? "")
            do throws(HTTPFields.Unfitness) {
                try fields.append(recorded: name, value)
            } catch {
                if isOwn || error != .isNoField { throw field.problem(error.rawValue) }
            }
        }
        return fields
    }

    /// - Parameter encoding: says `base64` where the text is that.
    func bytes(encoding: ErrorLocation?) throws(Problem) -> [UInt8] {
        let text = try text()
        switch try encoding?.text().lowercased() {
        case nil, "": return Array(text.utf8)
        case "base64": return try base64()
        case let other?: throw (encoding ?? self).problem("is '\(other)'; only base64 is known")
        }
    }

    /// The body of this response.
    ///
    /// - Parameter isOwn: the text is the very bytes that came. A browser's is what it made of them.
    func body(of method: HTTPRequest.Method, _ response: Response, isOwn: Bool) throws(Problem) -> ArchivedBody {
        let content = self["content"]
        let size = try content?["size"]?.count() ?? 0
        if method == .head || [204, 304].contains(response.status?.code) { return ArchivedBody() }
        let comment = try content?["comment"]?.text()
        guard let content, let text = content["text"] else {
            let size = size > 0 ? size : try announcedSize(of: response)
            guard size > 0 else { return ArchivedBody() }
            return ArchivedBody(count: size, gap: "it has none of the \(size) bytes" + (comment.map { " ('\($0)')" } ?? ""))
        }
        var body = ArchivedBody(bytes: try text.bytes(encoding: content["encoding"]))
        body.count = body.bytes.count
        let isText = content["encoding"] == nil && !isOwn
        let isASCII = body.bytes.allSatisfy { $0 < 0x80 }
        if isText, !isASCII, let type = response.mimeType, type.charset?.lowercased() ?? "utf-8" != "utf-8" {
            // It was read as Unicode, and is UTF-8 here.
            body.declared = type.declaringUTF8
        }
        let charset = response.mimeType?.charset?.lowercased() ?? "utf-8"
        let isShorter =
            if !isText {
                body.count < size
            } else if charset == "utf-8" || charset == "utf8" || (isASCII && !charset.hasPrefix("utf-")) {
                // A byte order mark is gone.
                body.count < size && body.count + 3 != size
            } else {
                // What a browser has decoded is shorter in UTF-8 by no more than that.
                body.count * 4 + 4 < size
            }
        if isShorter {
            body.gap = "it has the first \(body.count) bytes of \(size)"
            body.count = size
        }
        return body
    }

    /// How many bytes of body there were, as the rest of the response has it, where the content says nothing; 0 where that does neither. The body of
    /// a redirect nobody reads, and it is seldom there.
    private func announcedSize(of response: Response) throws(Problem) -> Int {
        guard let status = response.status?.code, ![301, 302, 303, 307, 308].contains(status) else { return 0 }
        let sent = try self["bodySize"]?.count() ?? 0
        return sent > 0 ? sent : response.contentLength.flatMap { Int(exactly: min($0, 9_000_000_000_000_000)) } ?? 0
    }
}

extension String {
    fileprivate var archivedMIMEType: MIMEType? { self == "x-unknown" ? nil : MIMEType(parsing: self) }
}

extension MIMEType {
    fileprivate var declaringUTF8: MIMEType {
        let others = parameters.filter { $0.name != "charset" }.map { ";\($0.name)=\"\($0.value.filter { $0 != "\"" && $0 != "\\" })\"" }
        return MIMEType(parsing: essence + others.joined() + ";charset=utf-8") ?? self
    }
}

extension Response {
    /// What Content-Length says, where it is digits alone (RFC 9110 §8.6).
    fileprivate var contentLength: Int64? {
        fields[.contentLength].flatMap { text in
            text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
        }
    }

    mutating func declare(_ type: MIMEType) {
        (mimeType, textEncodingName) = (type, type.charset)
        fields[.contentType] = type.description
    }

    /// Announces the body's length where the response did, in a way that the recorded body keeps to. Content-Length is that of the bytes on the wire,
    /// which a content coding may have changed since; where it is wrong without one, it goes.
    ///
    /// - Parameters:
    ///   - isWhole: no more bytes came than are recorded.
    ///   - hasBody: the length is that of a body that comes.
    mutating func settleLength(bodyCount: Int, isWhole: Bool, hasBody: Bool) {
        guard status != nil else {
            if isWhole { expectedLength = Int64(bodyCount) }
            return
        }
        guard let length = contentLength, !fields.contains(.contentEncoding) else { return }
        if length == bodyCount || !hasBody || (!isWhole && length > bodyCount) {
            expectedLength = length
        } else if bodyCount > 0 {
            fields[.contentLength] = nil
        }
    }
}

extension Exchange {
    /// Adds the body in pieces, so that a slow reader can pause between them, spread over the time that it took.
    mutating func note(_ bytes: [UInt8], from start: Duration, to end: Duration, count: Int) {
        let size = 64 << 10
        let pieces = max(1, (bytes.count + size - 1) / size)
        guard count > 0 else { return }
        for piece in 0..<pieces {
            let kept = Array(bytes[piece * size..<min(bytes.count, (piece + 1) * size)])
            let isLast = piece == pieces - 1
            note(.data(kept, count: isLast ? count - piece * size : kept.count), at: start + (end - start) * (piece + 1) / pieces)
        }
    }
}
