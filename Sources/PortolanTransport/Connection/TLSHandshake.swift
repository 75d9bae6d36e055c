// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import PortolanCore

/// Starts TLS on an open connection, and asks the challenges of the handshake: is the server trusted, and which certificate does the client show.
///
/// Challenges come before anything that matters leaves: the client's certificate is sent only to a server that is trusted, and the first byte of a
/// request after all answers. What the server sends meanwhile stays in the socket.
///
/// In the turns of the socket's loop only.
package final class TLSHandshake: @unchecked Sendable {  // … because it is touched in the turns of its loop only
    package enum Outcome {
        case secured(ConnectionSecurity)
        case failed(LoadError)
        /// By the respondent's answer, or for want of one: others may answer otherwise.
        case refused(LoadError)
    }

    private enum Step {
        /// Waits for the TLS context.
        case preparing
        case handshaking
        case asking
        /// The handshake is done and all was answered, or it has failed.
        case over
    }

    private let peer: TLSPeer
    private let contexts: TLSContextCache
    private let protocols: [String]
    private var context: TLSContext?
    /// Answers the challenges.
    private weak var owner: (any ChallengeHandler)?
    /// Whether the configured client certificate is for this server.
    private let showsIdentity: Bool
    private let loop: any EventLoop
    /// Called as a challenge begins, `true`, and ends.
    private let isAsking: (Bool) -> Void
    private var completion: ((Outcome) -> Void)?

    private var step = Step.preparing
    private weak var asked: AuthenticationChallenge?
    private weak var transport: SocketConnection?
    private var session: TLSSession?
    /// With which an earlier session is to be resumed.
    private var ticket: TLSTicket?
    private var evidence: ServerTrustEvaluation?
    private var identity: ClientIdentityChoice?
    private var gaveCertificate = false

    /// - Parameters:
    ///   - protocols: to offer by ALPN, the best first.
    ///   - isAsking: called with `true` as a challenge begins, and with `false` as it ends.
    ///   - completion: called once in a turn, unless the handshake is cancelled. Then the connection waits for ``SocketConnection/hand(to:)``, or,
    ///     where the handshake failed, to be closed.
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

    /// Everything that was written to the connection leaves before the handshake.
    func start(on transport: SocketConnection) {
        self.transport = transport
        contexts.context(offering: protocols) { [self] result in
            let proceed: @Sendable () -> Void = { [self] in start(with: result) }
            if loop.isInTurn { proceed() } else { loop.execute(proceed) }
        }
    }

    private func start(with context: Result<TLSContext, LoadError>) {
        guard completion != nil else { return }
        guard let transport else { return connectionClosed() }
        do throws(LoadError) {
            transport.start(try makeSession(try context.get(), over: transport.carrier), for: self)
        } catch {
            finish(.failed(error))
        }
    }

    /// From now on ``proceed()`` takes the handshake further.
    ///
    /// - Throws: ``LoadError/Code/noResources``
    func makeSession(_ context: TLSContext, over carrier: any TLSRecordTransport) throws(LoadError) -> TLSSession {
        let ticket = context.tickets.ticket(for: peer, now: Self.now)
        let session = try TLSSession(context, over: carrier, serverName: peer.name.indication, ticket: ticket, delegate: self)
        (self.context, self.ticket, self.session) = (context, ticket, session)
        step = .handshaking
        return session
    }

    /// Nothing is reported any more. The caller closes the connection.
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
            // A ticket that the server does not like is no reason to fail again with it.
            context?.tickets.removeAll(for: peer)
            finish(.failed(.securing(peer, error)))
            return .nothing
        }
    }

    func peerClosed() {
        let moment = if case .asking = step { "while a question about it waited for an answer" } else { "in the TLS handshake" }
        finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) closed the connection \(moment); try again")))
    }

    func connectionClosed() {
        finish(.failed(LoadError(.cancelled, message: "the connection to \(peer) was closed before it was secure")))
    }

    private func didComplete(_ session: TLSSession) {
        guard evidence == nil else { return complete(session) }
        // A resumed session shows no certificates.
        guard let ticket, session.isResumed else {
            return finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) showed no certificate")))
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
        // An answer may have come in the call, and have been no.
        return completion == nil ? false : decision
    }

    private func verdict(on chain: [[UInt8]], _ finding: ChainFinding?) -> LoadError? {
        if contexts.settings.verification == .none { return nil }
        let problems = CertificateProblem.find(in: chain, for: peer.name, finding, now: Self.now)
        return CertificateProblem.error(problems, of: peer, chain: chain)
    }

    /// Calls `proceed` when the server is trusted.
    private func askTrust(_ evidence: ServerTrustEvaluation, then proceed: @escaping () -> Void) {
        ask { answer in
            ServerTrust.question(peer, evidence, answer: answer)
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
            case .use, .performDefault, .continueWithout: proceed(.none)
            case .rejectProtectionSpace:
                finish(
                    .refused(
                        LoadError(
                            .authenticationRequired, message: "\(peer.quotedHost) wants a client certificate, and was to get none",
                            remedy: .giveClientCertificate)))
            case .cancel:
                finish(
                    .refused(
                        LoadError(
                            .authenticationCancelled,
                            message: "the question for a client certificate for \(peer.quotedHost) was answered with cancel")))
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
        let reply = TurnBound(proceed)
        let challenge = make { [self] answer in
            if loop.isInTurn { take(answer, reply.value) } else { loop.execute { self.take(answer, reply.value) } }
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
