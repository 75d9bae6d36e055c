// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import PortolanCore

/// Undoes a response's content codings, from the last one that was applied on, as far as they are known.
///
/// - The response's `expectedLength` becomes `nil`, as how much comes out is not known before. Its fields stay as they came,
///   Content-Encoding and Content-Length among them, as Fetch and curl leave them; ``Response/remainingContentCodings`` names what the
///   bytes still carry.
/// - Before a coding that is not known, none can be undone: of `gzip, br` both remain, of `br, gzip` the first does.
/// - There is nothing to undo without a body (HEAD, 204, 304), nor where the request asks for the coded bytes (``KeepsContentCoding``),
///   nor in 206: a range is one of the coded bytes (RFC 9110 §14), of which most do not begin where a coding does. All codings remain then.
/// - An empty body is an empty body, whatever codings it is said to have, as in browsers.
///
/// Source: RFC 9110 §8.4; RFC 1950, 1951, 1952 (``Inflater``).
package struct ContentDecoding: BodyTransform {
    private let limits: ContentDecodingLimits
    private let hasBody: Bool
    private let keepsCoding: Bool
    private var codings: [ContentCoding] = []
    /// Made when the first bytes come.
    private var pipeline: DecodingPipeline?

    package init(for request: Request, limits: ContentDecodingLimits) {
        self.limits = limits
        hasBody = request.method != .head
        keepsCoding = request[KeepsContentCoding.self] ?? false
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
        guard hasBody, response.status != .noContent, response.status != .notModified else { return .passes }
        let names = response.fields.contentCodings
        if names.isEmpty { return .passes }
        guard names.count <= limits.maximumCodings else { throw LoadError(codings: names.count, over: limits.maximumCodings) }
        codings = []
        if !keepsCoding, response.status != .partialContent {
            for name in names.reversed() {
                guard let coding = ContentCoding(name: name) else { break }
                codings.insert(coding, at: 0)
            }
        }
        response.remainingContentCodings = names.dropLast(codings.count)
        if codings.isEmpty { return .passes }
        response.expectedLength = nil
        return .transforms
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
