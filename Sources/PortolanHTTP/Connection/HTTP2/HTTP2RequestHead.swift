// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHPACK
import PortolanCore

/// A request as the fields of a HEADERS frame.
///
/// Fields that concern an HTTP/1.1 connection stay behind; `TE` may say `trailers` only. What could be read as something else than it is, a
/// control character in a value say, is refused and never sent.
///
/// RFC 9113 §8.2, §8.3.1
struct HTTP2RequestHead {
    private(set) var block = HPACKHeaders()
    /// Of the fields as text, as an HTTP/1.1 message would have them.
    private(set) var byteCount = 0

    init(_ request: OutgoingRequest) throws(LoadError) {
        block.reserveCapacity(request.fields.count + 6)
        let scheme = String(request.url.scheme)
        let authority = request.fields.first { $0.name.canonicalName == "host" }?.value ?? RequestTarget.hostField(of: request.url)
        let path = request.path
        try check(request.method, [scheme, authority, path])
        add(":method", request.method.rawValue)
        add(":scheme", scheme)
        add(":authority", authority)
        // Few paths come again: they would only push out of the table what does.
        add(":path", path, .nonIndexable)
        for field in request.fields { try take(field) }
        if case .length(let length) = request.framing { add("content-length", String(length), .nonIndexable) }
        if let urgency = Self.urgency(of: request) { add("priority", urgency) }
    }

    /// The largest field section that one frame holds with every server (RFC 9113 §4.2): SwiftNIO sends no CONTINUATION frames.
    private static let mostBytes = 1 << 14
    /// The most that Huffman coding makes of an octet (RFC 7541, appendix B): 30 bits.
    private static let mostGrowth = 4

    /// - Throws: ``LoadError/Code/limitExceeded`` where the fields can't be sent.
    func checkSize() throws(LoadError) {
        guard byteCount * Self.mostGrowth > Self.mostBytes else { return }
        // As the connection codes them, or a little larger: it knows some of the fields already.
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        var coded = ByteBuffer()
        do { try encoder.encode(headers: block, to: &coded) } catch {
            let message = "the header fields of the request can't be coded for HTTP/2"
            throw LoadError(.badRequest, message: message, remedy: .useHTTP1, cause: error)
        }
        guard coded.readableBytes > Self.mostBytes else { return }
        throw LoadError(
            .limitExceeded,
            message: "the header fields of the request take \(coded.readableBytes) bytes, and over HTTP/2 at most \(Self.mostBytes) "
                + "are sent: send fewer or shorter ones",
            remedy: .useHTTP1)
    }

    private func check(_ method: HTTPRequest.Method, _ target: [String]) throws(LoadError) {
        for octet in method.rawValue.utf8 where !octet.isTokenOctet {
            throw LoadError(.badRequest, message: "the method holds a character that no method may hold; use letters, as in GET")
        }
        for text in target {
            for octet in text.utf8 where octet <= 0x20 || octet >= 0x7F {
                throw LoadError(
                    .badURL, message: "the request target holds a blank, control or other character that no URL may hold; percent-encode it"
                )
            }
        }
    }

    private mutating func add(_ name: String, _ value: String, _ indexing: HPACKIndexing = .indexable) {
        byteCount += name.utf8.count + value.utf8.count + 4
        block.add(name: name, value: value, indexing: indexing)
    }

    private mutating func take(_ field: HTTPField) throws(LoadError) {
        let name = field.name.canonicalName
        let value = field.value
        switch name {
        // Said otherwise, or of an HTTP/1.1 connection (RFC 9113 §8.2.2).
        case "host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings":
            return
        case "te":
            guard value.lowercased() == "trailers" else {
                throw LoadError(.badRequest, message: "the field 'TE' can't be sent as given: over HTTP/2 it says 'trailers' or nothing")
            }
        default: break
        }
        for octet in value.utf8 where !octet.isFieldOctet {
            throw LoadError(.badRequest, message: "the value of the field '\(name)' holds a control character; remove or encode it")
        }
        // Blanks around a value are no part of it (RFC 9110 §5.5), and here malformed.
        add(name, Self.trimmed(value), Self.indexing(of: field, value))
    }

    private static func trimmed(_ value: String) -> String {
        guard let first = value.utf8.first, let last = value.utf8.last, first.isBlank || last.isBlank else { return value }
        var rest = value[...]
        while rest.utf8.first?.isBlank == true { rest.removeFirst() }
        while rest.utf8.last?.isBlank == true { rest.removeLast() }
        return String(rest)
    }

    /// Secrets stay out of the table in which an attacker might guess them (RFC 7541 §7.1), as does what mostly differs.
    private static func indexing(of field: HTTPField, _ value: String) -> HPACKIndexing {
        switch field.indexingStrategy {
        case .prefer: return .indexable
        case .avoid: return .nonIndexable
        case .disallow: return .neverIndexed
        default: break
        }
        switch field.name {
        case .authorization, .proxyAuthorization: return .neverIndexed
        case .cookie: return value.utf8.count < 20 ? .neverIndexed : .indexable
        case .ifModifiedSince, .ifNoneMatch, .range: return .nonIndexable
        default: return .indexable
        }
    }

    /// How soon the server should answer this one among others, in RFC 9218's scale from 0 to 7; 3 is what is meant where nothing is said.
    private static func urgency(of request: OutgoingRequest) -> String? {
        guard request.priority != .normal, !request.fields.contains(priorityName) else { return nil }
        return request.priority > .normal ? "u=1" : "u=5"
    }

    // Never nil, because the name is a constant and a token.
    // swift-format-ignore: NeverForceUnwrap
    private static let priorityName = HTTPField.Name("priority")!
}
