// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTPLoad {
    func ask(_ challenge: AuthenticationAttempts.Challenge) {
        let refusal: Response? = if case .deciding(_, let received) = state { received.response } else { nil }
        client.didReceive(
            AuthenticationChallenge(
                protectionSpace: challenge.space, previousFailureCount: challenge.failureCount, previousError: challenge.previousError,
                failureResponse: refusal
            ) { [self] answer in
                shard.loop.execute { [self] in handle(answer, to: challenge) }
            })
    }

    private func handle(_ answer: ChallengeAnswer, to challenge: AuthenticationAttempts.Challenge) {
        switch state {
        case .deciding, .awaitingProxyCredential: break
        case .created, .waiting, .evaluatingTrust, .exchanging, .awaitingBody, .over: return
        }
        carryOut(authentication.decide(answer, on: challenge))
    }

    /// What follows a response, or a failed connection, with a challenge.
    func carryOut(_ decision: AuthenticationAttempts.Decision) {
        switch decision {
        case .use(let authorization, let side): use(authorization, for: side)
        case .ask(let challenge): ask(challenge)
        case .giveUp: goOnWithout()
        case .fail(let error):
            leaveCarrier()
            fail(error)
        }
    }

    private func use(_ authorization: Authorization, for side: AuthenticationAttempts.Side) {
        switch side {
        case .origin:
            self.authorization = authorization
            // Basic is the same for all requests to the origin, and so for those that redirects lead to.
            if case .basic = authorization.offer { request.fields[.authorization] = try? authorization.credential.basicValue() }
        case .proxy:
            // The key changes, so that loads that gave another credential, or none, do not share a connection with
            // this one.
            key.proxy?.authorize(by: authorization)
        }
        if case .deciding(_, let received) = state { client.willResend(after: received.response) }
        // The client may have stopped the load in that call.
        if case .over = state { return }
        leaveCarrier()
        request = client.requestToResend(request)
        sendAgain()
    }

    /// Carries out what needs no answer of the caller, unless the load has ended in the meantime.
    func decide(_ decision: AuthenticationAttempts.Decision) {
        if case .deciding = state { carryOut(decision) }
    }

    /// Whether the server knows the password, if it claims so.
    func checkProof(of received: ReceivedResponse) throws(LoadError) {
        guard let proof, let information = HTTPChallenge.information(in: received.head.fields) else { return }
        try proof.check(information, host: key.host)
    }

    private func goOnWithout() {
        switch state {
        case .deciding(let stream, let held): deliver(held, from: stream)
        case .awaitingProxyCredential(let error): fail(error.withoutProxyChallenge)
        case .created, .waiting, .evaluatingTrust, .exchanging, .awaitingBody, .over: break
        }
    }

    /// Drops the received response instead of delivering it to the caller.
    private func leaveCarrier() {
        guard case .deciding(let stream, _) = state else { return }
        client.didTransfer(stream.report)
        state = .waiting(nil)
        stream.cancel(self)
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
