// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanTransport

/// The response to the client's challenges.
enum TLSChallengeResponse: Int, CaseIterable {
    /// The client has no challenge handler.
    case noHandler
    case performDefault, use, continueWithout, reject, cancel
    case never

    func respond(to challenge: AuthenticationChallenge) {
        switch self {
        case .noHandler, .performDefault: challenge.answer(.performDefault)
        case .continueWithout: challenge.answer(.continueWithoutCredential)
        case .reject: challenge.answer(.rejectProtectionSpace)
        case .cancel: challenge.answer(.cancel)
        case .never: break
        case .use:
            if case .serverTrust = challenge.protectionSpace.kind {
                challenge.answer(.use(.serverTrust))
            } else {
                challenge.answer(.use(.certificate(chain: TLSCertificates.Kind.good.chain, privateKey: TLSCertificates.leafKey)))
            }
        }
    }
}

/// A run of one client connection with one division of the server's bytes into pieces, and the results.
final class TLSRun {
    /// The result of the handshake.
    enum Outcome: Equatable {
        case secured(isResumed: Bool, end: End)
        case failed(LoadError.Code)
        case refused(LoadError.Code)
    }

    /// The end of the connection. Its message is ignored, because it may depend on timing.
    enum End: Equatable { case closed, failed }

    private let client: InMemoryTLS
    private let challengeLog = ChallengeLog()
    private let response: TLSChallengeResponse
    private let respondsLate: Bool
    /// Determines the division into pieces; `nil` for one piece.
    private let seed: UInt8?

    /// Records the client's challenges.
    private final class ChallengeLog {
        var pendingChallenge: AuthenticationChallenge?
        /// The chains that the client would trust by default.
        var trustedChains: [[[UInt8]]] = []
        var trustErrors: [LoadError] = []
    }

    init(_ context: InMemoryTLS.Context, _ response: TLSChallengeResponse, respondsLate: Bool, seed: UInt8?) throws(FuzzFinding) {
        (self.response, self.respondsLate, self.seed) = (response, respondsLate, seed)
        do throws(LoadError) {
            client = try InMemoryTLS(
                context, host: TLSCertificates.host,
                ask: response == .noHandler
                    ? nil
                    : { [challengeLog] challenge in
                        if case .serverTrust(let chain) = challenge.protectionSpace.kind {
                            if let error = challenge.previousError {
                                challengeLog.trustErrors.append(error)
                            } else {
                                challengeLog.trustedChains.append(chain)
                            }
                        }
                        if respondsLate || response == .never {
                            challengeLog.pendingChallenge = challenge
                        } else {
                            response.respond(to: challenge)
                        }
                    })
        } catch {
            throw FuzzFinding("the client can't start: \(error)")
        }
    }

    var plaintext: [UInt8] { client.plaintext }
    var isSecured: Bool { if case .secured? = client.outcomes.last { true } else { false } }
    func takeOutput() -> [UInt8] { client.takeOutput() }
    func send(_ bytes: [UInt8]) { client.send(bytes) }

    /// - Parameter bytes: the bytes from the server, delivered in pieces of pseudorandom lengths that depend on the
    ///   seed.
    func deliver(_ bytes: [UInt8]) {
        guard let seed else {
            if !bytes.isEmpty { client.receive(bytes) }
            return sendLateResponses()
        }
        var (rest, state) = (bytes[...], UInt32(seed))
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let maximumPieceLength = bytes.count > 4096 ? 4096 : Int(seed) + 1
            let piece = rest.prefix(seed == 0 && bytes.count <= 4096 ? 1 : 1 + Int(state >> 16) % maximumPieceLength)
            client.receive(Array(piece))
            rest = rest.dropFirst(piece.count)
            if state >> 31 == 0 { sendLateResponses() }
        }
        sendLateResponses()
    }

    private func sendLateResponses() {
        while respondsLate, response != .never, let challenge = challengeLog.pendingChallenge {
            challengeLog.pendingChallenge = nil
            response.respond(to: challenge)
            client.proceed()
        }
    }

    /// Closes the connection from the server's side.
    ///
    /// - Returns: The result of the run.
    func finish() throws(FuzzFinding) -> Outcome {
        client.close()
        sendLateResponses()
        client.shutDown()
        let plaintext = client.plaintext
        // Checks that nothing follows the end.
        client.receive([21, 3, 3, 0, 2, 1, 0])
        client.close()
        challengeLog.pendingChallenge = nil
        try require(client.plaintext == plaintext, "plaintext came after the end")
        try require(client.outcomes.count == 1, "the handshake ended \(client.outcomes.count) times")
        for error in challengeLog.trustErrors { try check(error) }
        switch client.outcomes[0] {
        case .secured(_, _, let isResumed, let chain, let verdict):
            try require(response != .never, "the connection is secure, although the trust challenge had no response")
            try require(verdict != nil || Self.isTrusted(chain), "an untrusted chain is trusted")
            try require(verdict == nil || response == .use, "an untrusted chain was accepted")
            guard let end = client.end else { throw FuzzFinding("the connection did not end") }
            return .secured(isResumed: isResumed, end: end == .closed ? .closed : .failed)
        case .failed(let error):
            try check(error)
            return .failed(error.code)
        case .refused(let error):
            try check(error)
            return .refused(error.code)
        }
    }

    /// Compares only the leaf, because a chain may contain more certificates than necessary.
    private static func isTrusted(_ chain: [[UInt8]]) -> Bool {
        TLSCertificates.Kind.allCases.contains { $0.isTrusted && $0.chain.first == chain.first }
    }

    /// Checks that the client would by default not trust a chain that it must reject.
    func checkTrust() throws(FuzzFinding) {
        for chain in challengeLog.trustedChains { try require(Self.isTrusted(chain), "an untrusted chain would be trusted") }
    }

    /// Checks that the message is one short line, also if it quotes text from a server.
    private func check(_ error: LoadError) throws(FuzzFinding) { try TLSRun.check(message: error.message) }

    static func check(message: String) throws(FuzzFinding) {
        try require(!message.isEmpty && message.unicodeScalars.count < 1500, "a message has \(message.unicodeScalars.count) characters")
        let isLine = message.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0.value != 0x2028 }
        try require(isLine, "a message has control characters: \(message.debugDescription)")
    }

    /// Returns whether resources of the connection still exist after the end of the run.
    var hasResources: () -> Bool { client.remains }
}

/// The client's contexts, made once per process.
enum TLSClients {
    private static let contexts: [Result<InMemoryTLS.Context, LoadError>] = (0..<4).map { number in
        var settings = TLSSettings()
        settings.trustRoots = .only([.der(TLSCertificates.root)])
        if number & 1 != 0 { settings.maximumVersion = .tls12 }
        if number & 2 != 0 {
            settings.identity = TLSIdentity(chain: TLSCertificates.Kind.good.chain, privateKey: TLSCertificates.leafKey)
        }
        do throws(LoadError) { return .success(try InMemoryTLS.Context(settings, offering: ["h2", "http/1.1"])) } catch {
            return .failure(error)
        }
    }

    /// Returns a context without tickets of earlier cases.
    static func context(isTLS12: Bool = false, hasIdentity: Bool = false) throws(FuzzFinding) -> InMemoryTLS.Context {
        do throws(LoadError) {
            let context = try contexts[(isTLS12 ? 1 : 0) + (hasIdentity ? 2 : 0)].get()
            context.removeTickets(host: TLSCertificates.host)
            return context
        } catch {
            throw FuzzFinding("the client has no context: \(error)")
        }
    }
}
