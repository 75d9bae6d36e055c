// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginClient {
    /// Asks for a credential, or whether a chain is to be trusted, and waits for the answer. The host looks into its store and the URL first,
    /// and asks the caller last. One question at a time; a task that is cancelled meanwhile withdraws it.
    public func ask(_ challenge: PluginChallenge) async throws -> PluginAnswer {
        try challenge.check()
        let number = QuestionMark()
        let withdraw: @Sendable (RunningLoad, BorrowedClient) -> Void = { load, client in
            guard number.isAsked else { return }
            // An answer that has come meanwhile is dropped.
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
            guard !load.isAsking else { throw PluginError(.unknown, message: "a second question was asked before the first was answered") }
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

/// Whether this call's question was put.
private final class QuestionMark: @unchecked Sendable {  // … because it is touched only in turns of the load
    var isAsked = false
}
