// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
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
        switch authentication.decide(answer, on: challenge) {
        case .use(let credential, let side): use(credential, for: side)
        case .ask(let next): ask(next)
        case .giveUp: goOnWithout()
        case .fail(let error):
            leaveCarrier()
            fail(error)
        }
    }

    private func use(_ credential: PasswordCredential, for side: AuthenticationAttempts.Side) {
        do throws(LoadError) {
            switch side {
            case .origin:
                request.fields[.authorization] = try credential.basicValue()
            case .proxy:
                // The key changes, so that loads that gave another credential, or none, do not share a connection with
                // this one.
                key.proxy?.credential = credential
            }
        } catch {
            leaveCarrier()
            return fail(error)
        }
        if case .deciding(_, let received) = state { client.willResend(after: received.response) }
        // The client may have stopped the load in that call.
        if case .over = state { return }
        leaveCarrier()
        request = client.requestToResend(request)
        sendAgain()
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
        guard cause is ProxyChallenge else { return self }
        var error = self
        error.cause = nil
        return error
    }
}
