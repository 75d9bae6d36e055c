// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// The authentication of one load to one peer. Decides which challenge the caller receives, and how the load continues
/// after the caller's answer.
struct AuthenticationDialogue {
    /// The server or proxy that requests authentication.
    struct Peer {
        /// The URL's scheme, or the proxy's.
        let protocolName: String
        /// Spelled as in a URL, with an IPv6 address in brackets.
        let host: String
        let port: Int
        let isProxy: Bool

        fileprivate var description: String { "\(isProxy ? "proxy " : "")\(protocolName)://\(host):\(port)" }
    }

    struct Challenge {
        let space: ProtectionSpace
        let failureCount: Int
        let previousError: LoadError?
        /// The credential that was sent without a challenge, and that the peer refused.
        let refusedCredential: PasswordCredential?
        fileprivate let offer: AuthenticationOffer
    }

    enum Decision {
        /// Send the request again, with this authorization.
        case use(Authorization)
        case sendChallenge(Challenge)
        case continueWithoutCredential
        case fail(LoadError)
    }

    /// The credential that was sent last.
    private struct SentCredential {
        let credential: PasswordCredential
        /// The offer that it answered; `nil` if it was sent by Basic without an offer.
        let offer: AuthenticationOffer?
        /// Whether the credential was sent before a challenge, not as the caller's answer to one.
        let isPreemptive: Bool
        /// Whether the offer is one of an earlier load.
        var isReused = false
    }

    /// The maximum number of times that one load answers challenges of a peer with a credential. The limit ends a load
    /// whose caller always answers, or whose peer requests another realm each time.
    static let credentialLimit = 8

    private let peer: Peer
    private let nonceCounts: DigestNonceCounts
    private var credentialCount = 0
    private var sent: SentCredential?
    /// The space of the last challenge, and how many credentials in a row the peer has refused there.
    private var failures: (space: AuthenticationOffer.Space?, count: Int) = (nil, 0)
    /// The peer's offers that can be answered: those that the caller did not reject, and that are not weaker than the
    /// offer answered last.
    private var offers: [AuthenticationOffer] = []
    private var rejectedSpaces: Set<AuthenticationOffer.Space> = []

    /// - Parameters:
    ///   - credential: the credential that the first request sends by Basic.
    ///   - authorization: the authorization that the first request sends instead, because an earlier load authenticated
    ///     in the same space.
    ///   - nonceCounts: the nonce counts that all loads of the handler share.
    init(
        with peer: Peer, sending credential: PasswordCredential? = nil, reusing authorization: Authorization? = nil,
        countingNoncesIn nonceCounts: DigestNonceCounts = DigestNonceCounts()
    ) {
        (self.peer, self.nonceCounts) = (peer, nonceCounts)
        if let authorization {
            sent = SentCredential(credential: authorization.credential, offer: authorization.offer, isPreemptive: true, isReused: true)
        } else {
            sent = credential.map { SentCredential(credential: $0, offer: nil, isPreemptive: true) }
        }
    }

    /// Handles a challenge of the peer, the first or a repeated one.
    ///
    /// - Returns: ``Decision/sendChallenge(_:)``, or ``Decision/use(_:)`` with the same credential if the peer refused
    ///   only the nonce or the scheme, or ``Decision/fail(_:)`` if the new scheme can't carry that credential; `nil` if
    ///   the peer offers nothing that can be answered, or if the limit of credentials is reached.
    mutating func receiveChallenge(offering peerOffers: [AuthenticationOffer]) -> Decision? {
        let peerOffers = peerOffers.map { $0.counted(by: nonceCounts, for: peer.description) }
        offers = peerOffers.filter { !rejectedSpaces.contains($0.space) && !isWeaker($0) }
        guard credentialCount < Self.credentialLimit, let offer = offers.first else { return nil }
        if let sent, isStillValid(sent, peerOffers: peerOffers, nextOffer: offer) {
            failures = (offer.space, failures.count)
            return use(sent.credential, for: offer, isPreemptive: sent.isPreemptive)
        }
        // A challenge for another realm does not refuse the credential of an earlier load.
        let answeredSpace = failures.space ?? sent?.offer?.space
        if sent != nil, answeredSpace == nil || answeredSpace == offer.space {
            failures = (offer.space, failures.count + 1)
        } else {
            failures = (offer.space, 0)
        }
        return .sendChallenge(challenge(offer))
    }

    /// Whether the scheme of the offer is weaker than that of the offer answered last. The peer then receives no
    /// password by the weaker scheme. The offer that an earlier load has answered counts only for the same realm.
    private func isWeaker(_ offer: AuthenticationOffer) -> Bool {
        guard let sent, let answered = sent.offer, !sent.isReused || answered.realm == offer.realm else { return false }
        return offer.strength < answered.strength
    }

    /// Whether the sent credential can be valid although the peer sent a challenge, because the peer refused only the
    /// scheme or the nonce.
    private func isStillValid(
        _ sent: SentCredential, peerOffers: [AuthenticationOffer], nextOffer offer: AuthenticationOffer
    ) -> Bool {
        guard let answered = sent.offer else {
            // The credential was sent by Basic, and the peer does not accept Basic.
            return credentialCount == 0 && offer.scheme == "digest" && !peerOffers.contains { $0.scheme == "basic" }
        }
        guard answered.space == offer.space else { return false }
        // Not every server says that a nonce of an earlier load is stale.
        return offer.isStale || (sent.isReused && offer.scheme == "digest" && offer != answered)
    }

    func space(of offer: AuthenticationOffer) -> ProtectionSpace {
        ProtectionSpace(
            kind: .password(scheme: offer.scheme), protocolName: peer.protocolName, host: peer.host, port: peer.port, realm: offer.realm,
            isProxy: peer.isProxy)
    }

    private func challenge(_ offer: AuthenticationOffer) -> Challenge {
        let space = space(of: offer)
        let refused = failures.count == 0 ? nil : sent
        return Challenge(
            space: space, failureCount: failures.count, previousError: refused.map { refusal(of: $0.credential) },
            refusedCredential: refused?.isPreemptive == true ? refused?.credential : nil, offer: offer)
    }

    private func refusal(of credential: PasswordCredential) -> LoadError {
        LoadError(
            .authenticationRequired,
            message:
                "\(peer.isProxy ? "the proxy" : "the server") \(QuotedText(peer.host)) did not accept \(credential); check name and password"
        )
    }

    /// Returns how the load continues after the caller's answer to a challenge.
    mutating func decide(_ answer: ChallengeAnswer, on challenge: Challenge) -> Decision {
        switch answer {
        case .use(let credential): return use(credential, for: challenge)
        case .continueWithoutCredential, .performDefault: return .continueWithoutCredential
        case .rejectProtectionSpace:
            rejectedSpaces.insert(challenge.offer.space)
            offers.removeAll { $0.space == challenge.offer.space }
            guard let next = offers.first else {
                return .fail(
                    LoadError(
                        .authenticationRequired,
                        message: "the delegate rejected every authentication method of \(QuotedText(peer.host)); use a credential"))
            }
            failures = (next.space, 0)
            return .sendChallenge(self.challenge(next))
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

    private mutating func use(
        _ credential: PasswordCredential, for offer: AuthenticationOffer, isPreemptive: Bool = false
    ) -> Decision {
        do throws(LoadError) {
            try offer.check(credential)
        } catch {
            return .fail(error)
        }
        credentialCount += 1
        // If the load answered an equal offer before, use that offer's challenge object again.
        let offer = sent?.offer.flatMap { $0 == offer ? $0 : nil } ?? offer
        offer.endSession()
        sent = SentCredential(credential: credential, offer: offer, isPreemptive: isPreemptive)
        return .use(Authorization(credential, for: offer))
    }
}
