// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

/// The credentials that a load has tried, for the origin and for the proxy. Neither of them receives credentials for
/// the other.
struct AuthenticationAttempts {
    enum Side { case origin, proxy }

    struct Question {
        let side: Side
        fileprivate let inner: AuthenticationDialogue.Question
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
        case ask(Question)
        /// The caller receives the response, or the error, that led to the question.
        case giveUp
        case fail(LoadError)
    }

    private var origin: AuthenticationDialogue
    private var proxy: AuthenticationDialogue?
    /// Whether the proxy responds to requests itself. In a tunnel only the origin responds, whatever it claims.
    private let proxyAnswers: Bool

    init(to key: ConnectionKey) {
        origin = AuthenticationDialogue(
            with: .init(protocolName: key.isSecure ? "https" : "http", host: key.urlHost, port: key.port, isProxy: false))
        proxy = key.proxy.map { proxy in
            AuthenticationDialogue(
                with: .init(protocolName: proxy.scheme, host: proxy.urlHost, port: proxy.port, isProxy: true), sending: proxy.credential)
        }
        proxyAnswers = key.usesAbsoluteForm
    }

    /// The question that a response leads to; `nil` if the caller receives the response as it is.
    ///
    /// A 407 from an origin leads to none, because an origin must not obtain the proxy's password.
    ///
    /// RFC 9110 §15.5.2, §15.5.8
    mutating func question(for head: ResponseHead) -> Question? {
        switch head.status {
        case 401:
            return origin.question(AuthenticationOffer.all(in: .wwwAuthenticate, of: head.fields)).map {
                Question(side: .origin, inner: $0)
            }
        case 407 where proxyAnswers: return question(of: AuthenticationOffer.all(in: .proxyAuthenticate, of: head.fields))
        default: return nil
        }
    }

    /// The question for a connection that failed because the proxy requires authentication.
    mutating func question(for error: LoadError) -> Question? {
        guard let challenge = error.cause as? ProxyChallenge, var question = question(of: challenge.offers) else { return nil }
        question.connectionFailure = error.code
        return question
    }

    private mutating func question(of offers: [AuthenticationOffer]) -> Question? {
        proxy?.question(offers).map { Question(side: .proxy, inner: $0) }
    }

    mutating func decide(_ answer: ChallengeAnswer, on question: Question) -> Decision {
        let decision: AuthenticationDialogue.Decision? =
            switch question.side {
            case .origin: origin.decide(answer, on: question.inner)
            case .proxy: proxy?.decide(answer, on: question.inner)
            }
        switch decision {
        case .use(let credential): return .use(credential, question.side)
        case .ask(let next):
            return .ask(Question(side: question.side, inner: next, connectionFailure: question.connectionFailure))
        case .giveUp, nil: return .giveUp
        case .fail(let error): return .fail(error)
        }
    }
}

extension ConnectionKey {
    /// The host as in a URL.
    fileprivate var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }
}
