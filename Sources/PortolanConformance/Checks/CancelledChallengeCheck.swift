// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    /// Gives the challenges no answer, and expects that each load cancels its challenge and then ends.
    static func checkCancelledChallenges(_ context: CheckContext) throws(CheckSkipped) {
        try context.eachLoad(.cancelsChallenge, isBlocking: false) { load, request, instance throws(CheckSkipped) in
            var script = CheckContext.script(for: load)
            script.decision = .never
            guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                return context.fail("'\(load.url)' did not end after the peer had cancelled its challenge")
            }
            guard !record.challenges.isEmpty else {
                throw CheckSkipped("'\(load.url)' is tagged cancelsChallenge, but sent no challenge")
            }
            if !record.calls.contains(where: \.isCancelledChallenge) {
                context.fail("'\(load.url)' continued without an answer to its challenge, but did not call did_cancel_challenge")
            }
        }
    }
}

extension RecordedCall {
    fileprivate var isCancelledChallenge: Bool { if case .cancelledChallenge = call { true } else { false } }
}
