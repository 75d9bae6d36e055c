// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import PortolanCoding
public import PortolanCore

/// Passes a body through ``BodyStages``, and records what the client receives. For the fuzzer.
@_spi(Fuzzing) public final class InMemoryBody: Sendable {
    /// A body, and how it is loaded.
    public struct Input: Sendable {
        /// The value of Content-Encoding; empty if the response has no such field.
        public var codings = ""
        /// The value of Content-Type; empty if the response has no such field.
        public var contentType = ""
        public var pieces: [ArraySlice<UInt8>] = []
        public var decoding = ContentDecodingLimits()
        public var multipart = MultipartLimits()
        /// The number of events after which the client pauses each time; 0 means that it never pauses.
        public var pauseInterval = 0
        /// Whether the body ends during the pause after its last piece.
        public var endsInPause = false

        public init() {}
    }

    private let client: PartsClient

    public init?(_ input: Input) {
        guard let request = try? Request("http://a/") else { return nil }  // because the text is a constant
        client = PartsClient(pauseInterval: input.pauseInterval)
        let response = Self.response(to: request, input)
        guard let stage = BodyStages(decoding: input.decoding, multipart: input.multipart).make(for: response, to: request, client: client)
        else { return nil }
        var flow = stage.didReceive(response, storage: .allowed)
        for (index, piece) in input.pieces.enumerated() {
            while flow == .pause { flow = stage.resume() }
            if flow == .stopped { return }
            let bytes = Array(piece)
            let span = unsafe bytes.span.bytes
            flow = stage.didLoad(span)
            if input.endsInPause, index == input.pieces.count - 1 { break }
        }
        while flow == .pause, !input.endsInPause { flow = stage.resume() }
        if flow != .stopped { stage.didFinishLoading() }
        flow = stage.resume()
        while flow == .pause { flow = stage.resume() }
    }

    private static func response(to request: Request, _ input: Input) -> Response {
        var fields = HTTPFields()
        if !input.codings.isEmpty { fields[.contentEncoding] = input.codings }
        if !input.contentType.isEmpty { fields[.contentType] = input.contentType }
        return Response(url: request.url, mimeType: MIMEType(parsing: input.contentType), status: .ok, fields: fields)
    }

    /// The data of each response.
    public var parts: [[UInt8]] { client.parts }
    /// The error of the load; `nil` if the load finished, or did not end.
    public var error: LoadError? { client.error }
    /// A violation of the order of events, also a missing end; `nil` if there was none.
    public var disorder: String? { client.disorder ?? (client.hasEnded ? nil : "there was no end") }
}

/// Records each response's data.
private final class PartsClient: ProtocolClient, @unchecked Sendable {
    // … because one thread makes all calls.
    private let pauseInterval: Int
    private var eventCount = 0
    private(set) var parts: [[UInt8]] = []
    private(set) var error: LoadError?
    private(set) var hasEnded = false
    private(set) var disorder: String?

    init(pauseInterval: Int) {
        self.pauseInterval = pauseInterval
    }

    /// Records an event.
    ///
    /// - Parameters:
    ///   - isAllowed: whether the event is allowed now.
    ///   - violation: describes the event if it is not allowed.
    private func record(_ isAllowed: Bool, _ violation: String) -> Flow {
        if hasEnded { disorder = disorder ?? "something came after the end" }
        if !isAllowed { disorder = disorder ?? violation }
        eventCount += 1
        return pauseInterval > 0 && eventCount % pauseInterval == 0 ? .pause : .keepGoing
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        parts.append([])
        return record(true, "")
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let isAllowed = !parts.isEmpty && !bytes.isEmpty
        if isAllowed { unsafe bytes.withUnsafeBytes { unsafe parts[parts.count - 1].append(contentsOf: $0) } }
        return record(isAllowed, "data were empty, or came before a response")
    }

    func didFinishLoading() {
        _ = record(!parts.isEmpty, "it finished without a response")
        hasEnded = true
    }

    func didFail(with error: LoadError) {
        _ = record(true, "")
        hasEnded = true
        self.error = error
    }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow { .keepGoing }
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}
    func didReceiveInterim(_ response: Response) {}
    func didReceiveTrailers(_ fields: HTTPFields) {}
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {}
    func didReach(_ step: LoadStep) {}
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { answer(nil) }
    func didReceive(_ challenge: AuthenticationChallenge) {}
    func didCancel(_ challenge: AuthenticationChallenge) {}
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "this client makes no nested loads"), client: client)
    }
}
