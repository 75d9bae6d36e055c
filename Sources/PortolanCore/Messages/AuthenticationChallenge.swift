// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Asks which credential to send, or whether to trust a server. The load continues after the answer.
///
/// Answer it once, immediately or later, on any thread. Further answers are ignored. If a challenge is released without
/// an answer, the answer is ``ChallengeAnswer/performDefault``, so that no load waits forever.
public final class AuthenticationChallenge: Sendable {
    public let protectionSpace: ProtectionSpace
    /// The credential that default handling would use.
    public let proposedCredential: Credential?
    /// The number of answers to this challenge that were rejected.
    public let previousFailureCount: Int
    /// Why the last answer was rejected. For server trust: why default handling does not trust the server; `nil` if it
    /// trusts the server.
    public let previousError: LoadError?
    /// The 401 or 407 response that contains the challenge; `nil` if there is none, as in a TLS handshake or for a
    /// tunnel. The caller receives this response unless a credential answers the challenge.
    public let failureResponse: Response?
    /// A credential that the handler sent without a challenge, and that the peer refused.
    package let refusedCredential: Credential?
    /// Set before the answer if the credential of the answer is kept. The handler can then send the credential again
    /// without a challenge. `nil` if the handler has no support for this.
    let authenticatedSpaces: AuthenticatedSpaces.Slot?
    let callback: OneShotCallback<ChallengeAnswer>
    /// Whether the delegate of the loader has received the challenge, or its cancellation, from another delegate.
    let isForwarded = Atomic(false)
    let isCancellationForwarded = Atomic(false)

    public convenience init(
        protectionSpace: ProtectionSpace, proposedCredential: Credential? = nil, previousFailureCount: Int = 0,
        previousError: LoadError? = nil, failureResponse: Response? = nil, reply: @escaping @Sendable (ChallengeAnswer) -> Void
    ) {
        self.init(
            protectionSpace: protectionSpace, proposedCredential: proposedCredential, previousFailureCount: previousFailureCount,
            previousError: previousError, failureResponse: failureResponse, refusedCredential: nil, authenticatedSpaces: nil, reply: reply)
    }

    package init(
        protectionSpace: ProtectionSpace, proposedCredential: Credential?, previousFailureCount: Int, previousError: LoadError?,
        failureResponse: Response?, refusedCredential: Credential?, authenticatedSpaces: AuthenticatedSpaces.Slot?,
        reply: @escaping @Sendable (ChallengeAnswer) -> Void
    ) {
        self.protectionSpace = protectionSpace
        self.proposedCredential = proposedCredential
        self.previousFailureCount = previousFailureCount
        self.previousError = previousError
        self.failureResponse = failureResponse
        self.refusedCredential = refusedCredential
        self.authenticatedSpaces = authenticatedSpaces
        callback = OneShotCallback(reply)
    }

    deinit { answer(.performDefault) }

    /// Answers the challenge. The load can continue before this call returns.
    public func answer(_ answer: ChallengeAnswer) {
        callback.answer(answer)
    }
}

/// The five answers to a challenge.
public enum ChallengeAnswer: Sendable {
    /// Continue with this credential. For server trust: trust this chain.
    case use(Credential)
    /// Continue without a credential.
    case continueWithoutCredential
    /// Handle the challenge as if there were no delegate.
    case performDefault
    /// Send a challenge for another authentication scheme, if the server offers one. Otherwise fail.
    case rejectProtectionSpace
    /// End the load.
    case cancel
}

/// Where a credential is valid.
///
/// Two spaces are equal if their texts have the same octets. Two Unicode forms of the same text are different realms.
public struct ProtectionSpace: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A user name and a password. The scheme is `basic`, `digest` and so on; empty if the protocol has only one.
        case password(scheme: String)
        /// A client certificate. The names of accepted issuers are in DER.
        case clientCertificate(acceptedIssuers: [[UInt8]])
        /// Trust in a server. Its certificate chain is in DER, leaf first.
        case serverTrust(chain: [[UInt8]])
    }

    public var kind: Kind
    /// The name of the protocol, such as `http`.
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
    public static func == (a: Self, b: Self) -> Bool {
        a.kind == b.kind && a.port == b.port && a.isProxy == b.isProxy && OctetText(a.protocolName) == OctetText(b.protocolName)
            && OctetText(a.host) == OctetText(b.host) && a.realm.map(OctetText.init) == b.realm.map(OctetText.init)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(OctetText(host))
        hasher.combine(port)
        hasher.combine(realm.map(OctetText.init))
    }

    /// Whether the space has the scheme, host and port of a URL. Where a port is missing, the default port of the
    /// scheme is used, if the scheme has one.
    package func isOrigin(of url: URLRecord) -> Bool {
        guard !isProxy, let urlHost = url.host, !urlHost.isEmpty else { return false }
        guard protocolName.lowercased() == url.scheme, host.lowercased() == urlHost.lowercased() else { return false }
        return (port ?? url.defaultPort) == url.effectivePort
    }
}

/// What proves the caller's identity, or expresses the caller's trust in a server.
///
/// Two passwords, or user names, are equal if they have the same octets.
public enum Credential: Hashable, Sendable {
    /// A user name and a password, and how long a ``CredentialStorage`` keeps them.
    case password(user: String, password: String, persistence: Persistence = .none)
    /// A client certificate: its chain in DER, leaf first, and its private key as PKCS #8 in DER.
    case certificate(chain: [[UInt8]], privateKey: [UInt8])
    /// For server trust: the presented chain is trusted.
    case serverTrust

    /// How long a user name and a password are kept after a server has accepted them.
    public enum Persistence: Hashable, Sendable {
        /// They are used in the load whose challenge they answer, and not stored.
        case none
        /// They are in memory, for all loads of the loaders that share the storage.
        case loader
        /// Later processes can use them, too, if the storage can write them to a disk. Otherwise like `loader`.
        case permanent
    }

    /// How long the credential is kept. Certificates and trust are not stored.
    package var persistence: Persistence { if case .password(_, _, let persistence) = self { persistence } else { .none } }
}

extension Credential {
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.password(let user, let password, let persistence), .password(let otherUser, let otherPassword, let otherPersistence)):
            OctetText(user) == OctetText(otherUser) && OctetText(password) == OctetText(otherPassword) && persistence == otherPersistence
        case (.certificate(let chain, let key), .certificate(let otherChain, let otherKey)): (chain, key) == (otherChain, otherKey)
        case (.serverTrust, .serverTrust): true
        case (.password, _), (.certificate, _), (.serverTrust, _): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .password(let user, let password, _):
            hasher.combine(OctetText(user))
            hasher.combine(OctetText(password))
        case .certificate(let chain, _): hasher.combine(chain)
        case .serverTrust: hasher.combine(0)
        }
    }

    /// Why Basic can't carry a user name and a password, and how to fix it; `nil` if it can.
    ///
    /// RFC 7617 §2
    package static func problemWithBasic(user: String, password: String) -> String? {
        if user.utf8.contains(UInt8(ascii: ":")) { return "a user name with a colon can't be sent by Basic; use another one" }
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        guard user.unicodeScalars.contains(where: isControl) || password.unicodeScalars.contains(where: isControl) else { return nil }
        return "Basic allows no control characters in user name and password; remove them"
    }

    /// Why the scheme of a space can't carry the credential; `nil` if it can.
    package func problem(in space: ProtectionSpace) -> String? {
        guard case .password(let scheme) = space.kind, scheme.lowercased() == "basic", case .password(let user, let password, _) = self
        else { return nil }
        return Self.problemWithBasic(user: user, password: password)
    }
}

extension Credential: CustomStringConvertible, CustomReflectable {
    /// Has no children, so that `dump(_:)` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Never shows a secret.
    public var description: String {
        switch self {
        case .password(let user, _, _): "user '\(user)', password hidden"
        case .certificate(let chain, _): "a certificate (chain of \(chain.count)), key hidden"
        case .serverTrust: "trust in the server's certificate chain"
        }
    }
}
