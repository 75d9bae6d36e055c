// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTPLoad: ConnectionRequester {
    var isRepeatable: Bool {
        request.method.isIdempotent && resends.retriesWithoutResponse && request.body?.isRewindable != false
    }

    func didQueue(_ wait: QueueWait) {
        guard case .waiting = state, place != .queue else { return }
        place = .queue
        (client as? any QueueingClient)?.didEnterQueue(wait)
    }

    func didLeaveQueue() {
        guard place == .queue else { return }
        place = .besideQueue
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: true)
    }

    /// Ends the wait for a connection.
    func endWait() {
        guard place != .none else { return }
        place = .none
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: false)
    }

    func use(_ connection: any PooledConnection) {
        endWait()
        let stream = connection.makeStream(for: self)
        isVerified = connection.trust.map { $0.evidence.verdict == nil } == true && configuration.tls.verification == .full
        cancelOpenChallenge()
        // The client may have stopped the load in that call.
        if case .over = state { return stream.cancel(self) }
        guard let trust = connection.trust, trust !== trusted, !trust.wasEvaluated(by: self) else { return begin(on: stream) }
        state = .evaluatingTrust(stream, trust)
        trustChallengeCount += 1
        let challenge = ServerTrust.challenge(key.peer, trust.evidence) { [self, trustChallengeCount] answer in
            onLoop { $0.handle(answer, toChallenge: trustChallengeCount) }
        }
        openChallenge = challenge
        client.didReceive(challenge)
    }

    private func begin(on stream: any HTTPStream) {
        state = .exchanging(stream)
        if stream.isReused { client.didReach(.connectionReused) }
        if isAwaited { stream.transport?.promiseDriver() }
        stream.start()
    }

    private func handle(_ answer: ChallengeAnswer, toChallenge number: Int) {
        guard case .evaluatingTrust(let stream, let trust) = state, number == trustChallengeCount else { return }
        if let refusal = ServerTrust.refusal(answer, verdict: trust.evidence.verdict, peer: key.peer) {
            fail(refusal)
            return stream.cancel(self)
        }
        trusted = trust
        begin(on: stream)
    }

    /// Withdraws the open challenge, because the connection no longer needs its answer.
    func cancelOpenChallenge() {
        if let openChallenge { client.didCancel(openChallenge) }
        openChallenge = nil
    }

    func connectionFailed(_ error: LoadError) {
        guard case .waiting = state else { return }
        endWait()
        guard let decision = authentication.challenge(for: error) else { return fail(error.withoutProxyChallenge) }
        state = .awaitingProxyCredential(error)
        carryOut(decision)
    }

    func didReach(_ step: LoadStep) {
        if case .waiting = state { client.didReach(step) }
    }

    func ask(_ challenge: AuthenticationChallenge) {
        guard case .waiting = state else { return challenge.answer(.performDefault) }
        openChallenge = challenge
        client.didReceive(challenge)
    }

    func withdraw(_ challenge: AuthenticationChallenge) {
        guard case .waiting = state, openChallenge === challenge else { return }
        cancelOpenChallenge()
    }
}
