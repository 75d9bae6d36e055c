// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The client's side of a TLS connection in memory, for fuzzers, which have no sockets. The owner sends and receives
/// the server's bytes. Use it in one thread.
@_spi(Fuzzing) public final class InMemoryTLS {
    /// The state that several connections share, including the tickets of earlier handshakes.
    public struct Context: Sendable {
        fileprivate let contexts: TLSContextCache
        fileprivate let tlsContext: TLSContext

        /// - Parameter settings: the trust roots must be listed; the system's roots are not used.
        public init(_ settings: TLSSettings, offering protocols: [String]) throws(LoadError) {
            contexts = TLSContextCache(settings)
            var roots = TLSContext.Roots()
            for source in settings.trustRoots.sources {
                roots.certificates += try CertificateFiles.certificates(from: source, for: .trustRoot)
            }
            let identity = try settings.identity.map { identity throws(LoadError) in try LoadedIdentity(identity) }
            tlsContext = try TLSContext(settings, roots: roots, protocols: protocols, identity: identity)
        }

        /// Removes the tickets of a server.
        public func removeTickets(host: String) { tlsContext.tickets.removeAll(for: Self.peer(host)) }

        fileprivate static func peer(_ host: String) -> TLSPeer { TLSPeer(host: host, port: 443, description: "https://\(host)") }
    }

    /// The end of a handshake.
    public enum Outcome {
        /// - Parameters:
        ///   - chain: the server's certificates, from this handshake or from the one that was resumed; DER, leaf first.
        ///   - verdict: the reason why default handling does not trust the chain; `nil` if it trusts the chain.
        case secured(applicationProtocol: String?, version: String?, isResumed: Bool, chain: [[UInt8]], verdict: LoadError?)
        case failed(LoadError)
        case refused(LoadError)
    }

    /// How the server's bytes ended.
    public enum End: Equatable {
        /// The server sent close_notify.
        case closed
        /// - Parameter reason: a description.
        case failed(reason: String)
    }

    private let recordTransport = InMemoryRecordTransport()
    private let session: TLSSession
    private let handshake: TLSHandshake
    private let challengeHandler: ChallengeResponder?
    private let recorder = OutcomeRecorder()
    /// Whether the handshake waits for the answer to a challenge.
    private var isAwaitingAnswer = false
    /// The decrypted bytes.
    public private(set) var plaintext: [UInt8] = []
    public private(set) var end: End?

    /// - Parameter ask: receives the challenges of the handshake. Without it, default handling answers. If the answer
    ///   comes after the call of `ask`, call ``proceed()`` after the answer.
    public init(_ context: Context, host: String, ask: ((AuthenticationChallenge) -> Void)?) throws(LoadError) {
        challengeHandler = ask.map(ChallengeResponder.init)
        handshake = TLSHandshake(
            Context.peer(host), contexts: context.contexts, offering: [], for: challengeHandler, on: InMemoryEventLoop()
        ) { _ in
        } completion: { [recorder] in
            recorder.outcomes.append(Outcome($0))
        }
        session = try handshake.makeSession(context.tlsContext, over: recordTransport)
        proceed()
    }

    /// The outcome of the handshake after its end; empty before. A second element would be an error.
    public var outcomes: [Outcome] { recorder.outcomes }
    private var isSecured: Bool { if case .secured? = outcomes.last { true } else { false } }

    /// Returns the bytes that the client has sent since the last call.
    public func takeOutput() -> [UInt8] {
        defer { recordTransport.output.removeAll() }
        return recordTransport.output
    }

    /// Receives bytes from the server, in one read.
    public func receive(_ bytes: [UInt8]) {
        unsafe recordTransport.input.append(bytes.span.bytes)
        proceed()
    }

    /// Marks the end of the server's bytes.
    public func close() {
        recordTransport.hasEnded = true
        proceed()
        if outcomes.isEmpty, isAwaitingAnswer { handshake.peerClosed() }
    }

    /// Encrypts bytes that the client sends.
    public func send(_ bytes: [UInt8]) {
        guard isSecured, end == nil, !bytes.isEmpty else { return }
        _ = unsafe bytes.withUnsafeBytes { unsafe session.write($0) }
    }

    public func shutDown() { session.shutDown() }

    /// Cancels the handshake, because its owner no longer needs it.
    public func cancel() { handshake.cancel() }

    /// Processes all bytes that were received.
    public func proceed() {
        if outcomes.isEmpty, case .nothing = handshake.proceed() {
            isAwaitingAnswer = outcomes.isEmpty
        } else {
            isAwaitingAnswer = false
        }
        guard isSecured else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            while end == nil {
                session.beginIteration()
                switch unsafe session.read(into: buffer) {
                case .bytes(let count): unsafe plaintext.append(contentsOf: buffer[..<count])
                case .wantsRead, .wantsWrite, .paused: return
                case .end: end = .closed
                case .failed(let error): end = .failed(reason: error.phrase)
                }
            }
        }
    }

    /// A function for leak checks: whether an object of the connection still exists after the owner has released it.
    public var remains: () -> Bool {
        { [weak recordTransport, weak session, weak handshake] in recordTransport != nil || session != nil || handshake != nil }
    }

    private final class OutcomeRecorder {
        var outcomes: [Outcome] = []
    }

    private final class ChallengeResponder: ChallengeHandler {
        private let receiveChallenge: (AuthenticationChallenge) -> Void

        init(_ receiveChallenge: @escaping (AuthenticationChallenge) -> Void) { self.receiveChallenge = receiveChallenge }

        func handleChallenge(_ challenge: AuthenticationChallenge) { receiveChallenge(challenge) }
        func cancelChallenge(_ challenge: AuthenticationChallenge) {}
    }
}

extension InMemoryTLS.Outcome {
    fileprivate init(_ outcome: TLSHandshake.Outcome) {
        switch outcome {
        case .secured(let security):
            let evaluation = security.trust.evaluation
            self = .secured(
                applicationProtocol: security.applicationProtocol, version: security.version, isResumed: security.isResumed,
                chain: evaluation.chain, verdict: evaluation.error)
        case .failed(let error): self = .failed(error)
        case .refused(let error): self = .refused(error)
        }
    }
}

extension SocketError {
    fileprivate var phrase: String {
        switch self {
        case .system(let number): LoadError.text(of: number)
        case .closedWithoutNotice: "closed without close_notify"
        case .flooded: "flooded"
        case .tls(let error): error.phrase
        }
    }
}

/// A transport in memory. It accepts all bytes.
private final class InMemoryRecordTransport: TLSRecordTransport {
    var input = ByteBuffer()
    var output: [UInt8] = []
    var hasEnded = false

    var isDrainedByShortRead: Bool { true }

    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult {
        let count = min(input.count, target.count)
        guard count > 0 else { return hasEnded ? .end : .wouldBlock }
        input.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        input.removeFirst(count)
        return .moved(count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult {
        unsafe output.append(contentsOf: bytes)
        return .moved(bytes.count)
    }
}
