// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import HTTPTypes
public import PortolanCore

/// The response of a ``StubHandler`` to a request.
public struct StubResponse: Sendable {
    public var mimeType: MIMEType?
    /// The status. If it is `nil`, the response to an `http:` or `https:` request has the status 200, or 302 with a
    /// ``redirect``, and other responses have none.
    public var status: HTTPResponse.Status?
    public var fields: HTTPFields = [:]
    /// The body, in the pieces in which it is delivered.
    public var pieces: [[UInt8]] = []
    /// Whether the response announces the body's length.
    public var announcesLength = true
    /// The error that ends the load after the pieces; `nil` if it finishes.
    public var failure: LoadError?
    /// The URL of a redirect, which comes before everything else.
    public var redirect: URLRecord?

    public init() {}

    public static func text(_ text: String) -> StubResponse {
        var response = StubResponse()
        response.mimeType = MIMEType(parsing: "text/plain;charset=utf-8")
        response.pieces = text.isEmpty ? [] : [Array(text.utf8)]
        return response
    }

    /// A body of JSON (RFC 8259), as text.
    public static func json(text: String, status: HTTPResponse.Status = .ok) -> StubResponse {
        var response = text.isEmpty ? StubResponse() : .pieces([Array(text.utf8)])
        response.mimeType = MIMEType(parsing: "application/json")
        response.status = status
        return response
    }

    /// A value as JSON.
    ///
    /// - Throws: the error of `JSONEncoder`.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> StubResponse {
        json(text: String(decoding: try JSONEncoder().encode(value), as: UTF8.self), status: status)
    }

    /// A response with a status and without a body.
    public static func status(_ status: HTTPResponse.Status) -> StubResponse {
        var response = StubResponse()
        response.status = status
        return response
    }

    public static func pieces(_ pieces: [[UInt8]]) -> StubResponse {
        var response = StubResponse()
        response.pieces = pieces
        return response
    }

    public static func redirect(to url: URLRecord) -> StubResponse {
        var response = StubResponse()
        response.redirect = url
        return response
    }

    /// Makes the load that delivers this response.
    func makeLoad(for request: Request, client: any ProtocolClient) -> ScriptedLoad {
        let length = pieces.reduce(0) { $0 + Int64($1.count) }
        let isHTTP = request.url.scheme == "http" || request.url.scheme == "https"
        let defaultStatus: HTTPResponse.Status? = isHTTP ? (redirect == nil ? .ok : .found) : nil
        let response = Response(
            url: request.url, mimeType: mimeType, expectedLength: announcesLength ? length : nil, status: status ?? defaultStatus,
            fields: fields)
        var events: [ScriptedLoad.Event] = [.response(response)]
        if let redirect {
            var successor = request
            successor.url = redirect
            events.insert(.redirect(to: successor, response), at: 0)
        }
        events += pieces.map { .data($0) }
        events.append(failure.map { .failure($0) } ?? .finish)
        return ScriptedLoad(events, client: client)
    }
}
