// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// The authentication of a load to its origin and to its proxy. Neither of them receives credentials for the other.
struct AuthenticationAttempts {
    enum Side { case origin, proxy }

    struct Challenge {
        let side: Side
        fileprivate let challenge: AuthenticationDialogue.Challenge
        /// The code of the error with which the connection failed; `nil` if the challenge came in a response.
        fileprivate var connectionFailure: LoadError.Code?

        var space: ProtectionSpace { challenge.space }
        var failureCount: Int { challenge.failureCount }
        var refusedCredential: Credential? { challenge.refusedCredential?.credential }
        var previousError: LoadError? {
            guard let connectionFailure, var error = challenge.previousError else { return challenge.previousError }
            error.code = connectionFailure
            return error
        }
    }

    enum Decision {
        case use(Authorization, Side)
        case sendChallenge(Challenge)
        /// The caller receives the response, or the error, that led to the challenge.
        case continueWithoutCredential
        case fail(LoadError)
    }

    private var origin: AuthenticationDialogue
    private var proxy: AuthenticationDialogue?
    /// Whether the proxy responds to requests itself. In a tunnel only the origin responds, even with the status 407.
    private let proxyResponds: Bool

    /// - Parameters:
    ///   - credential: the credential that the first request sends to the origin by Basic.
    ///   - authorization: the authorization of an earlier load that the first request sends to the origin instead.
    ///   - nonceCounts: the nonce counts that all loads of the handler share.
    init(
        to key: ConnectionKey, sending credential: PasswordCredential? = nil, reusing authorization: Authorization? = nil,
        countingNoncesIn nonceCounts: DigestNonceCounts
    ) {
        origin = AuthenticationDialogue(
            with: .init(protocolName: key.isSecure ? "https" : "http", host: key.urlHost, port: key.port, isProxy: false),
            sending: credential, reusing: authorization, countingNoncesIn: nonceCounts)
        proxy = key.proxy.map { proxy in
            AuthenticationDialogue(
                with: .init(protocolName: proxy.scheme, host: proxy.urlHost, port: proxy.port, isProxy: true), sending: proxy.credential,
                countingNoncesIn: nonceCounts)
        }
        proxyResponds = key.usesAbsoluteForm
    }

    /// Returns how the load continues after a response with a challenge; `nil` if the caller receives the response
    /// unchanged.
    ///
    /// The decision about a 407 from an origin is `nil`, because an origin must not obtain the proxy's password.
    ///
    /// RFC 9110 §15.5.2, §15.5.8
    mutating func decision(for head: ResponseHead) -> Decision? {
        switch head.status {
        case 401:
            return decision(origin.receiveChallenge(offering: AuthenticationOffer.all(in: .wwwAuthenticate, of: head.fields)), by: .origin)
        case 407 where proxyResponds:
            return proxyDecision(for: AuthenticationOffer.all(in: .proxyAuthenticate, of: head.fields))
        default: return nil
        }
    }

    /// Returns how the load continues after a connection failed because the proxy requires authentication; `nil` if it
    /// failed for another reason.
    mutating func decision(for error: LoadError) -> Decision? {
        guard let proxyChallenge = error.underlyingError as? ProxyChallenge else { return nil }
        return proxyDecision(for: proxyChallenge.offers, connectionFailure: error.code)
    }

    private mutating func proxyDecision(for offers: [AuthenticationOffer], connectionFailure: LoadError.Code? = nil) -> Decision? {
        decision(proxy?.receiveChallenge(offering: offers), by: .proxy, connectionFailure)
    }

    private func decision(
        _ decision: AuthenticationDialogue.Decision?, by side: Side, _ connectionFailure: LoadError.Code? = nil
    ) -> Decision? {
        switch decision {
        case .use(let authorization): .use(authorization, side)
        case .sendChallenge(let challenge):
            .sendChallenge(Challenge(side: side, challenge: challenge, connectionFailure: connectionFailure))
        case .continueWithoutCredential: .continueWithoutCredential
        case .fail(let error): .fail(error)
        case nil: nil
        }
    }

    /// The protection space of an offer of the origin or the proxy.
    func space(of offer: AuthenticationOffer, by side: Side) -> ProtectionSpace? {
        switch side {
        case .origin: origin.space(of: offer)
        case .proxy: proxy?.space(of: offer)
        }
    }

    mutating func decide(_ answer: ChallengeAnswer, on challenge: Challenge) -> Decision {
        let decision: AuthenticationDialogue.Decision? =
            switch challenge.side {
            case .origin: origin.decide(answer, on: challenge.challenge)
            case .proxy: proxy?.decide(answer, on: challenge.challenge)
            }
        return self.decision(decision, by: challenge.side, challenge.connectionFailure) ?? .continueWithoutCredential
    }
}

extension ConnectionKey {
    /// The host as in a URL.
    fileprivate var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }
}
