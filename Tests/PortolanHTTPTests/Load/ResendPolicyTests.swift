// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanHTTP

@Suite struct ResendPolicyTests {
    private typealias Failure = ResendPolicy.Failure

    private static let fates: [RequestFate] = [
        .seen, .unanswered, .refused, .passedOver(afterOthers: false), .passedOver(afterOthers: true), .needsHTTP1,
    ]

    /// All that would speak for it.
    private static func favourable(_ fate: RequestFate) -> Failure {
        Failure(fate: fate, hasResponse: false, isReused: true, isIdempotent: true, mayUseHTTP1: true)
    }

    @Test(arguments: fates) func onceAResponseHasBegunNothingIsSentAgain(_ fate: RequestFate) {
        var policy = ResendPolicy()
        var failure = Self.favourable(fate)
        failure.hasResponse = true
        #expect(policy.decide(after: failure) == .fail)
    }

    /// RFC 9113 §8.7
    @Test(arguments: [RequestFate.refused, .passedOver(afterOthers: false)])
    func whatWasNotProcessedIsSentAgainWhateverItsMethod(_ fate: RequestFate) {
        var policy = ResendPolicy()
        for _ in 0..<ResendPolicy.limit { #expect(policy.decide(after: Failure(fate: fate)) == .sendAgain) }
        #expect(policy.decide(after: Failure(fate: fate)) == .giveUp(afterSending: ResendPolicy.limit + 1))
    }

    /// The server comes to it: each connection serves some, and it goes first.
    @Test func whatIsPassedOverAfterOthersDoesNotCount() {
        var policy = ResendPolicy()
        for _ in 0..<100 { #expect(policy.decide(after: Failure(fate: .passedOver(afterOthers: true))) == .sendAgain) }
        for _ in 0..<ResendPolicy.limit { #expect(policy.decide(after: Failure(fate: .refused)) == .sendAgain) }
        #expect(policy.decide(after: Failure(fate: .refused)) == .giveUp(afterSending: ResendPolicy.limit + 1))
        #expect(policy.decide(after: Failure(fate: .passedOver(afterOthers: true), hasResponse: true)) == .fail)
    }

    /// RFC 9110 §9.2.2
    @Test(arguments: [(true, true, true), (true, false, false), (false, true, false), (false, false, false)])
    func withoutAnAnswerTheMethodAndTheConnectionDecide(_ isReused: Bool, _ isIdempotent: Bool, _ isSentAgain: Bool) {
        var policy = ResendPolicy()
        let failure = Failure(fate: .unanswered, isReused: isReused, isIdempotent: isIdempotent)
        #expect(policy.decide(after: failure) == (isSentAgain ? .sendAgain : .fail))
        #expect(policy.retriesUnanswered == !isSentAgain)
        #expect(policy.decide(after: failure) == .fail)
    }

    @Test func allReasonsShareOneLimit() {
        var policy = ResendPolicy()
        for fate in [RequestFate.refused, .passedOver(afterOthers: false), .unanswered, .needsHTTP1, .refused] {
            #expect(policy.decide(after: Self.favourable(fate)) == .sendAgain)
        }
        #expect(!policy.retriesUnanswered)
        #expect(policy.decide(after: Self.favourable(.passedOver(afterOthers: false))) == .giveUp(afterSending: 6))
    }

    @Test func http1IsTriedWhereTheLoadMayUseIt() {
        var policy = ResendPolicy()
        #expect(policy.decide(after: Failure(fate: .needsHTTP1)) == .fail)
        #expect(policy.decide(after: Failure(fate: .needsHTTP1, mayUseHTTP1: true)) == .sendAgain)
    }
}
