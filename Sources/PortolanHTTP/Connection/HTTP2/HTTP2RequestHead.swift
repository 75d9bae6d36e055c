// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax

/// A request as the fields of a HEADERS frame.
///
/// Fields that concern an HTTP/1.1 connection are omitted. `TE` must be `trailers`. Invalid input, such as a control
/// character in a value, throws an error, because it could inject another field.
///
/// RFC 9113 §8.2, §8.3.1
struct HTTP2RequestHead {
    private(set) var block = HTTP2FieldBlock()
    /// The size of the fields as text in bytes, as in an HTTP/1.1 message.
    private(set) var byteCount = 0

    init(_ request: PreparedRequest) throws(LoadError) {
        block.reserve(entries: request.fields.count + 6, bytes: 512)
        let scheme = String(request.url.scheme)
        let authority = request.fields.first { $0.name.canonicalName == "host" }?.value ?? RequestTarget.hostField(of: request.url)
        let path = request.path
        try check(request.method, [scheme, authority, path])
        add(":method", request.method.rawValue)
        add(":scheme", scheme)
        add(":authority", authority)
        add(":path", path)
        for field in request.fields { try addField(field) }
        if case .length(let length) = request.framing { add("content-length", String(length)) }
        if let urgency = Self.urgency(of: request) { add("priority", urgency) }
    }

    private func check(_ method: HTTPRequest.Method, _ pseudoFields: [String]) throws(LoadError) {
        for octet in method.rawValue.utf8 where !octet.isTokenOctet {
            throw LoadError(.badRequest, message: "the method has a character that no method may have; use letters, as in GET")
        }
        for value in pseudoFields {
            for octet in value.utf8 where octet <= 0x20 || octet >= 0x7F {
                throw LoadError(
                    .badURL, message: "the request target has a blank, control or other character that no URL may have; percent-encode it"
                )
            }
        }
    }

    private mutating func add(_ name: String, _ value: String) { add(name, value.utf8.span) }

    private mutating func add(_ name: String, _ value: Span<UInt8>, isNeverIndexed: Bool = false) {
        byteCount += name.utf8.count + value.count + 4
        block.append(name, value, isNeverIndexed: isNeverIndexed)
    }

    private mutating func addField(_ field: HTTPField) throws(LoadError) {
        let name = field.name.canonicalName
        switch name {
        // HTTP/2 has another form for these fields, or forbids them (RFC 9113 §8.2.2).
        case "host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings":
            return
        case "te":
            guard field.value.lowercased() == "trailers" else {
                throw LoadError(.badRequest, message: "the field 'TE' can't be sent as given: over HTTP/2 only 'trailers' is allowed")
            }
        default: break
        }
        let isValid = unsafe field.withUnsafeBytesOfValue { bytes in
            let octets = unsafe bytes.span
            for index in octets.indices where !octets[index].isFieldOctet { return false }
            // HTTP/2 forbids blanks around a value. They are not part of the value (RFC 9110 §5.5).
            let value = octets.extracting(octets.trimmed(0..<octets.count))
            add(name, value, isNeverIndexed: Self.isSecret(field, value.count))
            return true
        }
        guard isValid else {
            throw LoadError(.badRequest, message: "the value of the field '\(name)' has a control character; remove or encode it")
        }
    }

    /// Secrets are not added to the compression table, because an attacker could guess them there (RFC 7541 §7.1).
    /// A cookie of 20 bytes or more is too long to guess. nghttp2 itself does not add fields that seldom repeat.
    private static func isSecret(_ field: HTTPField, _ valueLength: Int) -> Bool {
        if field.indexingStrategy == .disallow || field.indexingStrategy == .avoid { return true }
        switch field.name {
        case .authorization, .proxyAuthorization: return field.indexingStrategy != .prefer
        case .cookie: return valueLength < 20 && field.indexingStrategy != .prefer
        default: return false
        }
    }

    /// The value of the `Priority` field: the urgency from 0 to 7 (RFC 9218). `nil` for the default urgency, 3, and if
    /// the request has its own `Priority` field.
    private static func urgency(of request: PreparedRequest) -> String? {
        guard request.priority != .normal, !request.fields.contains(priorityName) else { return nil }
        return request.priority > .normal ? "u=1" : "u=5"
    }

    // Never nil, because the name is a constant and a token.
    // swift-format-ignore: NeverForceUnwrap
    private static let priorityName = HTTPField.Name("priority")!
}
