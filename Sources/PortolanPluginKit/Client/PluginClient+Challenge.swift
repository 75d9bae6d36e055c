// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginClient {
    /// Requests a credential or a server-trust decision, and waits for the answer.
    ///
    /// The host looks into its credential store and the URL first, and notifies the caller last. A load can have one
    /// open challenge. Cancelling the task withdraws the challenge.
    public func ask(_ challenge: PluginChallenge) async throws -> PluginAnswer {
        try challenge.check()
        let number = ChallengeMark()
        let withdraw: @Sendable (RunningLoad, BorrowedClient) -> Void = { load, client in
            guard number.isAsked else { return }
            // An answer that arrived in the meantime is dropped.
            if load.answer == nil { unsafe client.pointer.pointee.did_cancel_challenge(client.pointer) }
            load.isAsking = false
            load.answer = nil
        }
        return try await running.perform(withdrawing: withdraw) { load, client in
            guard !number.isAsked else {
                guard let answer = load.answer else { return .wait(.answer) }
                load.answer = nil
                load.isAsking = false
                number.isAsked = false
                return .done(answer)
            }
            guard !load.isAsking else { throw PluginError(.unknown, message: "a second challenge was sent before the first was answered") }
            try load.order.question()
            let arena = Arena()
            var lent = unsafe arena.challenge(challenge)
            var given: UnsafePointer<portolan_answer>?
            let flow = unsafe client.pointer.pointee.did_receive_challenge(client.pointer, &lent, &given)
            withExtendedLifetime(arena) {}
            if flow == PORTOLAN_CONTINUE, let given = unsafe given { return unsafe .done(PluginAnswer(given.pointee)) }
            try load.note(flow)
            load.isAsking = true
            number.isAsked = true
            return .wait(.answer)
        }
    }
}

/// Whether this call has delivered its challenge.
private final class ChallengeMark: @unchecked Sendable {  // … because it is touched only inside host calls into the load
    var isAsked = false
}
