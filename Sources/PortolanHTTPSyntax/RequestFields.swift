// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// The fields of an HTTP/1.1 request: those of the caller, and those that the handler adds.
///
/// Host is the first field. The ``Defaults`` follow, then the caller's fields in their order. Several `Cookie` fields
/// become one, and other fields are unchanged. The handler sets the fields that concern the connection or the length of
/// the body. If the caller also gives such a field, the caller's value must agree with the handler's. Otherwise the
/// request fails. The caller's field is not dropped silently, because the caller would believe that it was sent. In
/// detail:
///
/// - `Host` can be given once, to address another site of the server (as curl allows; Fetch does not).
/// - `Content-Length` must be the length of the body.
/// - `Connection` can have only the options `close`, `keep-alive` and `TE`.
/// - `TE` must be `trailers`. The handler then adds `Connection: TE` (RFC 9110 §10.1.4).
/// - `Expect` must be `100-continue`, and the request must have a body (RFC 9110 §10.1.1).
/// - `Transfer-Encoding`, `Keep-Alive`, `Proxy-Connection`, `Upgrade`, `HTTP2-Settings` and `Trailer` are refused.
package struct RequestFields {
    /// The fields as they are sent.
    package let fields: HTTPFields
    /// Whether the body waits for a `100 (Continue)`.
    package let expectsContinue: Bool
    /// Whether the connection ends after the response.
    package let closesConnection: Bool

    /// Values for fields that the caller does not give; `nil` for no such field.
    package struct Defaults {
        var userAgent: String?
        var acceptEncoding: String?
        /// Accepts any type by default, as curl does.
        var accept: String? = "*/*"

        package init(userAgent: String? = nil, acceptEncoding: String? = nil, accept: String? = "*/*") {
            self.userAgent = userAgent
            self.acceptEncoding = acceptEncoding
            self.accept = accept
        }
    }

    /// swift-http-types does not export this name, because Host is a pseudo-field in HTTP/2.
    // Never nil, because the name is a constant and a token.
    // swift-format-ignore: NeverForceUnwrap
    package static let hostName = HTTPField.Name("Host")!

    /// - Parameters:
    ///   - host: the value of Host if the caller gave none (``RequestTarget/hostField(of:)``).
    ///   - expectsContinue: whether the body waits for a 100 even if the caller did not request it.
    /// - Throws: ``LoadError/Code/badRequest`` for a field that can't be sent.
    package init(
        completing callerFields: HTTPFields, host: String, framing: RequestFraming, defaults: Defaults, expectsContinue: Bool = false
    ) throws(LoadError) {
        var connectionFields = ConnectionFields(framing: framing)
        for field in callerFields { try connectionFields.record(field) }
        let sendsExpectation = connectionFields.expectsContinue || expectsContinue && framing.hasBody

        var fields = HTTPFields()
        fields.reserveCapacity(callerFields.count + 6)
        fields.append(connectionFields.host ?? HTTPField(name: Self.hostName, value: host))
        if let text = defaults.userAgent, !callerFields.contains(.userAgent) { fields.append(HTTPField(name: .userAgent, value: text)) }
        if let text = defaults.accept, !callerFields.contains(.accept) { fields.append(HTTPField(name: .accept, value: text)) }
        if let text = defaults.acceptEncoding, !callerFields.contains(.acceptEncoding) {
            fields.append(HTTPField(name: .acceptEncoding, value: text))
        }
        for field in callerFields where !ConnectionFields.replacedNames.contains(field.name.canonicalName) {
            if field.name != .cookie {
                fields.append(field)
            } else if !fields.contains(.cookie) {
                fields.append(Self.joinedCookies(of: callerFields))
            }
        }
        switch framing {
        case .none: break
        case .length(let length): fields.append(HTTPField(name: .contentLength, value: String(length)))
        case .chunked: fields.append(HTTPField(name: .transferEncoding, value: "chunked"))
        }
        if sendsExpectation { fields.append(HTTPField(name: .expect, value: "100-continue")) }
        if let options = connectionFields.connectionOptions { fields.append(HTTPField(name: .connection, value: options)) }
        self.fields = fields
        self.expectsContinue = sendsExpectation
        closesConnection = connectionFields.closesConnection
    }

    /// Joins all `Cookie` fields of the caller, because a request must not have more than one.
    ///
    /// RFC 6265bis §5.8; RFC 9113 §8.2.3
    private static func joinedCookies(of callerFields: HTTPFields) -> HTTPField {
        let values = callerFields.filter { $0.name == .cookie }.map { field in unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }
        return HTTPField(name: .cookie, value: Array(values.joined(separator: [.semicolon, .space])))
    }
}

/// The caller's fields that concern the connection or the body's length.
private struct ConnectionFields {
    /// Names of fields that are not copied from the caller's fields. The handler writes them itself.
    static let replacedNames: Set<String> = ["host", "content-length", "connection", "expect"]

    let framing: RequestFraming
    var host: HTTPField?
    var closesConnection = false
    var keepsConnectionOpen = false
    var acceptsTrailers = false
    var expectsContinue = false

    var connectionOptions: String? {
        let options = (closesConnection ? ["close"] : keepsConnectionOpen ? ["keep-alive"] : []) + (acceptsTrailers ? ["TE"] : [])
        return options.isEmpty ? nil : options.joined(separator: ", ")
    }

    mutating func record(_ field: HTTPField) throws(LoadError) {
        switch field.name.canonicalName {
        case "host": try recordHost(field)
        case "content-length": try checkContentLength(field)
        case "connection": try recordConnection(field)
        case "te":
            guard field.value.lowercased() == "trailers" else {
                throw Self.refusal(field, "only 'trailers' is allowed; use Accept-Encoding for content codings")
            }
            acceptsTrailers = true
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

    private mutating func recordHost(_ field: HTTPField) throws(LoadError) {
        guard host == nil else { throw Self.refusal(field, "it is given twice; give one") }
        guard !field.value.utf8.contains(where: { $0 <= 0x20 || $0 == .comma || $0 >= 0x7F || $0 == UInt8(ascii: "/") }) else {
            throw Self.refusal(field, "write a host and, after a colon, a port")
        }
        host = field
    }

    private func checkContentLength(_ field: HTTPField) throws(LoadError) {
        guard case .length(let length) = framing else {
            throw Self.refusal(field, framing == .chunked ? "give the length with the body" : "the request has no body; leave it out")
        }
        guard field.value == String(length) else { throw Self.refusal(field, "the body has \(length) bytes; leave it out") }
    }

    private mutating func recordConnection(_ field: HTTPField) throws(LoadError) {
        for option in field.value.lowercased().split(separator: ",") {
            switch option.trimmingBlanks {
            case "close": closesConnection = true
            case "keep-alive": keepsConnectionOpen = true
            case "te": break  // The handler adds it for TE.
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
