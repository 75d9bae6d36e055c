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
        case use(PasswordCredential, Side)
        case ask(Challenge)
        /// The caller receives the response, or the error, that led to the challenge.
        case giveUp
        case fail(LoadError)
    }

    private var origin: AuthenticationDialogue
    private var proxy: AuthenticationDialogue?
    /// Whether the proxy responds to requests itself. In a tunnel only the origin responds, whatever it claims.
    private let proxyResponds: Bool

    init(to key: ConnectionKey) {
        origin = AuthenticationDialogue(
            with: .init(protocolName: key.isSecure ? "https" : "http", host: key.urlHost, port: key.port, isProxy: false))
        proxy = key.proxy.map { proxy in
            AuthenticationDialogue(
                with: .init(protocolName: proxy.scheme, host: proxy.urlHost, port: proxy.port, isProxy: true), sending: proxy.credential)
        }
        proxyResponds = key.usesAbsoluteForm
    }

    /// The challenge that a response leads to; `nil` if the caller receives the response as it is.
    ///
    /// A 407 from an origin leads to none, because an origin must not obtain the proxy's password.
    ///
    /// RFC 9110 §15.5.2, §15.5.8
    mutating func challenge(for head: ResponseHead) -> Challenge? {
        switch head.status {
        case 401:
            return origin.challenge(AuthenticationOffer.all(in: .wwwAuthenticate, of: head.fields)).map {
                Challenge(side: .origin, inner: $0)
            }
        case 407 where proxyResponds: return challenge(of: AuthenticationOffer.all(in: .proxyAuthenticate, of: head.fields))
        default: return nil
        }
    }

    /// The challenge for a connection that failed because the proxy requires authentication.
    mutating func challenge(for error: LoadError) -> Challenge? {
        guard let tunnel = error.cause as? ProxyChallenge, var challenge = challenge(of: tunnel.offers) else { return nil }
        challenge.connectionFailure = error.code
        return challenge
    }

    private mutating func challenge(of offers: [AuthenticationOffer]) -> Challenge? {
        proxy?.challenge(offers).map { Challenge(side: .proxy, inner: $0) }
    }

    mutating func decide(_ answer: ChallengeAnswer, on challenge: Challenge) -> Decision {
        let decision: AuthenticationDialogue.Decision? =
            switch challenge.side {
            case .origin: origin.decide(answer, on: challenge.inner)
            case .proxy: proxy?.decide(answer, on: challenge.inner)
            }
        switch decision {
        case .use(let credential): return .use(credential, challenge.side)
        case .ask(let next):
            return .ask(Challenge(side: challenge.side, inner: next, connectionFailure: challenge.connectionFailure))
        case .giveUp, nil: return .giveUp
        case .fail(let error): return .fail(error)
        }
    }
}

extension ConnectionKey {
    /// The host as in a URL.
    fileprivate var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }
}
