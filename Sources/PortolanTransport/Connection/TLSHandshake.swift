// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import PortolanCore

/// Starts TLS on an open connection, and issues the challenges of the handshake: the server's trust and the client's
/// certificate.
///
/// Challenges come before any important data is sent. The client's certificate is sent only to a trusted server. The
/// first byte of a request is sent after all answers. Meanwhile, bytes from the server stay in the socket.
///
/// Runs on the socket's event loop only.
package final class TLSHandshake: @unchecked Sendable {  // … because it is touched on its event loop only
    package enum Outcome {
        case secured(ConnectionSecurity)
        case failed(LoadError)
        /// The challenge handler's answer, or the lack of one, made the handshake fail. Another handler may decide
        /// otherwise.
        case refused(LoadError)
    }

    private enum Step {
        /// Waits for the TLS context.
        case preparing
        case handshaking
        case asking
        /// The handshake is done and all challenges are answered, or it has failed.
        case over
    }

    private let peer: TLSPeer
    private let contexts: TLSContextCache
    private let protocols: [String]
    private var context: TLSContext?
    /// Answers the challenges.
    private weak var owner: (any ChallengeHandler)?
    /// Whether the configured client certificate may be shown to this server.
    private let showsIdentity: Bool
    private let loop: any EventLoop
    /// Called with `true` as a challenge begins, and with `false` as it ends.
    private let isAsking: (Bool) -> Void
    private var completion: ((Outcome) -> Void)?

    private var step = Step.preparing
    private weak var asked: AuthenticationChallenge?
    private weak var transport: SocketConnection?
    private var session: TLSSession?
    /// The ticket of an earlier session to resume.
    private var ticket: TLSTicket?
    private var evidence: ServerTrustEvaluation?
    private var identity: ClientIdentityChoice?
    private var gaveCertificate = false

    /// - Parameters:
    ///   - protocols: the protocols to offer by ALPN, the best first.
    ///   - isAsking: called with `true` as a challenge begins, and with `false` as it ends.
    ///   - completion: called once, on the event loop, unless the handshake is cancelled. Then call
    ///     ``SocketConnection/hand(to:)``, or close the connection if the handshake failed.
    init(
        _ peer: TLSPeer, contexts: TLSContextCache, offering protocols: [String], for owner: (any ChallengeHandler)?,
        showsIdentity: Bool = true, on loop: any EventLoop, isAsking: @escaping (Bool) -> Void, completion: @escaping (Outcome) -> Void
    ) {
        self.peer = peer
        self.contexts = contexts
        self.protocols = protocols
        self.owner = owner
        self.showsIdentity = showsIdentity
        self.loop = loop
        self.isAsking = isAsking
        self.completion = completion
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// Starts the handshake after all earlier bytes were sent.
    func start(on transport: SocketConnection) {
        self.transport = transport
        contexts.context(offering: protocols) { [self] result in
            let proceed: @Sendable () -> Void = { [self] in start(with: result) }
            if loop.isOnLoop { proceed() } else { loop.execute(proceed) }
        }
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
        let session = try TLSSession(context, over: recordTransport, serverName: peer.name.indication, ticket: ticket, delegate: self)
        (self.context, self.ticket, self.session) = (context, ticket, session)
        step = .handshaking
        return session
    }

    /// Reports nothing from now on. The caller closes the connection.
    package func cancel() { finish(nil) }

    private func finish(_ outcome: Outcome?) {
        guard let completion else { return }
        self.completion = nil
        if let asked, case .asking = step { owner?.withdraw(asked) }
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
        case .waits: return .nothing
        case .failed(let error):
            // The next handshake must not fail again because of a ticket that the server rejects.
            context?.tickets.removeAll(for: peer)
            finish(.failed(.securing(peer, error)))
            return .nothing
        }
    }

    func peerClosed() {
        let moment = if case .asking = step { "while a challenge waited for a decision" } else { "in the TLS handshake" }
        finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) closed the connection \(moment); try again")))
    }

    func connectionClosed() {
        finish(.failed(LoadError(.cancelled, message: "the connection to \(peer) was closed before it was secure")))
    }

    private func didComplete(_ session: TLSSession) {
        guard evidence == nil else { return complete(session) }
        // A resumed session shows no certificates.
        guard let ticket, session.isResumed else {
            return finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) sent no certificate")))
        }
        askTrust(ticket.evidence) { [self] in complete(session) }
    }

    private func complete(_ session: TLSSession) {
        guard let evidence else { return }
        if gaveCertificate { session.dropTickets() } else { session.keepTickets(for: peer, evidence) }
        finish(
            .secured(
                ConnectionSecurity(
                    applicationProtocol: session.negotiatedProtocol, version: session.version, isResumed: session.isResumed,
                    trust: ServerTrust(evidence, judge: owner, isPersonal: gaveCertificate))))
    }
}

// MARK: From the session

extension TLSHandshake: TLSSessionDelegate {
    func session(_ session: TLSSession, didReceive chain: [[UInt8]], _ finding: ChainFinding?) -> Bool? {
        guard completion != nil else { return false }
        let evidence = ServerTrustEvaluation(chain: chain, verdict: verdict(on: chain, finding), time: Self.now)
        var isInside = true
        var decision: Bool?
        askTrust(evidence) { [self] in
            decision = true
            session.decideTrust(true)
            if !isInside { transport?.continueHandshake() }
        }
        isInside = false
        // A refusal may have come during the call.
        return completion == nil ? false : decision
    }

    private func verdict(on chain: [[UInt8]], _ finding: ChainFinding?) -> LoadError? {
        if contexts.settings.verification == .none { return nil }
        let problems = CertificateProblem.find(in: chain, for: peer.name, finding, now: Self.now)
        return CertificateProblem.error(problems, of: peer, chain: chain)
    }

    /// Calls `proceed` if the server is trusted.
    private func askTrust(_ evidence: ServerTrustEvaluation, then proceed: @escaping () -> Void) {
        ask { answer in
            ServerTrust.challenge(peer, evidence, answer: answer)
        } then: { [self] answer in
            if let refusal = ServerTrust.refusal(answer, verdict: evidence.verdict, peer: peer) { return finish(.refused(refusal)) }
            self.evidence = evidence
            proceed()
        }
    }

    func session(_ session: TLSSession, identityFor issuers: [[UInt8]]) -> ClientIdentityChoice? {
        guard showsIdentity else { return ClientIdentityChoice.none }
        if let own = context?.identity { return .show(own) }
        guard completion != nil else { return ClientIdentityChoice.none }
        if let identity { return identity }
        var isInside = true
        chooseIdentity(issuers) { [self] choice in
            identity = choice
            if !isInside { transport?.continueHandshake() }
        }
        isInside = false
        return identity ?? (completion == nil ? ClientIdentityChoice.none : nil)
    }

    private func chooseIdentity(_ issuers: [[UInt8]], then proceed: @escaping (ClientIdentityChoice) -> Void) {
        ask { answer in
            let space = ProtectionSpace(
                kind: .clientCertificate(acceptedIssuers: issuers), protocolName: peer.protocolName, host: peer.host, port: peer.port)
            return AuthenticationChallenge(protectionSpace: space, reply: answer)
        } then: { [self] answer in
            switch answer {
            case .use(.certificate(let chain, let privateKey)):
                do throws(LoadError) {
                    let identity = try LoadedIdentity(ClientIdentity(chain: chain, privateKey: privateKey))
                    gaveCertificate = true
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
    private func ask(
        _ make: (@escaping @Sendable (ChallengeAnswer) -> Void) -> AuthenticationChallenge,
        then proceed: @escaping (ChallengeAnswer) -> Void
    ) {
        guard completion != nil else { return }
        let reply = LoopBound(proceed)
        let challenge = make { [self] answer in
            if loop.isOnLoop { take(answer, reply.value) } else { loop.execute { self.take(answer, reply.value) } }
        }
        asked = challenge
        step = .asking
        isAsking(true)
        if let owner { owner.ask(challenge) } else { challenge.answer(.performDefault) }
    }

    private func take(_ answer: ChallengeAnswer, _ proceed: (ChallengeAnswer) -> Void) {
        guard case .asking = step else { return }
        step = .handshaking
        asked = nil
        isAsking(false)
        proceed(answer)
    }
}
