// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// Decides which fields an HTTP/1.1 request has, from the fields that the caller gave.
///
/// The caller's fields follow Host, unchanged and in their order. The handler sets the fields that belong to the
/// connection or delimit the body. It accepts these fields from the caller only if they agree with its own, and refuses
/// them otherwise. It does not drop them silently, because the caller would believe that they were sent. In detail:
///
/// - `Host` may be given once, to address another site of the server (as curl allows; Fetch does not).
/// - `Content-Length` may be given if it is the body's length.
/// - `Connection` may be `close` or `keep-alive`.
/// - `TE` may be `trailers`. `Connection: TE` belongs to it (RFC 9110 §10.1.4).
/// - `Expect` may be `100-continue`, if there is a body (RFC 9110 §10.1.1).
/// - `Transfer-Encoding`, `Keep-Alive`, `Proxy-Connection`, `Upgrade`, `HTTP2-Settings` and `Trailer` may not be given.
package struct RequestFields {
    /// The fields as they are sent.
    package let fields: HTTPFields
    /// Whether the body waits for a `100 (Continue)`.
    package let expectsContinue: Bool
    /// Whether the connection ends after the response.
    package let closes: Bool

    /// Values that are sent if the caller gives none.
    package struct Defaults {
        var userAgent: String?
        var acceptEncoding: String?
        /// Any type, as curl sends it.
        var accept: String? = "*/*"

        package init(userAgent: String? = nil, acceptEncoding: String? = nil, accept: String? = "*/*") {
            self.userAgent = userAgent
            self.acceptEncoding = acceptEncoding
            self.accept = accept
        }
    }

    /// swift-http-types does not expose this name, because it is a pseudo-field elsewhere.
    // Never nil, because the name is a constant and a token.
    // swift-format-ignore: NeverForceUnwrap
    package static let hostName = HTTPField.Name("Host")!

    /// - Parameters:
    ///   - host: the value of Host unless the caller gave one (``RequestTarget/hostField(of:)``).
    ///   - expectsContinue: whether the body waits for a 100 even if the caller did not request it.
    /// - Throws: ``LoadError/Code/badRequest`` for a field that can't be sent.
    package init(
        completing given: HTTPFields, host: String, framing: RequestFraming, defaults: Defaults, expectsContinue: Bool = false
    ) throws(LoadError) {
        var review = Review(framing: framing)
        for field in given { try review.take(field) }
        let expects = review.expectsContinue || expectsContinue && framing.hasBody

        var fields = HTTPFields()
        fields.reserveCapacity(given.count + 6)
        fields.append(review.host ?? HTTPField(name: Self.hostName, value: host))
        if let text = defaults.userAgent, !given.contains(.userAgent) { fields.append(HTTPField(name: .userAgent, value: text)) }
        if let text = defaults.accept, !given.contains(.accept) { fields.append(HTTPField(name: .accept, value: text)) }
        if let text = defaults.acceptEncoding, !given.contains(.acceptEncoding) {
            fields.append(HTTPField(name: .acceptEncoding, value: text))
        }
        for field in given where !Review.ownNames.contains(field.name.canonicalName) {
            if field.name != .cookie { fields.append(field) } else if !fields.contains(.cookie) { fields.append(Self.cookie(of: given)) }
        }
        switch framing {
        case .none: break
        case .length(let length): fields.append(HTTPField(name: .contentLength, value: String(length)))
        case .chunked: fields.append(HTTPField(name: .transferEncoding, value: "chunked"))
        }
        if expects { fields.append(HTTPField(name: .expect, value: "100-continue")) }
        if let options = review.connectionOptions { fields.append(HTTPField(name: .connection, value: options)) }
        self.fields = fields
        self.expectsContinue = expects
        closes = review.closes
    }

    /// The one `Cookie` field that a request may have, with the cookies of all given ones.
    ///
    /// RFC 6265bis §5.8; RFC 9113 §8.2.3
    private static func cookie(of given: HTTPFields) -> HTTPField {
        let values = given.filter { $0.name == .cookie }.map { field in unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }
        return HTTPField(name: .cookie, value: Array(values.joined(separator: [.semicolon, .space])))
    }
}

/// The values of the caller's fields that concern the connection.
private struct Review {
    /// Names that are not copied from the caller's fields. They are written anew, or refused.
    static let ownNames: Set<String> = ["host", "content-length", "connection", "expect"]

    let framing: RequestFraming
    var host: HTTPField?
    var closes = false
    var keepsAlive = false
    var takesTrailers = false
    var expectsContinue = false

    var connectionOptions: String? {
        let options = (closes ? ["close"] : keepsAlive ? ["keep-alive"] : []) + (takesTrailers ? ["TE"] : [])
        return options.isEmpty ? nil : options.joined(separator: ", ")
    }

    mutating func take(_ field: HTTPField) throws(LoadError) {
        switch field.name.canonicalName {
        case "host": try takeHost(field)
        case "content-length": try takeContentLength(field)
        case "connection": try takeConnection(field)
        case "te":
            guard field.value.lowercased() == "trailers" else {
                throw Self.refusal(field, "only 'trailers' is allowed; use Accept-Encoding for content codings")
            }
            takesTrailers = true
        case "expect":
            guard field.value.lowercased() == "100-continue" else { throw Self.refusal(field, "only '100-continue' is allowed") }
            guard framing.hasBody else { throw Self.refusal(field, "the request has no body; leave it out") }
            expectsContinue = true
        case "transfer-encoding": throw Self.refusal(field, "leave it out; a body whose length is not known is sent chunked")
        case "upgrade", "http2-settings": throw Self.refusal(field, "leave it out; HTTP/2 is negotiated with TLS")
        case "keep-alive", "proxy-connection": throw Self.refusal(field, "leave it out; connections are kept open without it")
        case "trailer": throw Self.refusal(field, "leave it out; requests are sent without trailers")
        default: break
        }
    }

    private mutating func takeHost(_ field: HTTPField) throws(LoadError) {
        guard host == nil else { throw Self.refusal(field, "it is given twice; give one") }
        guard !field.value.utf8.contains(where: { $0 <= 0x20 || $0 == .comma || $0 >= 0x7F || $0 == UInt8(ascii: "/") }) else {
            throw Self.refusal(field, "write a host and, after a colon, a port")
        }
        host = field
    }

    private func takeContentLength(_ field: HTTPField) throws(LoadError) {
        guard case .length(let length) = framing else {
            throw Self.refusal(field, framing == .chunked ? "give the length with the body" : "the request has no body; leave it out")
        }
        guard field.value == String(length) else { throw Self.refusal(field, "the body has \(length) bytes; leave it out") }
    }

    private mutating func takeConnection(_ field: HTTPField) throws(LoadError) {
        for option in field.value.lowercased().split(separator: ",") {
            switch option.trimmingBlanks {
            case "close": closes = true
            case "keep-alive": keepsAlive = true
            case "te": break  // follows from TE
            case "": break
            default: throw Self.refusal(field, "only 'close' and 'keep-alive' are allowed")
            }
        }
    }

    private static func refusal(_ field: HTTPField, _ remedy: String) -> LoadError {
        LoadError(.badRequest, message: "the field '\(field.name.rawName)' can't be sent as given: \(remedy)")
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring {
        var rest = self[...]
        while let first = rest.utf8.first, first.isBlank { rest.removeFirst() }
        while let last = rest.utf8.last, last.isBlank { rest.removeLast() }
        return rest
    }
}
