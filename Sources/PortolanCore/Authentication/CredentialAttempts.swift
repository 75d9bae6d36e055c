// SPDX-License-Identifier: Apache-2.0

/// The user names and passwords that one load has sent, through all of its redirects: which of them the peers refused,
/// and which of them still have no result.
struct CredentialAttempts {
    struct Attempt: Equatable {
        /// In the form of ``ProtectionSpace/canonical``.
        let space: ProtectionSpace
        let credential: Credential

        init(_ credential: Credential, for space: ProtectionSpace) {
            (self.credential, self.space) = (credential, space.canonical)
        }

        /// Whether the user name and the password are the same.
        fileprivate func matches(_ other: Attempt) -> Bool {
            guard case .password(let user, let password, _) = credential,
                case .password(let otherUser, let otherPassword, _) = other.credential
            else { return false }
            return OctetText(user) == OctetText(otherUser) && OctetText(password) == OctetText(otherPassword) && space == other.space
        }
    }

    /// The attempts without a result. At most one for each peer, which is a server or a proxy.
    private var undecidedAttempts: [Attempt] = []
    private var refusedAttempts: [Attempt] = []
    /// The spaces in which the load has authenticated with a credential that is not stored; `nil` until it sends one.
    private(set) var authenticatedSpaces: AuthenticatedSpaces?
    /// Used only if the loader has a netrc file.
    var netrcOrigins = NetrcOrigins()

    /// Returns the spaces of this load, and makes them for the first credential.
    mutating func makeAuthenticatedSpaces() -> AuthenticatedSpaces {
        let spaces = authenticatedSpaces ?? AuthenticatedSpaces()
        authenticatedSpaces = spaces
        return spaces
    }

    /// Handles a challenge for a user name and a password.
    ///
    /// - Parameter preemptiveCredential: a credential that the handler sent without a challenge, and that the peer
    ///   refused.
    /// - Returns: the attempts that the challenge refuses, and those that it accepts. A challenge of an origin means
    ///   that the proxy accepted its credential.
    mutating func receiveChallenge(
        for space: ProtectionSpace, refusing preemptiveCredential: Credential? = nil
    ) -> (refused: [Attempt], accepted: [Attempt]) {
        let space = space.canonical
        let preemptiveAttempts = preemptiveCredential.map { [Attempt($0, for: space)] } ?? []
        // No challenged attempt is proposed again in this load. But a challenge for another realm or scheme does not
        // say that the password is wrong.
        let challengedAttempts = undecidedAttempts.filter { $0.space.isSamePeer(as: space) } + preemptiveAttempts
        undecidedAttempts.removeAll { $0.space.isSamePeer(as: space) }
        refusedAttempts += challengedAttempts
        let newlyRefused = challengedAttempts.filter { $0.space == space }
        var accepted: [Attempt] = []
        if !space.isProxy {
            accepted = undecidedAttempts.filter(\.space.isProxy)
            undecidedAttempts.removeAll(where: \.space.isProxy)
        }
        return (newlyRefused, accepted)
    }

    /// Records an attempt without a result: the load sends `credential`.
    mutating func recordSending(of credential: Credential, for space: ProtectionSpace) {
        undecidedAttempts.append(Attempt(credential, for: space))
    }

    /// The load is tried again from its start: a failure of the connection neither refuses a credential nor accepts it.
    mutating func removeUndecidedAttempts() { undecidedAttempts = [] }

    func wasRefused(_ credential: Credential, for space: ProtectionSpace) -> Bool {
        let attempt = Attempt(credential, for: space)
        return refusedAttempts.contains { $0.matches(attempt) }
    }

    /// Handles a response that is delivered, or that redirects.
    ///
    /// - Parameter status: the HTTP status code; `nil` for another protocol.
    /// - Returns: the attempts that the response refuses, and those that it accepts.
    mutating func receiveResponse(status: Int?) -> (refused: [Attempt], accepted: [Attempt]) {
        defer { undecidedAttempts = [] }
        switch status {
        // A 401 or 407 that is delivered need not mean that the password is wrong: it can follow `stale=true`, or offer
        // only a weaker scheme.
        case 401: return ([], undecidedAttempts.filter(\.space.isProxy))
        case .some(400...): return ([], [])
        default: return ([], undecidedAttempts)
        }
    }
}

extension ProtectionSpace {
    /// Whether both spaces belong to the same server or proxy. Both spaces must be canonical.
    fileprivate func isSamePeer(as other: ProtectionSpace) -> Bool {
        (protocolName, host, port, isProxy) == (other.protocolName, other.host, other.port, other.isProxy)
    }
}
