// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import PortolanCoding
public import PortolanCore

/// The data of a body that a client receives through ``BodyStages``, and how the body ended. For the fuzzer, which is
/// outside of this package.
@_spi(Fuzzing) public final class InMemoryBody: Sendable {
    /// How a body is loaded.
    public struct Play: Sendable {
        /// The fields Content-Encoding, and Content-Type if the body has parts; empty: none.
        public var codings = ""
        public var contentType = ""
        public var pieces: [ArraySlice<UInt8>] = []
        public var decoding = ContentDecodingLimits()
        public var multipart = MultipartLimits()
        /// The client pauses after every n-th event; 0: never.
        public var pauseRhythm = 0
        /// Whether the body ends during the pause after its last piece.
        public var endsInPause = false

        public init() {}
    }

    private let client: PartsClient

    public init?(_ play: Play) {
        guard let request = try? Request("http://a/") else { return nil }  // because the text is a constant
        client = PartsClient(pauseRhythm: play.pauseRhythm)
        let response = Self.response(to: request, play)
        guard let stage = BodyStages(decoding: play.decoding, multipart: play.multipart).make(for: response, to: request, client: client)
        else { return nil }
        var flow = stage.didReceive(response, storage: .allowed)
        for (index, piece) in play.pieces.enumerated() {
            while flow == .pause { flow = stage.resume() }
            if flow == .stopped { return }
            let bytes = Array(piece)
            let lent = unsafe bytes.span.bytes
            flow = stage.didLoad(lent)
            if play.endsInPause, index == play.pieces.count - 1 { break }
        }
        while flow == .pause, !play.endsInPause { flow = stage.resume() }
        if flow != .stopped { stage.didFinishLoading() }
        flow = stage.resume()
        while flow == .pause { flow = stage.resume() }
    }

    private static func response(to request: Request, _ play: Play) -> Response {
        var fields = HTTPFields()
        if !play.codings.isEmpty { fields[.contentEncoding] = play.codings }
        if !play.contentType.isEmpty { fields[.contentType] = play.contentType }
        return Response(url: request.url, mimeType: MIMEType(parsing: play.contentType), status: .ok, fields: fields)
    }

    /// The data of each response.
    public var parts: [[UInt8]] { client.parts }
    /// Why it failed; `nil` if it finished, or did not end.
    public var error: LoadError? { client.error }
    /// A violation of the order of events, or that there was no end.
    public var disorder: String? { client.disorder ?? (client.hasEnded ? nil : "there was no end") }
}

/// Records each response's data.
private final class PartsClient: ProtocolClient, @unchecked Sendable {
    // … because one thread makes all calls.
    private let pauseRhythm: Int
    private var count = 0
    private(set) var parts: [[UInt8]] = []
    private(set) var error: LoadError?
    private(set) var hasEnded = false
    private(set) var disorder: String?

    init(pauseRhythm: Int) {
        self.pauseRhythm = pauseRhythm
    }

    private func note(_ isAllowed: Bool, _ phrase: String) -> Flow {
        if hasEnded { disorder = disorder ?? "something came after the end" }
        if !isAllowed { disorder = disorder ?? phrase }
        count += 1
        return pauseRhythm > 0 && count % pauseRhythm == 0 ? .pause : .keepGoing
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        parts.append([])
        return note(true, "")
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let isAllowed = !parts.isEmpty && !bytes.isEmpty
        if isAllowed { unsafe bytes.withUnsafeBytes { unsafe parts[parts.count - 1].append(contentsOf: $0) } }
        return note(isAllowed, "data were empty, or came before a response")
    }

    func didFinishLoading() {
        _ = note(!parts.isEmpty, "it finished without a response")
        hasEnded = true
    }

    func didFail(with error: LoadError) {
        _ = note(true, "")
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
