// SPDX-License-Identifier: Apache-2.0

/// A question that a load asks before it can go on: who are you, or do you trust this server?
///
/// Answered once, later, from any thread; further answers are ignored. A challenge that is dropped without an answer is answered with
/// ``ChallengeAnswer/performDefault``, so that no load waits for ever.
public final class AuthenticationChallenge: Sendable {
    public let protectionSpace: ProtectionSpace
    /// What default handling would use.
    public let proposedCredential: Credential?
    /// How many answers to this question were wrong so far.
    public let previousFailureCount: Int
    /// Why the last answer was wrong; of a question of server trust, why default handling would not trust the server, `nil` where it would.
    public let previousError: LoadError?
    /// The response that asks, a 401 or 407 of HTTP; `nil` where no response does, as of a TLS handshake or a tunnel. Unless the challenge is answered with a
    /// credential, it is delivered.
    public let failureResponse: Response?
    let reply: OneShotCallback<ChallengeAnswer>

    public init(
        protectionSpace: ProtectionSpace, proposedCredential: Credential? = nil, previousFailureCount: Int = 0,
        previousError: LoadError? = nil, failureResponse: Response? = nil, reply: @escaping @Sendable (ChallengeAnswer) -> Void
    ) {
        self.protectionSpace = protectionSpace
        self.proposedCredential = proposedCredential
        self.previousFailureCount = previousFailureCount
        self.previousError = previousError
        self.failureResponse = failureResponse
        self.reply = OneShotCallback(reply)
    }

    deinit { answer(.performDefault) }

    /// Answers the challenge. The load may go on before this returns.
    public func answer(_ answer: ChallengeAnswer) {
        reply.answer(answer)
    }
}

/// The five answers to a challenge.
public enum ChallengeAnswer: Sendable {
    /// Go on with this credential; to a question of server trust: trust this chain.
    case use(Credential)
    /// Go on without a credential.
    case continueWithout
    /// What would have happened without a delegate.
    case performDefault
    /// Offer another way to authenticate, if the server has one; else fail.
    case rejectProtectionSpace
    /// End the load.
    case cancel
}

/// What a credential is for.
public struct ProtectionSpace: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A user name and a password, by `scheme` (`basic`, `digest`, …; empty where the protocol has only one).
        case password(scheme: String)
        /// A certificate of the client's; the names are those of accepted issuers, DER.
        case clientCertificate(acceptedIssuers: [[UInt8]])
        /// Whether the server's chain is trusted; DER, leaf first.
        case serverTrust(chain: [[UInt8]])
    }

    public var kind: Kind
    /// The protocol's name, e.g. `http`.
    public var protocolName: String
    public var host: String
    public var port: Int?
    public var realm: String?
    public var isProxy: Bool

    public init(kind: Kind, protocolName: String, host: String, port: Int? = nil, realm: String? = nil, isProxy: Bool = false) {
        self.kind = kind
        self.protocolName = protocolName
        self.host = host
        self.port = port
        self.realm = realm
        self.isProxy = isProxy
    }
}

extension ProtectionSpace {
    /// Whether this is the server that a URL names: scheme, host and port are the same.
    ///
    /// Without a port the default of the scheme is meant. A scheme whose default is not known has none: a port is then the same only where both
    /// write it, or neither does.
    package func isOrigin(of url: URLRecord) -> Bool {
        guard !isProxy, let urlHost = url.host, !urlHost.isEmpty else { return false }
        guard protocolName.lowercased() == url.scheme, host.lowercased() == urlHost.lowercased() else { return false }
        return (port ?? url.defaultPort) == url.effectivePort
    }
}

/// What proves who the caller is.
public enum Credential: Hashable, Sendable {
    case password(user: String, password: String)
    /// A chain, DER, leaf first, and its key, PKCS #8 in DER.
    case certificate(chain: [[UInt8]], privateKey: [UInt8])
    /// The answer to a question of server trust: the chain that was shown is trusted.
    case serverTrust
}

extension Credential: CustomStringConvertible {
    /// Never shows a secret.
    public var description: String {
        switch self {
        case .password(let user, _): "user '\(user)', password hidden"
        case .certificate(let chain, _): "a certificate with \(chain.count) in its chain, key hidden"
        case .serverTrust: "trust in the server's chain"
        }
    }
}
