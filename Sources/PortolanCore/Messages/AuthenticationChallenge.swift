// SPDX-License-Identifier: Apache-2.0

/// A challenge that must be answered before a load can continue: who is the client, or is this server trusted?
///
/// Answered once, immediately or later, on any thread. Further answers are ignored. A challenge that is released
/// without an answer is answered with ``ChallengeAnswer/performDefault``, so that no load waits forever.
public final class AuthenticationChallenge: Sendable {
    public let protectionSpace: ProtectionSpace
    /// The credential that default handling would use.
    public let proposedCredential: Credential?
    /// How many answers to this challenge were rejected so far.
    public let previousFailureCount: Int
    /// Why the last answer was rejected. For server trust: why default handling would not trust the server; `nil` if it
    /// would.
    public let previousError: LoadError?
    /// The response with the challenge, a 401 or 407 of HTTP; `nil` if there is no such response, as in a TLS handshake
    /// or for a tunnel. It is delivered unless the challenge is answered with a credential.
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

    /// Answers the challenge. The load may continue before this call returns.
    public func answer(_ answer: ChallengeAnswer) {
        reply.answer(answer)
    }
}

/// The five answers to a challenge.
public enum ChallengeAnswer: Sendable {
    /// Continue with this credential. For server trust: trust this chain.
    case use(Credential)
    /// Continue without a credential.
    case continueWithoutCredential
    /// Do what would have happened without a delegate.
    case performDefault
    /// Offer another way to authenticate, if the server has one; otherwise fail.
    case rejectProtectionSpace
    /// End the load.
    case cancel
}

/// The purpose of a credential.
public struct ProtectionSpace: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A user name and a password, by `scheme` (`basic`, `digest`, …; empty if the protocol has only one).
        case password(scheme: String)
        /// A client certificate. The names of accepted issuers are in DER.
        case clientCertificate(acceptedIssuers: [[UInt8]])
        /// Whether the server's chain is trusted. The chain is in DER, leaf first.
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
    /// Whether this is the server of a URL: scheme, host and port are the same.
    ///
    /// Without a port, the default port of the scheme counts. A scheme without a known default has none: its ports are
    /// then the same only if both have the same one, or neither has one.
    package func isOrigin(of url: URLRecord) -> Bool {
        guard !isProxy, let urlHost = url.host, !urlHost.isEmpty else { return false }
        guard protocolName.lowercased() == url.scheme, host.lowercased() == urlHost.lowercased() else { return false }
        return (port ?? url.defaultPort) == url.effectivePort
    }
}

/// A proof of the caller's identity, or the caller's trust in a server.
public enum Credential: Hashable, Sendable {
    case password(user: String, password: String)
    /// A chain in DER, leaf first, and its key as PKCS #8 in DER.
    case certificate(chain: [[UInt8]], privateKey: [UInt8])
    /// For server trust: the presented chain is trusted.
    case serverTrust
}

extension Credential: CustomStringConvertible {
    /// Never shows a secret.
    public var description: String {
        switch self {
        case .password(let user, _): "user '\(user)', password hidden"
        case .certificate(let chain, _): "a certificate (chain of \(chain.count)), key hidden"
        case .serverTrust: "trust in the server's certificate chain"
        }
    }
}
