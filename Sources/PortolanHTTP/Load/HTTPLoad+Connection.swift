// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTPLoad: ConnectionRequester {
    var isRepeatable: Bool {
        request.method.isIdempotent && resendPolicy.retriesWithoutResponse && request.body?.isRewindable != false
    }

    func didQueue(_ wait: QueueWait) {
        guard case .waiting = state, connectionWait != .queued else { return }
        connectionWait = .queued
        (client as? any QueueingClient)?.didEnterQueue(wait)
    }

    func didLeaveQueue() {
        guard connectionWait == .queued else { return }
        connectionWait = .connecting
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: true)
    }

    /// Ends the wait for a connection.
    func endWait() {
        guard connectionWait != .none else { return }
        connectionWait = .none
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: false)
    }

    func didAcquire(_ connection: any PooledConnection) {
        endWait()
        let stream = connection.beginTransaction(self)
        isVerified = connection.trust.map { $0.evaluation.error == nil } == true && configuration.tls.verification == .full
        cancelOpenChallenge()
        // The client can have stopped the load in that call.
        if case .over = state { return stream.cancel(self) }
        guard let trust = connection.trust, trust !== acceptedTrust, !trust.wasEvaluated(by: self) else { return send(on: stream) }
        state = .evaluatingTrust(stream, trust)
        trustChallengeCount += 1
        let challenge = ServerTrust.challenge(key.peer, trust.evaluation) { [self, trustChallengeCount] answer in
            runOnLoop { $0.handle(answer, toChallenge: trustChallengeCount) }
        }
        openChallenge = challenge
        client.didReceive(challenge)
    }

    private func send(on stream: any HTTPStream) {
        state = .transferring(stream)
        if key.usesAbsoluteForm { logProxyCredential { "carries a credential for the proxy '\($0)': \($1.offer.scheme)" } }
        if stream.isReused { client.didReach(.connectionReused) }
        if callingThreadWaits { stream.transport?.promiseDriver() }
        stream.sendRequest()
    }

    private func handle(_ answer: ChallengeAnswer, toChallenge number: Int) {
        guard case .evaluatingTrust(let stream, let trust) = state, number == trustChallengeCount else { return }
        if let refusal = ServerTrust.refusal(answer, error: trust.evaluation.error, peer: key.peer) {
            fail(refusal)
            return stream.cancel(self)
        }
        acceptedTrust = trust
        send(on: stream)
    }

    /// Cancels the open challenge, because the connection no longer needs the answer.
    func cancelOpenChallenge() {
        if let openChallenge { client.didCancel(openChallenge) }
        openChallenge = nil
    }

    func connectionFailed(_ error: LoadError) {
        guard case .waiting = state else { return }
        endWait()
        guard let decision = authentication.decision(for: error) else { return fail(error.withoutProxyChallenge) }
        state = .awaitingProxyCredential(error)
        perform(decision)
    }

    func didReach(_ step: LoadStep) {
        guard case .waiting = state else { return }
        client.didReach(step)
        guard step == .connected, !key.usesAbsoluteForm else { return }
        logProxyCredential { proxy, authorization in
            let scheme = if case .socks5 = proxy.kind { "user name and password" } else { authorization.offer.scheme }
            return "opens a tunnel with a credential for the proxy '\(proxy)': \(scheme)"
        }
    }

    /// Logs that the proxy gets a credential, and where the credential comes from.
    private func logProxyCredential(_ fact: (Proxy, Authorization) -> String) {
        guard let proxy = key.proxy, let authorization = proxy.authorization, let client = client as? any QueueingClient else { return }
        client.logAccess(fact(proxy, authorization) + (proxy.credentialSource.map { ", from \($0)" } ?? ""))
    }

    func handleChallenge(_ challenge: AuthenticationChallenge) {
        guard case .waiting = state else { return challenge.answer(.performDefault) }
        openChallenge = challenge
        client.didReceive(challenge)
    }

    func cancelChallenge(_ challenge: AuthenticationChallenge) {
        guard case .waiting = state, openChallenge === challenge else { return }
        cancelOpenChallenge()
    }
}
