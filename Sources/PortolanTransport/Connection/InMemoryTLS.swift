// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The client's side of a TLS connection whose other end is its owner: for fuzzers, which have no sockets. In one thread.
@_spi(Fuzzing) public final class InMemoryTLS {
    /// What handshakes have in common; the tickets of earlier ones among it.
    public struct Context: Sendable {
        fileprivate let contexts: TLSContextCache
        fileprivate let shared: TLSContext

        /// - Parameter settings: with trust roots that are given one by one.
        public init(_ settings: TLSSettings, offering protocols: [String]) throws(LoadError) {
            contexts = TLSContextCache(settings)
            var roots = TLSContext.Roots()
            for source in settings.trustRoots.sources {
                roots.certificates += try CertificateFiles.certificates(from: source, for: .trustRoot)
            }
            let identity = try settings.identity.map { identity throws(LoadError) in try LoadedIdentity(identity) }
            shared = try TLSContext(settings, roots: roots, protocols: protocols, identity: identity)
        }

        /// Forgets the tickets of a server.
        public func removeTickets(host: String) { shared.tickets.removeAll(for: Self.peer(host)) }

        fileprivate static func peer(_ host: String) -> TLSPeer { TLSPeer(host: host, port: 443, description: "https://\(host)") }
    }

    /// How a handshake ended.
    public enum Outcome {
        /// - Parameters:
        ///   - chain: what the server showed, in this handshake or in the one that was resumed; DER, leaf first.
        ///   - verdict: why default handling would not trust it.
        case secured(applicationProtocol: String?, version: String?, isResumed: Bool, chain: [[UInt8]], verdict: LoadError?)
        case failed(LoadError)
        case refused(LoadError)
    }

    /// How the server's bytes ended.
    public enum End: Equatable {
        /// By close_notify.
        case closed
        /// - Parameter reason: in words.
        case failed(reason: String)
    }

    private let carrier = InMemoryRecordTransport()
    private let session: TLSSession
    private let handshake: TLSHandshake
    private let challengeHandler: ChallengeResponder?
    private let ending = Ending()
    private var isWaiting = false
    /// What was decrypted.
    public private(set) var plaintext: [UInt8] = []
    public private(set) var end: End?

    /// - Parameter ask: receives the challenges of the handshake; without it default handling answers. After an answer that comes later,
    ///   ``proceed()`` is called.
    public init(_ context: Context, host: String, ask: ((AuthenticationChallenge) -> Void)?) throws(LoadError) {
        challengeHandler = ask.map(ChallengeResponder.init)
        handshake = TLSHandshake(
            Context.peer(host), contexts: context.contexts, offering: [], for: challengeHandler, on: InMemoryEventLoop()
        ) { _ in
        } completion: { [ending] in
            ending.outcomes.append(Outcome($0))
        }
        session = try handshake.makeSession(context.shared, over: carrier)
        proceed()
    }

    /// One, at the end of the handshake.
    public var outcomes: [Outcome] { ending.outcomes }
    private var isSecured: Bool { if case .secured? = outcomes.last { true } else { false } }

    /// What the client has sent since it was last taken.
    public func takeOutput() -> [UInt8] {
        defer { carrier.output.removeAll() }
        return carrier.output
    }

    /// Takes what the server sends, in one read.
    public func receive(_ bytes: [UInt8]) {
        unsafe carrier.input.append(bytes.span.bytes)
        proceed()
    }

    /// The server sends no more.
    public func close() {
        carrier.hasEnded = true
        proceed()
        if outcomes.isEmpty, isWaiting { handshake.peerClosed() }
    }

    /// Encrypts what the client sends.
    public func send(_ bytes: [UInt8]) {
        guard isSecured, end == nil, !bytes.isEmpty else { return }
        _ = unsafe bytes.withUnsafeBytes { unsafe session.write($0) }
    }

    public func shutDown() { session.shutDown() }

    /// The owner needs it no more.
    public func cancel() { handshake.cancel() }

    /// Does what can be done with what has come.
    public func proceed() {
        if outcomes.isEmpty, case .nothing = handshake.proceed() { isWaiting = outcomes.isEmpty } else { isWaiting = false }
        guard isSecured else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            while end == nil {
                session.beginTurn()
                switch unsafe session.read(into: buffer) {
                case .bytes(let count): unsafe plaintext.append(contentsOf: buffer[..<count])
                case .wantsRead, .wantsWrite, .paused: return
                case .end: end = .closed
                case .failed(let error): end = .failed(reason: error.words)
                }
            }
        }
    }

    /// Tells whether any of it is still there, when its owner has let go of it.
    public var remains: () -> Bool {
        { [weak carrier, weak session, weak handshake] in carrier != nil || session != nil || handshake != nil }
    }

    private final class Ending {
        var outcomes: [Outcome] = []
    }

    private final class ChallengeResponder: ChallengeHandler {
        private let take: (AuthenticationChallenge) -> Void

        init(_ take: @escaping (AuthenticationChallenge) -> Void) { self.take = take }

        func ask(_ challenge: AuthenticationChallenge) { take(challenge) }
        func withdraw(_ challenge: AuthenticationChallenge) {}
    }
}

extension InMemoryTLS.Outcome {
    fileprivate init(_ outcome: TLSHandshake.Outcome) {
        switch outcome {
        case .secured(let security):
            let evidence = security.trust.evidence
            self = .secured(
                applicationProtocol: security.applicationProtocol, version: security.version, isResumed: security.isResumed,
                chain: evidence.chain, verdict: evidence.verdict)
        case .failed(let error): self = .failed(error)
        case .refused(let error): self = .refused(error)
        }
    }
}

extension SocketError {
    fileprivate var words: String {
        switch self {
        case .system(let number): LoadError.text(of: number)
        case .closedWithoutNotice: "closed without close_notify"
        case .flooded: "flooded"
        case .tls(let error): error.words
        }
    }
}

/// A carrier in memory, which takes everything.
private final class InMemoryRecordTransport: TLSRecordTransport {
    var input = ByteBuffer()
    var output: [UInt8] = []
    var hasEnded = false

    var isDrained: Bool { true }

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
