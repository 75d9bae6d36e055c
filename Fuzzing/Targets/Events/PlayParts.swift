// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// The handler of a play. Its loads do nothing by themselves.
struct PlayHandler: ProtocolHandler {
    let play: EventPlay
    let identifier = "org.portolan.play"
    let schemes = SchemeSet.only(["play"])

    var traits: HandlerTraits {
        var traits: HandlerTraits = []
        if play.traits.allowsParts { traits.insert(.multipart) }
        if play.traits.isBlocking { traits.insert(.blocking) }
        return traits
    }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        let load = PlayLoad(request, client, play)
        play.didMakeLoad(load)
        return load
    }
}

/// A load that calls its client as the play decides, and counts the calls that the loader makes on the load.
final class PlayLoad: ProtocolLoad, @unchecked Sendable {  // … because a play runs on one thread
    private let request: Request
    private var client: (any ProtocolClient)?
    private let play: EventPlay
    private(set) var startCount = 0
    private(set) var stopCount = 0
    private(set) var resumeCount = 0
    private var challenges: [(number: Int, challenge: AuthenticationChallenge)] = []
    private var sentBytes: Int64 = 0

    init(_ request: Request, _ client: any ProtocolClient, _ play: EventPlay) {
        self.request = request
        self.client = client
        self.play = play
    }

    var lastChallengeNumber: Int? { challenges.last?.number }

    func startLoading() {
        startCount += 1
        play.didStartLoad()
    }

    func stopLoading() { stopCount += 1 }
    func resumeLoading() { resumeCount += 1 }

    func release() {
        client = nil
        challenges = []
    }

    static func length(_ number: Int) -> Int64? { number < 8 ? nil : Int64(number - 8) }
    static func bytes(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: number % 6) }

    /// - Parameter number: selects the length of a response, or the bytes of data.
    /// - Returns: The client's return value, if there is one.
    func call(_ kind: EventKind, _ number: Int) -> Flow? {
        guard let client else { return nil }
        switch kind {
        case .interim: client.didReceiveInterim(Response(url: request.url))
        case .redirect: return client.wasRedirected(to: request, redirectResponse: Response(url: request.url))
        case .confirmation:
            client.cachedResponseIsValid(CachedResponse(response: Response(url: request.url), body: .bytes([])), newer: nil)
        case .response: return client.didReceive(Response(url: request.url, expectedLength: Self.length(number)), storage: .notAllowed)
        case .data:
            let span = Self.bytes(number).span
            return unsafe client.didLoad(span.bytes)
        case .trailers: client.didReceiveTrailers([:])
        case .finish: client.didFinishLoading()
        case .failure: client.didFail(with: LoadError(.connectionLost, message: "the script fails the load"))
        case .challenge: sendChallenge(client)
        case .challengeWithdrawn: client.didCancel(challenges.last?.challenge ?? Self.unknownChallenge)
        case .sent:
            sentBytes += 1
            client.didSend(bodyBytes: 1, total: sentBytes, expected: nil)
        case .step: client.didReach(.firstByte)
        case .newBody:
            let requestNumber = play.newRequestNumber()
            client.needsNewBody { [play] _ in play.countResponse(requestNumber) }
        }
        return nil
    }

    private func sendChallenge(_ client: any ProtocolClient) {
        let requestNumber = play.newRequestNumber()
        let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "play", host: "host")
        let challenge = AuthenticationChallenge(protectionSpace: space) { [play] _ in play.countResponse(requestNumber) }
        challenges.append((requestNumber, challenge))
        client.didReceive(challenge)
    }

    private static let unknownChallenge = AuthenticationChallenge(
        protectionSpace: ProtectionSpace(kind: .password(scheme: ""), protocolName: "play", host: "host")
    ) { _ in }
}

/// The delegate of a play.
final class PlayDelegate: LoadDelegate {
    private let play: EventPlay

    init(play: EventPlay) { self.play = play }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { play.didReceive(.response) }
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        play.didReceive(.data(unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }))
    }
    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { play.didReceive(.interim) }
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) { play.didReceive(.trailers) }
    func loadTask(_ task: LoadTask, didReach step: LoadStep) { play.didReceive(.step) }
    func loadTaskDidSend(_ task: LoadTask) { play.didReceive(.sent) }
    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        play.didReceive(redirectTo: request, decide)
    }
    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) { play.didReceive(challenge) }
    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) { play.didReceive(.challengeWithdrawn) }
    func loadTask(_ task: LoadTask, needsNewBody decide: @escaping @Sendable (Body?) -> Void) { play.didReceive(newBody: decide) }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        play.didReceive(.end(error.map { Ending(code: $0.code, rule: $0.violatedRule) }))
    }
}
