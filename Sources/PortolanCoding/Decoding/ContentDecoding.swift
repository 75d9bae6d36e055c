// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import PortolanCore

/// Undoes a response's transfer codings, and its content codings where all of them are known.
///
/// - The response's `expectedLength` becomes `nil`, as how much comes out is not known before. Its fields stay as they came,
///   Content-Encoding and Content-Length among them, as Fetch and curl leave them; ``Response/remainingContentCodings`` names what the
///   bytes still carry.
/// - Where one of the content codings is not known, all remain (Fetch, "handle content codings"): so the field says what the bytes are.
/// - Transfer codings beside chunked belong to the message and not to what it carries: they are undone whatever the caller wants of the content
///   codings (RFC 9112 §6.1, §7).
/// - There is nothing to undo without a body (HEAD, 204, 304), nor where the request asks for the coded bytes (``DisablesContentDecoding``),
///   nor in 206: a range is one of the coded bytes (RFC 9110 §14), of which most do not begin where a coding does. All codings remain then.
/// - An empty body is an empty body, whatever codings it is said to have, as in browsers.
///
/// Source: RFC 9110 §8.4; RFC 1950, 1951, 1952 (``Inflater``).
package struct ContentDecoding: BodyTransform {
    private let limits: ContentDecodingLimits
    private let hasBody: Bool
    private let keepsCoding: Bool
    /// Beside chunked, in the order in which they were applied.
    private let transferCodings: [ContentCoding]
    private var codings: [ContentCoding] = []
    /// Made when the first bytes come.
    private var pipeline: DecodingPipeline?

    package init(for request: Request, transferCodings: [ContentCoding] = [], limits: ContentDecodingLimits) {
        self.limits = limits
        self.transferCodings = transferCodings
        hasBody = request.method != .head
        keepsCoding = request[DisablesContentDecoding.self] ?? false
    }

    /// What to send as Accept-Encoding; `nil` where the request has that field, which then stays as it is.
    ///
    /// With a range it is `identity`, as in Fetch: a range of coded bytes is seldom what is wanted.
    package static func acceptEncoding(for request: Request) -> String? {
        if request.fields.contains(.acceptEncoding) { return nil }
        return request.fields.contains(.range) ? "identity" : "gzip, deflate"
    }

    package mutating func begin(_ response: inout Response) throws(LoadError) -> BodyTreatment {
        pipeline = nil
        codings = []
        guard hasBody, response.status != .noContent, response.status != .notModified else { return .passes }
        let names = response.fields.contentCodings
        let count = names.count + transferCodings.count
        guard count <= limits.maximumCodings else { throw LoadError(codings: count, over: limits.maximumCodings) }
        let content = keepsCoding || response.status == .partialContent ? nil : Self.known(names)
        if content == nil { response.remainingContentCodings = names }
        codings = (content ?? []) + transferCodings
        if codings.isEmpty { return .passes }
        response.expectedLength = nil
        return .transforms
    }

    /// - Returns: `nil` where one of them is not known.
    private static func known(_ names: [String]) -> [ContentCoding]? {
        let codings = names.compactMap { ContentCoding(name: $0) }
        return codings.count == names.count ? codings : nil
    }

    package mutating func advance(
        _ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient
    ) throws(LoadError) -> Flow {
        if pipeline == nil {
            if input.isEmpty { return .keepGoing }
            pipeline = DecodingPipeline(codings, limits: limits)
        }
        return try pipeline?.advance(input, from: &position, to: client) ?? .keepGoing
    }

    package mutating func finish(to client: any ProtocolClient) throws(LoadError) -> Flow {
        try pipeline?.finish()
        return .keepGoing
    }
}

/// Undoes content codings between a load and its client.
package typealias ContentDecodingStage = TransformStage<ContentDecoding>

extension ContentDecodingStage {
    package convenience init(for request: Request, limits: ContentDecodingLimits = ContentDecodingLimits(), next: any ProtocolClient) {
        self.init(ContentDecoding(for: request, limits: limits), next: next)
    }
}
