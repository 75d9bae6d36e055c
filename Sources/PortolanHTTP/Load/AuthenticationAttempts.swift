// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// The credentials that a load has tried, for the origin and for the proxy. Neither of them receives credentials for
/// the other.
struct AuthenticationAttempts {
    enum Side { case origin, proxy }

    struct Challenge {
        let side: Side
        fileprivate let inner: AuthenticationDialogue.Challenge
        /// Why the connection was not made, if the connection waits for the answer.
        fileprivate var connectionFailure: LoadError.Code?

        var space: ProtectionSpace { inner.space }
        var failureCount: Int { inner.failureCount }
        var previousError: LoadError? {
            guard let connectionFailure, var error = inner.previousError else { return inner.previousError }
            error.code = connectionFailure
            return error
        }
    }

    enum Decision {
        case use(Authorization, Side)
        case ask(Challenge)
        /// The caller receives the response, or the error, that led to the challenge.
        case giveUp
        case fail(LoadError)
    }

    private var origin: AuthenticationDialogue
    private var proxy: AuthenticationDialogue?
    /// Whether the proxy responds to requests itself. In a tunnel only the origin responds, whatever it claims.
    private let proxyResponds: Bool

    /// - Parameter credential: what the first request sends to the origin.
    init(to key: ConnectionKey, sending credential: PasswordCredential? = nil) {
        origin = AuthenticationDialogue(
            with: .init(protocolName: key.isSecure ? "https" : "http", host: key.urlHost, port: key.port, isProxy: false),
            sending: credential)
        proxy = key.proxy.map { proxy in
            AuthenticationDialogue(
                with: .init(protocolName: proxy.scheme, host: proxy.urlHost, port: proxy.port, isProxy: true), sending: proxy.credential)
        }
        proxyResponds = key.usesAbsoluteForm
    }

    /// What a response with a challenge leads to; `nil` if the caller receives the response as it is.
    ///
    /// A 407 from an origin leads to nothing, because an origin must not obtain the proxy's password.
    ///
    /// RFC 9110 §15.5.2, §15.5.8
    mutating func challenge(for head: ResponseHead) -> Decision? {
        switch head.status {
        case 401: return decision(origin.challenge(AuthenticationOffer.all(in: .wwwAuthenticate, of: head.fields)), by: .origin)
        case 407 where proxyResponds: return challenge(by: AuthenticationOffer.all(in: .proxyAuthenticate, of: head.fields))
        default: return nil
        }
    }

    /// What a connection that failed because the proxy requires authentication leads to.
    mutating func challenge(for error: LoadError) -> Decision? {
        guard let tunnel = error.underlyingError as? ProxyChallenge else { return nil }
        return challenge(by: tunnel.offers, connectionFailure: error.code)
    }

    private mutating func challenge(by offers: [AuthenticationOffer], connectionFailure: LoadError.Code? = nil) -> Decision? {
        decision(proxy?.challenge(offers), by: .proxy, connectionFailure)
    }

    private func decision(
        _ decision: AuthenticationDialogue.Decision?, by side: Side, _ connectionFailure: LoadError.Code? = nil
    ) -> Decision? {
        switch decision {
        case .use(let authorization): .use(authorization, side)
        case .ask(let inner): .ask(Challenge(side: side, inner: inner, connectionFailure: connectionFailure))
        case .giveUp: .giveUp
        case .fail(let error): .fail(error)
        case nil: nil
        }
    }

    mutating func decide(_ answer: ChallengeAnswer, on challenge: Challenge) -> Decision {
        let decision: AuthenticationDialogue.Decision? =
            switch challenge.side {
            case .origin: origin.decide(answer, on: challenge.inner)
            case .proxy: proxy?.decide(answer, on: challenge.inner)
            }
        return self.decision(decision, by: challenge.side, challenge.connectionFailure) ?? .giveUp
    }
}

extension ConnectionKey {
    /// The host as in a URL.
    fileprivate var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }
}
