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
        case use(Authorization)
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
    /// The credential that was sent last, and the offer that it answered; without one, it was sent unasked, by Basic.
    private var sent: (credential: PasswordCredential, offer: AuthenticationOffer?)?
    private var failures: (space: AuthenticationOffer.Space?, count: Int) = (nil, 0)
    /// The peer's offers without those that the caller rejected.
    private var offers: [AuthenticationOffer] = []
    private var rejected: Set<AuthenticationOffer.Space> = []

    /// - Parameter credential: the credential that is sent without a challenge.
    init(with peer: Peer, sending credential: PasswordCredential? = nil) {
        self.peer = peer
        sent = credential.map { ($0, nil) }
    }

    /// Handles a challenge of the peer, the first or a repeated one.
    ///
    /// - Returns: what to do: to ask the caller, or to send the same credential again, because the peer refused only
    ///   the age of its nonce or wants another scheme; `nil` if the peer offers nothing that can be answered, or if the
    ///   limit of answers is reached.
    mutating func challenge(_ offered: [AuthenticationOffer]) -> Decision? {
        // A peer that offered a strong scheme gets no password by a weaker one.
        let strength = sent?.offer?.strength ?? 0
        offers = offered.filter { !rejected.contains($0.space) && $0.strength >= strength }
        guard credentialCount < Self.credentialLimit, let offer = offers.first else { return nil }
        if let sent, isUnrefused(sent, by: offered, offering: offer) {
            failures = (offer.space, failures.count)
            return use(sent.credential, for: offer)
        }
        if sent != nil, failures.space == nil || failures.space == offer.space {
            failures = (offer.space, failures.count + 1)
        } else {
            failures = (offer.space, 0)
        }
        return .ask(challenge(offer))
    }

    /// Whether the peer did not refuse the credential itself.
    private func isUnrefused(
        _ sent: (credential: PasswordCredential, offer: AuthenticationOffer?), by offered: [AuthenticationOffer],
        offering offer: AuthenticationOffer
    ) -> Bool {
        guard let answered = sent.offer else {
            // It was sent by Basic, which the peer does not take.
            return credentialCount == 0 && offer.scheme == "digest" && !offered.contains { $0.scheme == "basic" }
        }
        return offer.isStale && answered.space == offer.space
    }

    private func challenge(_ offer: AuthenticationOffer) -> Challenge {
        let space = ProtectionSpace(
            kind: .password(scheme: offer.scheme), protocolName: peer.protocolName, host: peer.host, port: peer.port, realm: offer.realm,
            isProxy: peer.isProxy)
        return Challenge(
            space: space, failureCount: failures.count, previousError: failures.count == 0 ? nil : sent.map { refusal(of: $0.credential) },
            offer: offer)
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
        case .continueWithoutCredential, .performDefault: return .giveUp
        case .rejectProtectionSpace:
            rejected.insert(challenge.offer.space)
            offers.removeAll { $0.space == challenge.offer.space }
            guard let next = offers.first else {
                return .fail(
                    LoadError(
                        .authenticationRequired,
                        message: "the delegate rejected every authentication method of \(QuotedText(peer.host)); use a credential"))
            }
            failures = (next.space, 0)
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
        return use(credential, for: challenge.offer)
    }

    private mutating func use(_ credential: PasswordCredential, for offer: AuthenticationOffer) -> Decision {
        do throws(LoadError) {
            try offer.check(credential)
        } catch {
            return .fail(error)
        }
        credentialCount += 1
        // The challenge that was answered before counts the uses of its nonce.
        let offer = sent?.offer.flatMap { $0 == offer ? $0 : nil } ?? offer
        sent = (credential, offer)
        return .use(Authorization(credential, for: offer))
    }
}
