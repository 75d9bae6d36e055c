// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import PortolanCore

/// Decodes a response's transfer codings, and its content codings if all of them are known.
///
/// - The response's `expectedLength` becomes `nil`, because the decoded length is not known in advance. Its fields stay
///   unchanged, including Content-Encoding and Content-Length, as in Fetch and curl.
///   ``Response/remainingContentCodings`` names the codings that the bytes still have.
/// - If one of the content codings is unknown, all of them remain (Fetch, "handle content codings"). So the field
///   Content-Encoding describes the bytes.
/// - Transfer codings other than chunked belong to the message and not to its content. They are decoded whatever the
///   caller requests for the content codings (RFC 9112 §6.1, §7).
/// - Without a body (HEAD, 204, 304) nothing is decoded. The content codings also remain if the request asks for the
///   coded bytes (`Request.decodesContent`), and in a 206 response. A range counts coded bytes (RFC 9110 §14), and most
///   ranges do not begin where the coding begins.
/// - An empty body stays empty, whatever codings the response names, as in browsers.
///
/// Source: RFC 9110 §8.4; RFC 1950, 1951, 1952 (``Inflater``).
package struct ContentDecoding: BodyTransform {
    private let limits: ContentDecodingLimits
    private let hasBody: Bool
    private let keepsContentCodings: Bool
    /// Transfer codings other than chunked, in the order in which they were applied.
    private let transferCodings: [ContentCoding]
    private var codings: [ContentCoding] = []
    /// Created when the first bytes arrive.
    private var pipeline: DecodingPipeline?

    package init(for request: Request, transferCodings: [ContentCoding] = [], limits: ContentDecodingLimits) {
        self.limits = limits
        self.transferCodings = transferCodings
        hasBody = request.method != .head
        keepsContentCodings = !request.decodesContent
    }

    /// The value to send as Accept-Encoding; `nil` if the request already has that field, which then stays unchanged.
    ///
    /// For a range request it is `identity`, as in Fetch, because a range of coded bytes is seldom useful.
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
        let content = keepsContentCodings || response.status == .partialContent ? nil : Self.decodableCodings(names)
        if content == nil { response.remainingContentCodings = names }
        codings = (content ?? []) + transferCodings
        if codings.isEmpty { return .passes }
        response.expectedLength = nil
        return .transforms
    }

    /// - Returns: `nil` if one of the names is unknown.
    private static func decodableCodings(_ names: [String]) -> [ContentCoding]? {
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

/// Decodes content codings between a load and its client.
package typealias ContentDecodingStage = TransformStage<ContentDecoding>

extension ContentDecodingStage {
    package convenience init(for request: Request, limits: ContentDecodingLimits = ContentDecodingLimits(), next: any ProtocolClient) {
        self.init(ContentDecoding(for: request, limits: limits), next: next)
    }
}
