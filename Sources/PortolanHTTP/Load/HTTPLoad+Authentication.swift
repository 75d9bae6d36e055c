// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTPLoad {
    /// Sends a challenge for a user name and a password to the client.
    func sendChallenge(_ challenge: AuthenticationAttempts.Challenge) {
        if case .origin = challenge.side, challenge.refusedCredential != nil { forgetKnownSpace() }
        let failureResponse: Response? = if case .deciding(_, let received) = state { received.response } else { nil }
        let slot = challenge.side == .origin ? AuthenticatedSpaces.Slot() : nil
        client.didReceive(
            AuthenticationChallenge(
                protectionSpace: challenge.space, proposedCredential: nil, previousFailureCount: challenge.failureCount,
                previousError: challenge.previousError, failureResponse: failureResponse, refusedCredential: challenge.refusedCredential,
                authenticatedSpaces: slot
            ) { [self] answer in
                let spaces = slot?.content
                loopWithPool.loop.execute { [self] in handle(answer, to: challenge, storingSpaceIn: spaces) }
            })
    }

    private func handle(
        _ answer: ChallengeAnswer, to challenge: AuthenticationAttempts.Challenge, storingSpaceIn spaces: AuthenticatedSpaces?
    ) {
        switch state {
        case .deciding, .awaitingProxyCredential: break
        case .created, .waiting, .evaluatingTrust, .transferring, .awaitingBody, .over: return
        }
        if challenge.side == .origin {
            knownSpace = nil
            pendingSpace = nil
            if let spaces, case .use(let credential) = answer {
                pendingSpace = PendingSpace(spaces: spaces, space: challenge.space, credential: credential)
            }
        }
        perform(authentication.decide(answer, on: challenge), isAnswerOfClient: true)
    }

    /// Continues the load after a challenge. The challenge was in a response, or made a connection fail.
    ///
    /// - Parameter isAnswerOfClient: whether the client has received the challenge and answered it.
    func perform(_ decision: AuthenticationAttempts.Decision, isAnswerOfClient: Bool = false) {
        switch decision {
        case .use(let authorization, let side):
            resend(
                with: authorization, for: side, answering: isAnswerOfClient ? nil : authentication.space(of: authorization.offer, by: side))
        case .sendChallenge(let challenge): sendChallenge(challenge)
        case .continueWithoutCredential: continueWithoutCredential()
        case .fail(let error):
            releaseStream()
            fail(error)
        }
    }

    /// Performs the decision, unless the load has ended in the meantime.
    func performWhileDeciding(_ decision: AuthenticationAttempts.Decision) {
        if case .deciding = state { perform(decision) }
    }

    /// - Parameter space: the space of the challenge, if the client did not receive the challenge.
    private func resend(with authorization: Authorization, for side: AuthenticationAttempts.Side, answering space: ProtectionSpace?) {
        switch side {
        case .origin:
            setAuthorization(authorization)
        case .proxy:
            // The key changes, so that this load shares no connection with loads that have another credential, or none.
            key.proxy?.authorize(by: authorization)
        }
        if case .deciding(_, let received) = state {
            var response = received.response
            response.answeredSpace = space
            client.willResend(after: response)
        }
        // The client may have stopped the load in that call.
        if case .over = state { return }
        releaseStream()
        request = client.requestToResend(request)
        sendAgain()
    }

    private func setAuthorization(_ authorization: Authorization) {
        if let knownSpace {
            // The server requires another nonce for the credential of an earlier load.
            let entry = knownSpace.entry
            pendingSpace = PendingSpace(spaces: knownSpace.spaces, space: entry.space, credential: entry.credential)
        }
        pendingSpace?.authorization = authorization
        guard case .basic = authorization.offer else {
            self.authorization = authorization
            return
        }
        // The field for Basic is the same for all requests to the origin, so redirected requests can send it, too.
        self.authorization = nil
        // `try?` because the credential was checked for Basic before.
        request.fields[.authorization] = try? authorization.credential.basicValue()
    }

    private func continueWithoutCredential() {
        switch state {
        case .deciding(let stream, let received): deliver(received, from: stream)
        case .awaitingProxyCredential(let error): fail(error.withoutProxyChallenge)
        case .created, .waiting, .evaluatingTrust, .transferring, .awaitingBody, .over: break
        }
    }

    /// Drops the received response instead of delivering it to the caller.
    private func releaseStream() {
        guard case .deciding(let stream, _) = state else { return }
        client.didTransfer(stream.report)
        state = .waiting(nil)
        stream.cancel(self)
    }
}

// MARK: Protection spaces

/// A sent authorization for Basic or Digest that later loads in the same space can use.
final class ReusableAuthorization: Sendable {
    let authorization: Authorization

    init(_ authorization: Authorization) { self.authorization = authorization }
}

/// A protection space whose server has not accepted the credential yet.
struct PendingSpace {
    let spaces: AuthenticatedSpaces
    let space: ProtectionSpace
    let credential: Credential
    /// `nil` until the request is sent again.
    var authorization: Authorization?
}

extension HTTPLoad {
    /// Returns the space in which an earlier load authenticated, and its authorization, if the request's URL is in that
    /// space and the request has no other credential.
    static func knownSpace(of request: Request) -> (AuthenticatedSpaces.Match, Authorization)? {
        guard let match = request.authenticatedSpace, match.entry.covers(request.url),
            let authorization = (match.entry.state as? ReusableAuthorization)?.authorization,
            !request.fields.contains(where: { $0.name == .authorization }), authorization.credential.isOfUser(in: request.url)
        else { return nil }
        return (match, authorization)
    }

    /// Forgets the space of the earlier load, because the server has refused its credential. The next loads send no
    /// credential before a challenge.
    private func forgetKnownSpace() {
        if let knownSpace { knownSpace.spaces.remove(knownSpace.entry.state) }
        knownSpace = nil
    }

    /// Checks the server's proof that it knows the password, and stores the protection space for later loads.
    ///
    /// - Parameter received: a response that contains no challenge, or none that this load can answer.
    func recordAuthentication(by received: ReceivedResponse) throws(LoadError) {
        guard proof != nil || pendingSpace != nil || knownSpace != nil else { return }
        let information = HTTPChallenge.information(in: received.head.fields)
        if let proof, let information { try proof.check(information, host: key.host) }
        let next = information.flatMap { proof?.nextChallenge($0) }
        if received.head.status == 401 { forgetKnownSpace() }
        // An error can come from a server in front of the one that checks the password.
        guard received.head.status < 400 else { return }
        if let pending = pendingSpace, let authorization = pending.authorization {
            pendingSpace = nil
            pending.spaces.add(
                AuthenticatedSpaces.Entry(
                    pending.space, credential: pending.credential, server: request.url, paths: authorization.offer.paths(of: request.url),
                    state: ReusableAuthorization(authorization.answering(next))))
        } else if let knownSpace, let authorization, let next {
            knownSpace.spaces.replace(knownSpace.entry.state, by: ReusableAuthorization(authorization.answering(next)))
        }
    }
}

extension Authorization {
    /// The authorization for the challenge with the server's next nonce; the same authorization if there is none.
    fileprivate func answering(_ next: DigestChallenge?) -> Authorization {
        next.map { Authorization(credential, for: .digest($0)) } ?? self
    }
}

extension AuthenticationOffer {
    /// The paths of the protection space of an offer in a response for `url`. Paths on other servers are left out.
    ///
    /// RFC 7617 §2.2; RFC 7616 §3.3, `domain`
    func paths(of url: URLRecord) -> [String] {
        switch self {
        case .basic: return [String(url.path.prefix(through: url.path.lastIndex(of: "/") ?? url.path.startIndex))]
        case .socks: return []
        case .digest(let challenge):
            let uris = (challenge.domain ?? "").split { $0 == " " || $0 == "\t" }
            guard !uris.isEmpty else { return ["/"] }
            return uris.compactMap { uri in
                // `try?` because a malformed URI names no space.
                guard let space = try? URLRecord(parsing: String(uri), relativeTo: url), space.hasSameOrigin(as: url) else { return nil }
                return space.path.isEmpty ? "/" : String(space.path)
            }
        }
    }
}

extension LoadError {
    /// The error for the caller, without the proxy's challenge.
    var withoutProxyChallenge: LoadError {
        guard underlyingError is ProxyChallenge else { return self }
        var error = self
        error.underlyingError = nil
        return error
    }
}
