// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import PortolanCore

/// Performs the TLS handshake on an open connection, and sends its challenges: server trust and client certificate.
///
/// The client's certificate is sent only to a trusted server. Requests are sent only after all answers. While a
/// challenge waits for its answer, bytes from the server stay in the socket.
///
/// Use it on the socket's event loop only.
package final class TLSHandshake: @unchecked Sendable {  // … because only code on its event loop uses it
    package enum Outcome {
        case secured(ConnectionSecurity)
        case failed(LoadError)
        /// The handshake failed because of the challenge handler's answer. With another handler it can succeed.
        case refused(LoadError)
    }

    private enum Step {
        /// Waits for the TLS context.
        case preparing
        case handshaking
        case awaitingAnswer
        /// The handshake is done and all challenges are answered, or it has failed.
        case over
    }

    private let peer: TLSPeer
    private let contexts: TLSContextCache
    private let protocols: [String]
    private var context: TLSContext?
    /// Answers the challenges.
    private weak var challengeHandler: (any ChallengeHandler)?
    /// Whether the configured client certificate can be sent to the peer. It is not sent to proxies.
    private let showsIdentity: Bool
    private let loop: any EventLoop
    /// Called with `true` when a challenge is sent, and with `false` when it is answered.
    private let didChangeChallenge: (Bool) -> Void
    private var completion: ((Outcome) -> Void)?

    private var step = Step.preparing
    private weak var openChallenge: AuthenticationChallenge?
    private weak var transport: SocketConnection?
    private var session: TLSSession?
    /// The ticket of the earlier session that the handshake resumes.
    private var ticket: TLSTicket?
    private var evaluation: ServerTrustEvaluation?
    private var identity: ClientIdentityChoice?
    /// Whether the client certificate came from a load's answer.
    private var usesLoadCertificate = false

    /// - Parameters:
    ///   - protocols: the protocols to offer by ALPN, the preferred one first.
    ///   - didChangeChallenge: called with `true` when a challenge is sent, and with `false` when it is answered.
    ///   - completion: called once, on the event loop, unless the handshake is cancelled. The caller must then call
    ///     ``SocketConnection/setReceiver(_:)``, or close the connection if the handshake failed.
    init(
        _ peer: TLSPeer, contexts: TLSContextCache, offering protocols: [String], for challengeHandler: (any ChallengeHandler)?,
        showsIdentity: Bool = true, on loop: any EventLoop, didChangeChallenge: @escaping (Bool) -> Void,
        completion: @escaping (Outcome) -> Void
    ) {
        self.peer = peer
        self.contexts = contexts
        self.protocols = protocols
        self.challengeHandler = challengeHandler
        self.showsIdentity = showsIdentity
        self.loop = loop
        self.didChangeChallenge = didChangeChallenge
        self.completion = completion
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// Starts the handshake after all written bytes were sent.
    func start(on transport: SocketConnection) {
        self.transport = transport
        contexts.context(offering: protocols, on: loop) { [self] in start(with: $0) }
    }

    private func start(with context: Result<TLSContext, LoadError>) {
        guard completion != nil else { return }
        guard let transport else { return connectionClosed() }
        do throws(LoadError) {
            transport.start(try makeSession(try context.get(), over: transport.recordTransport), for: self)
        } catch {
            finish(.failed(error))
        }
    }

    /// Makes the session. From now on ``proceed()`` continues the handshake.
    ///
    /// - Throws: ``LoadError/Code/noResources``
    func makeSession(_ context: TLSContext, over recordTransport: any TLSRecordTransport) throws(LoadError) -> TLSSession {
        let ticket = context.tickets.ticket(for: peer, now: Self.now)
        let session = try TLSSession(
            context, over: recordTransport, as: .client(serverName: peer.name.indication, ticket: ticket), delegate: self)
        (self.context, self.ticket, self.session) = (context, ticket, session)
        step = .handshaking
        return session
    }

    /// Stops the handshake without a completion. The caller closes the connection.
    package func cancel() { finish(nil) }

    private func finish(_ outcome: Outcome?) {
        guard let completion else { return }
        self.completion = nil
        if let openChallenge, case .awaitingAnswer = step { challengeHandler?.cancelChallenge(openChallenge) }
        step = .over
        if let outcome { completion(outcome) }
    }
}

// MARK: From the transport

extension TLSHandshake: TLSHandshakeDriver {
    func proceed() -> HandshakeWait {
        guard let session, case .handshaking = step else { return .nothing }
        switch session.handshake() {
        case .done:
            didComplete(session)
            return .nothing
        case .wantsRead: return .reading
        case .wantsWrite: return .writing
        case .awaitsDelegate: return .nothing
        case .failed(let error):
            // If the server rejected the ticket, the next handshake must not use it again.
            context?.tickets.removeAll(for: peer)
            finish(.failed(.handshakeFailed(with: peer, error)))
            return .nothing
        }
    }

    func peerClosed() {
        let moment = if case .awaitingAnswer = step { "while a challenge waited for a decision" } else { "in the TLS handshake" }
        finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) closed the connection \(moment); try again")))
    }

    func connectionClosed() {
        finish(.failed(LoadError(.cancelled, message: "the connection to \(peer) was closed before it was secure")))
    }

    private func didComplete(_ session: TLSSession) {
        guard evaluation == nil else { return complete(session) }
        // In a resumed session the server shows no certificates.
        guard let ticket, session.isResumed else {
            return finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) sent no certificate")))
        }
        evaluateTrust(ticket.evaluation) { [self] in complete(session) }
    }

    private func complete(_ session: TLSSession) {
        guard let evaluation else { return }
        if usesLoadCertificate { session.dropTickets() } else { session.storeTickets(for: peer, evaluation) }
        finish(
            .secured(
                ConnectionSecurity(
                    applicationProtocol: session.negotiatedProtocol, version: session.version, isResumed: session.isResumed,
                    trust: ServerTrust(evaluation, evaluatingLoad: challengeHandler, usesClientCertificate: usesLoadCertificate))))
    }
}

// MARK: From the session

extension TLSHandshake: TLSSessionDelegate {
    func session(_ session: TLSSession, didReceive chain: [[UInt8]], _ chainError: ChainError?) -> Bool? {
        guard completion != nil else { return false }
        let evaluation = ServerTrustEvaluation(chain: chain, error: trustError(chain, chainError), time: Self.now)
        var isInCallback = true
        var decision: Bool?
        evaluateTrust(evaluation) { [self] in
            decision = true
            session.decideTrust(true)
            if !isInCallback { transport?.continueHandshake() }
        }
        isInCallback = false
        // The challenge handler can have refused during the call.
        return completion == nil ? false : decision
    }

    private func trustError(_ chain: [[UInt8]], _ chainError: ChainError?) -> LoadError? {
        if contexts.settings.verification == .none { return nil }
        let problems = CertificateProblem.find(in: chain, for: peer.name, chainError, now: Self.now)
        return CertificateProblem.error(problems, of: peer, chain: chain)
    }

    /// Sends the server-trust challenge, and calls `proceed` if the server is then trusted.
    private func evaluateTrust(_ evaluation: ServerTrustEvaluation, then proceed: @escaping () -> Void) {
        sendChallenge { answer in
            ServerTrust.challenge(peer, evaluation, answer: answer)
        } then: { [self] answer in
            if let refusal = ServerTrust.refusal(answer, error: evaluation.error, peer: peer) { return finish(.refused(refusal)) }
            self.evaluation = evaluation
            proceed()
        }
    }

    func session(_ session: TLSSession, identityFor issuers: [[UInt8]]) -> ClientIdentityChoice? {
        guard showsIdentity else { return ClientIdentityChoice.none }
        if let configured = context?.identity { return .show(configured) }
        guard completion != nil else { return ClientIdentityChoice.none }
        if let identity { return identity }
        var isInCallback = true
        chooseIdentity(issuers) { [self] choice in
            identity = choice
            if !isInCallback { transport?.continueHandshake() }
        }
        isInCallback = false
        return identity ?? (completion == nil ? ClientIdentityChoice.none : nil)
    }

    private func chooseIdentity(_ issuers: [[UInt8]], then proceed: @escaping (ClientIdentityChoice) -> Void) {
        sendChallenge { answer in
            let space = ProtectionSpace(
                kind: .clientCertificate(acceptedIssuers: issuers), protocolName: peer.protocolName, host: peer.host, port: peer.port)
            return AuthenticationChallenge(protectionSpace: space, reply: answer)
        } then: { [self] answer in
            switch answer {
            case .use(.certificate(let chain, let privateKey)):
                do throws(LoadError) {
                    let identity = try LoadedIdentity(TLSIdentity(chain: chain, privateKey: privateKey))
                    usesLoadCertificate = true
                    proceed(.show(identity))
                } catch {
                    finish(.refused(error))
                }
            case .use, .performDefault, .continueWithoutCredential: proceed(.none)
            case .rejectProtectionSpace:
                finish(
                    .refused(
                        LoadError(
                            .authenticationRequired,
                            message: "\(peer.quotedHost) wants a client certificate, but the challenge was rejected",
                            remedy: .giveClientCertificate)))
            case .cancel:
                finish(
                    .refused(
                        LoadError(
                            .authenticationCancelled,
                            message: "the challenge for a client certificate for \(peer.quotedHost) was cancelled")))
            }
        }
    }
}

// MARK: Challenges

extension TLSHandshake {
    /// Sends a challenge to the challenge handler, and calls `proceed` with its answer.
    private func sendChallenge(
        _ makeChallenge: (@escaping @Sendable (ChallengeAnswer) -> Void) -> AuthenticationChallenge,
        then proceed: @escaping (ChallengeAnswer) -> Void
    ) {
        guard completion != nil else { return }
        let boundProceed = LoopBound(proceed)
        let challenge = makeChallenge { [self] answer in
            if loop.isOnLoop { handle(answer, boundProceed.value) } else { loop.execute { self.handle(answer, boundProceed.value) } }
        }
        openChallenge = challenge
        step = .awaitingAnswer
        didChangeChallenge(true)
        if let challengeHandler { challengeHandler.handleChallenge(challenge) } else { challenge.answer(.performDefault) }
    }

    private func handle(_ answer: ChallengeAnswer, _ proceed: (ChallengeAnswer) -> Void) {
        guard case .awaitingAnswer = step else { return }
        step = .handshaking
        openChallenge = nil
        didChangeChallenge(false)
        proceed(answer)
    }
}
