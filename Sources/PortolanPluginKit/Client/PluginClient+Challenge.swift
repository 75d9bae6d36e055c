// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginClient {
    /// Sends a challenge for a credential or for a server-trust decision, and waits for the answer.
    ///
    /// The host first looks for a credential in its storage and in the URL. If there is none, the host asks the caller.
    /// A load can have one open challenge. Cancelling the task cancels the challenge.
    public func didReceiveChallenge(_ challenge: PluginChallenge) async throws -> PluginChallengeAnswer {
        try challenge.check()
        let challengeState = ChallengeState()
        let cancel: @Sendable (RunningLoad, BorrowedClient) -> Void = { load, client in
            guard challengeState.isOpen else { return }
            // If the answer has already arrived, the host has nothing to cancel, and the answer is dropped.
            if load.challengeAnswer == nil { unsafe client.pointer.pointee.did_cancel_challenge(client.pointer) }
            load.hasOpenChallenge = false
            load.challengeAnswer = nil
        }
        return try await runningLoad.perform(onCancel: cancel) { load, client in
            guard !challengeState.isOpen else {
                guard let answer = load.challengeAnswer else { return .wait(.answer) }
                load.challengeAnswer = nil
                load.hasOpenChallenge = false
                challengeState.isOpen = false
                return .done(answer)
            }
            guard !load.hasOpenChallenge else {
                throw PluginError(
                    .unknown,
                    message: "didReceiveChallenge was called while another challenge of the load is open; await its answer first")
            }
            try load.order.checkChallenge()
            let arena = Arena()
            var cChallenge = unsafe arena.challenge(challenge)
            var cAnswer: UnsafePointer<portolan_answer>?
            let flow = unsafe client.pointer.pointee.did_receive_challenge(client.pointer, &cChallenge, &cAnswer)
            withExtendedLifetime(arena) {}
            if flow == PORTOLAN_CONTINUE, let cAnswer = unsafe cAnswer { return unsafe .done(PluginChallengeAnswer(cAnswer.pointee)) }
            try load.apply(flow)
            load.hasOpenChallenge = true
            challengeState.isOpen = true
            return .wait(.answer)
        }
    }
}

/// Whether one call of `didReceiveChallenge` has sent its challenge and waits for the answer.
private final class ChallengeState: @unchecked Sendable {  // … because only the thread in which the host calls the load uses it
    var isOpen = false
}
