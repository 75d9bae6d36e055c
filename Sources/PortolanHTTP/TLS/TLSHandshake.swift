// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import PortolanCore

/// One TLS handshake, and the questions that come up in it: is the server trusted, and which certificate does the client show.
///
/// The questions are asked before anything that matters leaves: the client's certificate is sent only to a server that is trusted, and the first
/// byte of a request after all answers. Nobody waits for the network meanwhile; what the server sends is held.
///
/// BoringSSL verifies the chain itself, and then tells only the leaf; where a chain is not trusted, it tells nothing, and takes no answer.
/// So such a handshake ends ``Outcome/distrusted``, and is made once more on a connection of its own, where the chain is looked at, BoringSSL's
/// verification left out, and the server trusted only if the load says so (``Style/inspecting(isDistrusted:)``).
///
/// On the channel's event loop.
final class TLSHandshake: @unchecked Sendable {  // … because it is touched on its event loop only
    enum Style {
        /// BoringSSL verifies the chain.
        case verifying
        /// Nobody does.
        ///
        /// - Parameter isDistrusted: whether default handling is to fail.
        case inspecting(isDistrusted: Bool)
    }

    enum Outcome {
        case secured(negotiatedProtocol: String?, version: String?, ServerTrust)
        /// The chain leads to no trusted authority; nobody was asked.
        case distrusted
        case failed(LoadError)
        /// By an answer of the load that was asked, or for want of one: other loads may answer otherwise.
        case refused(LoadError)
    }

    private enum Step {
        case handshaking
        case asking
        /// The handshake is done and all was answered, or it has failed.
        case over
    }

    private let peer: TLSPeer
    private let style: Style
    private let shared: SecureContexts.Shared
    /// The load that the connection is opened for.
    private weak var owner: (any ChallengeRespondent)?
    private let eventLoop: any EventLoop
    /// Called as a question begins, `true`, and ends.
    private let isAsking: (Bool) -> Void
    private var completion: ((Outcome) -> Void)?

    private var step = Step.handshaking
    private weak var asked: AuthenticationChallenge?
    private var handler: NIOSSLClientHandler?
    private let front = TLSHandshakeMark()
    private let back = TLSHandshakeGate()
    private var trust: (chain: [[UInt8]], verdict: LoadError?)?
    private var gaveCertificate = false

    // What BoringSSL waits for.
    private var verification: EventLoopPromise<NIOSSLVerificationResult>?
    private var certificate: EventLoopPromise<NIOSSLContextConfigurationOverride>?
    private var wantsCertificate = false
    /// NIOSSL asks again with each read that comes before the answer, and would go on in a closed connection if these were answered before its end.
    private var repeated: [EventLoopPromise<NIOSSLContextConfigurationOverride>] = []

    /// The handshake whose bytes are being looked at on this thread: NIOSSL does not say for which connection a certificate is wanted.
    private static let current = ThreadSpecificVariable<TLSHandshake>()

    init(
        _ peer: TLSPeer, _ style: Style, shared: SecureContexts.Shared, for owner: (any ChallengeRespondent)?,
        on eventLoop: any EventLoop,
        isAsking: @escaping (Bool) -> Void, completion: @escaping (Outcome) -> Void
    ) {
        self.peer = peer
        self.style = style
        self.shared = shared
        self.owner = owner
        self.eventLoop = eventLoop
        self.isAsking = isAsking
        self.completion = completion
    }

    func start(on channel: any Channel) throws {
        let handler =
            switch style {
            case .verifying: try NIOSSLClientHandler(context: shared.context, serverHostname: peer.name.indication)
            case .inspecting:
                try NIOSSLClientHandler(
                    context: shared.context, serverHostname: peer.name.indication,
                    customVerificationCallback: { [weak self] chain, promise in
                        guard let self else { return promise.succeed(.failed) }
                        inspect(chain, promise)
                    })
            }
        self.handler = handler
        front.handshake = self
        back.handshake = self
        do { try channel.pipeline.syncOperations.addHandlers([front, handler, back]) } catch {
            back.handshake = nil
            throw error
        }
        channel.closeFuture.whenComplete { [self] _ in letGo() }
    }

    /// Lets what the server has sent meanwhile through to the handlers that were added behind, and leaves the channel.
    func leave() { back.leave() }

    /// Nobody needs the connection any more. The channel is closed by the caller.
    func cancel() { finish(nil) }

    private func finish(_ outcome: Outcome?) {
        guard let completion else { return }
        self.completion = nil
        if let asked, case .asking = step { owner?.withdraw(asked) }
        step = .over
        if let outcome { completion(outcome) }
    }

    /// The channel is closed: NIOSSL does nothing any more with answers, but wants each.
    private func letGo() {
        verification?.succeed(.failed)
        let unanswered = repeated + (certificate.map { [$0] } ?? [])
        (verification, certificate, repeated) = (nil, nil, [])
        for promise in unanswered { promise.succeed(.noChanges) }
        handler = nil
    }

    // MARK: From the channel

    func whileCurrent(_ body: () -> Void) {
        Self.current.currentValue = self
        body()
        Self.current.currentValue = nil
    }

    func didComplete(_ negotiatedProtocol: String?) {
        decideTrust { [self] in
            guard let trust else { return }
            let certain = ServerTrust(chain: trust.chain, verdict: trust.verdict, judge: owner, isPersonal: gaveCertificate)
            front.leave()
            finish(.secured(negotiatedProtocol: negotiatedProtocol, version: handler?.tlsVersion?.name, certain))
        }
    }

    func didFail(_ error: any Error) {
        if case .verifying = style, TLSReason(error)?.isDistrust ?? false { return finish(.distrusted) }
        finish(.failed(.securing(peer, error)))
    }

    func didClose() {
        let moment = if case .asking = step { "while a question about it waited for an answer" } else { "in the TLS handshake" }
        finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) closed the connection \(moment); try again")))
    }
}

// MARK: Server trust

extension TLSHandshake {
    /// Goes on when the server is trusted.
    private func decideTrust(then proceed: @escaping () -> Void) {
        if trust != nil { return proceed() }
        // `try?` because a handshake that was verified has a certificate.
        guard let leaf = try? handler?.peerCertificate?.toDERBytes() else {
            return finish(.failed(LoadError(.secureConnectionFailed, message: "\(peer) showed no certificate")))
        }
        askTrust([leaf], isVerified: true, then: proceed)
    }

    private func inspect(_ chain: [NIOSSLCertificate], _ promise: EventLoopPromise<NIOSSLVerificationResult>) {
        verification = promise
        // `compactMap` because what was read from DER can be written as DER.
        let chain = chain.compactMap { try? $0.toDERBytes() }
        askTrust(chain, isVerified: false) { [self] in
            verification = nil
            // NIOSSL takes the handshake up again in a task of its own, in which it may ask for a certificate.
            eventLoop.execute { [self] in Self.current.currentValue = self }
            promise.succeed(.certificateVerified)
            eventLoop.execute { Self.current.currentValue = nil }
        }
    }

    private func askTrust(_ chain: [[UInt8]], isVerified: Bool, then proceed: @escaping () -> Void) {
        let verdict = verdict(on: chain, isVerified: isVerified)
        ask { answer in
            ServerTrust.question(peer, chain: chain, verdict: verdict, answer: answer)
        } heed: { [self] answer in
            if let refusal = ServerTrust.refusal(answer, verdict: verdict, peer: peer) { return finish(.refused(refusal)) }
            trust = (chain, verdict)
            proceed()
        }
    }

    private func verdict(on chain: [[UInt8]], isVerified: Bool) -> LoadError? {
        if case .inspecting(isDistrusted: false) = style { return nil }
        let now = Int64(Date().timeIntervalSince1970)
        let problems = CertificateProblem.find(in: chain, for: peer.name, isVerified: isVerified, now: now)
        return CertificateProblem.error(problems, of: peer, chain: chain)
    }
}

// MARK: The client's certificate

extension TLSHandshake {
    /// NIOSSL's callback: the handshake that runs on this thread has come to where the client shows its certificate.
    static func serverWantsCertificate(_ promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
        guard let handshake = current.currentValue else { return promise.succeed(.noChanges) }
        guard !handshake.wantsCertificate else { return handshake.repeated.append(promise) }
        handshake.wantsCertificate = true
        handshake.certificate = promise
        handshake.decideTrust { handshake.chooseCertificate() }
    }

    private func chooseCertificate() {
        if let identity = shared.identity { return show(identity.override) }
        ask { answer in
            let space = ProtectionSpace(
                kind: .clientCertificate(acceptedIssuers: []), protocolName: "https", host: peer.host, port: peer.port)
            return AuthenticationChallenge(protectionSpace: space, reply: answer)
        } heed: { [self] answer in
            switch answer {
            case .use(.certificate(let chain, let privateKey)):
                do throws(LoadError) {
                    let identity = try LoadedIdentity(ClientIdentity(chain: chain, privateKey: privateKey))
                    gaveCertificate = true
                    show(identity.override)
                } catch {
                    finish(.refused(error))
                }
            case .use, .performDefault, .continueWithout: show(.noChanges)
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

    private func show(_ override: NIOSSLContextConfigurationOverride) {
        guard let certificate else { return }
        self.certificate = nil
        certificate.succeed(override)
    }
}

// MARK: Asking

extension TLSHandshake {
    private func ask(
        _ make: (@escaping @Sendable (ChallengeAnswer) -> Void) -> AuthenticationChallenge, heed: @escaping (ChallengeAnswer) -> Void
    ) {
        guard completion != nil else { return }
        let answered = Answering(heed)
        let challenge = make { [self] answer in
            if eventLoop.inEventLoop { take(answer, answered) } else { eventLoop.execute { self.take(answer, answered) } }
        }
        asked = challenge
        step = .asking
        isAsking(true)
        if let owner { owner.ask(challenge) } else { challenge.answer(.performDefault) }
    }

    private func take(_ answer: ChallengeAnswer, _ answered: Answering) {
        guard case .asking = step else { return }
        step = .handshaking
        asked = nil
        isAsking(false)
        answered.heed(answer)
    }

    /// What to do with an answer.
    private struct Answering: @unchecked Sendable {  // … because it is called on the event loop only
        let heed: (ChallengeAnswer) -> Void

        init(_ heed: @escaping (ChallengeAnswer) -> Void) { self.heed = heed }
    }
}
