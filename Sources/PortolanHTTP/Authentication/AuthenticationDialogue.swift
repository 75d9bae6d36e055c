// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// The authentication of one load to one peer. Decides which challenge the caller receives, and what its answer means.
struct AuthenticationDialogue {
    /// The server or proxy that requests authentication.
    struct Peer {
        /// The URL's scheme, or the proxy's.
        let protocolName: String
        /// Spelled as in a URL, with an IPv6 address in brackets.
        let host: String
        let port: Int
        let isProxy: Bool
    }

    struct Challenge {
        let space: ProtectionSpace
        let failureCount: Int
        let previousError: LoadError?
        fileprivate let offer: AuthenticationOffer
    }

    enum Decision {
        case use(PasswordCredential)
        /// The caller is to be asked about another offer of the peer.
        case ask(Challenge)
        /// Continue without a credential.
        case giveUp
        case fail(LoadError)
    }

    /// How many credentials one load sends to a peer. The limit ends a load whose caller keeps answering, or whose peer
    /// requests another realm each time.
    static let credentialLimit = 8

    private let peer: Peer
    private var credentialCount = 0
    /// The credential that was sent last.
    private var sent: PasswordCredential?
    private var failures: (offer: AuthenticationOffer?, count: Int) = (nil, 0)
    /// The peer's offers without those that the caller rejected.
    private var offers: [AuthenticationOffer] = []
    private var rejected: Set<AuthenticationOffer> = []

    /// - Parameter credential: the credential that is sent without a challenge.
    init(with peer: Peer, sending credential: PasswordCredential? = nil) {
        self.peer = peer
        sent = credential
    }

    /// Handles a challenge of the peer, the first or a repeated one.
    ///
    /// - Returns: the challenge for the caller; `nil` if the peer offers no known scheme, or if the limit of answers is
    ///   reached.
    mutating func challenge(_ offered: [AuthenticationOffer]) -> Challenge? {
        offers = offered.filter { !rejected.contains($0) }
        guard credentialCount < Self.credentialLimit, let offer = offers.first else { return nil }
        if sent != nil, failures.offer == nil || failures.offer == offer {
            failures = (offer, failures.count + 1)
        } else {
            failures = (offer, 0)
        }
        return challenge(offer)
    }

    private func challenge(_ offer: AuthenticationOffer) -> Challenge {
        let space = ProtectionSpace(
            kind: .password(scheme: offer.scheme), protocolName: peer.protocolName, host: peer.host, port: peer.port, realm: offer.realm,
            isProxy: peer.isProxy)
        return Challenge(
            space: space, failureCount: failures.count, previousError: failures.count == 0 ? nil : sent.map(refusal), offer: offer)
    }

    private func refusal(of credential: PasswordCredential) -> LoadError {
        LoadError(
            .authenticationRequired,
            message:
                "\(peer.isProxy ? "the proxy" : "the server") \(QuotedText(peer.host)) did not accept \(credential); check name and password"
        )
    }

    mutating func decide(_ answer: ChallengeAnswer, on challenge: Challenge) -> Decision {
        switch answer {
        case .use(let credential): return use(credential, for: challenge)
        case .continueWithout, .performDefault: return .giveUp
        case .rejectProtectionSpace:
            rejected.insert(challenge.offer)
            offers.removeAll { $0 == challenge.offer }
            guard let next = offers.first else {
                return .fail(
                    LoadError(
                        .authenticationRequired,
                        message: "the delegate rejected every authentication method of \(QuotedText(peer.host)); use a credential"))
            }
            failures = (next, 0)
            return .ask(self.challenge(next))
        case .cancel:
            return .fail(
                LoadError(
                    .authenticationCancelled,
                    message: "the challenge of \(QuotedText(peer.host)) for a user name and password was cancelled"))
        }
    }

    private mutating func use(_ credential: Credential, for challenge: Challenge) -> Decision {
        guard let credential = PasswordCredential(credential) else {
            return .fail(
                LoadError(
                    .authenticationRequired,
                    message:
                        "\(QuotedText(peer.host)) asks for a user name and password, but the credential is \(credential); use a password"))
        }
        do throws(LoadError) {
            try challenge.offer.check(credential)
        } catch {
            return .fail(error)
        }
        credentialCount += 1
        sent = credential
        return .use(credential)
    }
}
