// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// Removes secrets from a recording:
///
/// - User names and passwords in URLs, wherever the URLs occur.
/// - Unless ``keepsSecrets``: fields with names of secrets (``SecretName``), and the values of query parameters, form
///   members and JSON members with such names. In requests, ``marker`` replaces a secret. In response bodies, each byte
///   is replaced, so that lengths stay the same.
///
/// A second redaction changes nothing. So a redacted request can be compared with a recorded one.
package struct Redaction: Sendable {
    /// Replaces a secret in a request.
    package static let marker = "REDACTED"

    package let keepsSecrets: Bool

    package init(keepsSecrets: Bool = false) { self.keepsSecrets = keepsSecrets }

    package func url(_ url: URLRecord) -> URLRecord {
        if url.scheme == "data" { return url }
        let text = Array(url.description.utf8)
        // The path can contain another URL with a password, which can be percent-encoded.
        let passwords = SecretRanges.userInformation(in: text)
        let redacted = replaced(text, keepsSecrets ? passwords : passwords + SecretRanges.parameters(in: text, .url))
        if redacted == url.string { return url }
        // `try?` because a redacted URL that does not parse is replaced by the original without its user information.
        return (try? URLRecord(parsing: redacted)) ?? url.withoutCredentials
    }

    /// Redacts a message that can contain URLs.
    package func text(_ text: String) -> String {
        replaced(Array(text.utf8), ranges(inText: Array(text.utf8), includingReferences: false))
    }

    package func fields(_ fields: HTTPFields) -> HTTPFields {
        var keptFields = HTTPFields()
        for field in fields {
            if !keepsSecrets, SecretName.isSecret(field.name.canonicalName.utf8) { continue }
            let value = unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }
            let ranges = ranges(inField: value)
            keptFields.append(ranges.isEmpty ? field : HTTPField(name: field.name, value: replacedBytes(value, ranges)))
        }
        return keptFields
    }

    package func response(_ response: Response) -> Response {
        var response = response
        response.url = url(response.url)
        if let name = response.unsanitizedFilename {
            response.unsanitizedFilename = filename(name, from: response.fields[.contentDisposition])
        }
        response.fields = fields(response.fields)
        if let type = response.mimeType?.description {
            let redacted = replaced(Array(type.utf8), ranges(inField: Array(type.utf8)))
            if redacted != type { response.mimeType = MIMEType(parsing: redacted) }
        }
        response.textEncodingName = response.textEncodingName.map(text)
        if let status = response.status {
            response.status = HTTPResponse.Status(code: status.code, reasonPhrase: reasonPhrase(status.reasonPhrase))
        }
        return response
    }

    /// Redacts a reason phrase like a field value, because the server chose it.
    private func reasonPhrase(_ phrase: String) -> String { replaced(Array(phrase.utf8), ranges(inField: Array(phrase.utf8))) }

    /// Redacts a file name. The name can be the part of a URL after the last slash, which can begin with the URL's user
    /// information.
    ///
    /// - Parameter contentDisposition: the value of the field that proposed the name.
    private func filename(_ name: String, from contentDisposition: String?) -> String {
        let name = text(name)
        guard let atSign = name.utf8.lastIndex(of: UInt8(ascii: "@")) else { return name }
        let isOfURL = contentDisposition.map { !ranges(inField: Array($0.utf8)).isEmpty } ?? false
        return isOfURL || name.utf8[..<atSign].contains(UInt8(ascii: ":")) ? String(name[name.utf8.index(after: atSign)...]) : name
    }

    package func error(_ error: LoadError) -> LoadError {
        let message = error.description
        let redacted = text(message)
        return redacted == message ? error : LoadError(error.code, domain: error.domain, message: redacted)
    }

    package func request(_ request: Request) -> Request {
        var request = request
        request.url = url(request.url)
        request.fields = fields(request.fields)
        return request
    }

    /// Replaces each secret in a sent body with ``marker``.
    package func sentBody(_ bytes: [UInt8], of fields: HTTPFields) -> [UInt8] {
        guard !keepsSecrets, fields[.contentEncoding] == nil else { return bytes }
        let ranges = SecretRanges.body(bytes, type: MIMEType(parsing: fields[.contentType] ?? ""))
        return ranges.isEmpty ? bytes : replacedBytes(bytes, ranges)
    }

    /// Replaces secrets in bodies that arrived in pieces. No piece changes its length.
    ///
    /// - Parameters:
    ///   - head: returns the response, if the element is one.
    ///   - bytes: returns the piece of body, if the element is one.
    ///   - replace: sets the piece of body of an element.
    package func maskBodies<Element>(
        in elements: inout [Element], head: (Element) -> Response?, bytes: (Element) -> [UInt8]?, replace: (inout Element, [UInt8]) -> Void
    ) {
        if keepsSecrets { return }
        var response: Response?
        /// The indices of the elements with pieces of the current body.
        var pieces: [Int] = []
        func mask(_ elements: inout [Element]) {
            defer { pieces = [] }
            guard response?.remainingContentCodings.isEmpty ?? true else { return }
            let body = pieces.flatMap { bytes(elements[$0]) ?? [] }
            let maskedBody = Self.masked(body, SecretRanges.body(body, type: response?.mimeType))
            guard maskedBody != body else { return }
            var start = 0
            for piece in pieces {
                let count = bytes(elements[piece])?.count ?? 0
                replace(&elements[piece], Array(maskedBody[start..<start + count]))
                start += count
            }
        }
        for index in elements.indices {
            if let nextResponse = head(elements[index]) {
                mask(&elements)
                response = nextResponse
            } else if bytes(elements[index]) != nil {
                pieces.append(index)
            }
        }
        mask(&elements)
    }

    /// Returns the secrets of a field value, also in quoted strings, and in a value that is JSON as a whole.
    private func ranges(inField bytes: [UInt8]) -> [SecretRange] {
        var ranges = ranges(inText: bytes, includingReferences: true)
        if bytes.contains(UInt8(ascii: "\\")) {
            let text = CodedText(bytes, .quotedPairs)
            ranges += text.encoded(self.ranges(inText: text.decoded, includingReferences: true))
        }
        if !keepsSecrets, SecretRanges.isShapedLikeJSON(bytes) { ranges += SecretRanges.json(bytes).ranges }
        return ranges
    }

    private func ranges(inText bytes: [UInt8], includingReferences: Bool) -> [SecretRange] {
        let passwords = SecretRanges.userInformation(in: bytes, includingReferences: includingReferences)
        return keepsSecrets ? passwords : passwords + SecretRanges.parameters(in: bytes, .text)
    }

    private func replaced(_ bytes: [UInt8], _ ranges: [SecretRange]) -> String {
        String(decoding: ranges.isEmpty ? bytes : replacedBytes(bytes, ranges), as: UTF8.self)
    }

    private func replacedBytes(_ bytes: [UInt8], _ ranges: [SecretRange]) -> [UInt8] {
        var (replaced, position): ([UInt8], Int) = ([], 0)
        for range in ranges.sorted(by: { $0.bytes.lowerBound < $1.bytes.lowerBound }) where range.bytes.upperBound >= position {
            // A range that overlaps the previous one extends it.
            if range.bytes.lowerBound >= position {
                replaced += bytes[position..<range.bytes.lowerBound]
                switch range.kind {
                case .value: replaced += Self.marker.utf8
                case .number: replaced.append(UInt8(ascii: "0"))
                case .userInformation: break
                }
            }
            position = range.bytes.upperBound
        }
        return replaced + bytes[position...]
    }

    private static func masked(_ bytes: [UInt8], _ ranges: [SecretRange]) -> [UInt8] {
        var masked = bytes
        for range in ranges {
            switch range.kind {
            case .value: for index in range.bytes { masked[index] = UInt8(ascii: "*") }
            // The result is still a number.
            case .number: for index in range.bytes { masked[index] = UInt8(ascii: "9") }
            case .userInformation: for index in range.bytes.dropLast(range.atSignLength) { masked[index] = UInt8(ascii: "*") }
            }
        }
        return masked
    }
}

extension Transaction {
    package func redacted(by redaction: Redaction) -> Transaction {
        var transaction = self
        transaction.url = redaction.url(url)
        transaction.fields = redaction.fields(fields)
        transaction.body = body.map { redaction.sentBody($0, of: fields) }
        redaction.maskBodies(
            in: &transaction.moments, head: { if case .response(let response) = $0.event { response } else { nil } },
            bytes: { if case .data(let bytes, _) = $0.event { bytes } else { nil } },
            replace: { moment, bytes in
                if case .data(_, let count) = moment.event { moment = Moment(.data(bytes, count: count), at: moment.time) }
            })
        transaction.moments = transaction.moments.map { Moment($0.event.redacted(by: redaction), at: $0.time) }
        return transaction
    }
}

extension Transaction.Event {
    fileprivate func redacted(by redaction: Redaction) -> Self {
        switch self {
        case .interim(let response): .interim(redaction.response(response))
        case .redirect(let url, let response): .redirect(to: redaction.url(url), redaction.response(response))
        case .response(let response): .response(redaction.response(response))
        case .trailers(let fields): .trailers(redaction.fields(fields))
        case .failed(let error): .failed(redaction.error(error))
        case .interrupted(let reason): .interrupted(redaction.text(reason))
        case .data, .finished: self
        }
    }
}
