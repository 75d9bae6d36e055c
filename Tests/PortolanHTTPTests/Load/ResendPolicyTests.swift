// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanHTTP

@Suite struct ResendPolicyTests {
    private typealias Failure = ResendPolicy.Failure

    private static let eligibilities: [RetryEligibility] = [
        .possiblyProcessed, .noResponse, .refused, .notProcessed(afterOthers: false), .notProcessed(afterOthers: true), .needsHTTP1,
    ]

    /// A failure with this eligibility, whose other properties allow a resend.
    private static func resendableFailure(_ eligibility: RetryEligibility) -> Failure {
        Failure(eligibility: eligibility, hasResponse: false, isReused: true, isIdempotent: true, mayUseHTTP1: true)
    }

    @Test(arguments: eligibilities) func requestIsNotSentAgainOnceAResponseHasBegun(_ eligibility: RetryEligibility) {
        var policy = ResendPolicy()
        var failure = Self.resendableFailure(eligibility)
        failure.hasResponse = true
        #expect(policy.decide(after: failure) == .fail)
    }

    /// A client can send a request of any method again if the server did not process it (RFC 9113 §8.7).
    @Test(arguments: [RetryEligibility.refused, .notProcessed(afterOthers: false)])
    func unprocessedRequestsOfAnyMethodAreSentAgain(_ eligibility: RetryEligibility) {
        var policy = ResendPolicy()
        for _ in 0..<ResendPolicy.limit { #expect(policy.decide(after: Failure(eligibility: eligibility)) == .sendAgain) }
        #expect(policy.decide(after: Failure(eligibility: eligibility)) == .giveUp(afterSending: ResendPolicy.limit + 1))
    }

    /// If each connection serves some requests, a resent request is served in the end, because it is sent first.
    @Test func requestsSkippedAfterOthersDoNotCountTowardsTheLimit() {
        var policy = ResendPolicy()
        for _ in 0..<100 { #expect(policy.decide(after: Failure(eligibility: .notProcessed(afterOthers: true))) == .sendAgain) }
        for _ in 0..<ResendPolicy.limit { #expect(policy.decide(after: Failure(eligibility: .refused)) == .sendAgain) }
        #expect(policy.decide(after: Failure(eligibility: .refused)) == .giveUp(afterSending: ResendPolicy.limit + 1))
        #expect(policy.decide(after: Failure(eligibility: .notProcessed(afterOthers: true), hasResponse: true)) == .fail)
    }

    /// Without a response, only an idempotent request on a reused connection is sent again, and only once
    /// (RFC 9110 §9.2.2).
    @Test(arguments: [(true, true, true), (true, false, false), (false, true, false), (false, false, false)])
    func withoutAResponseTheMethodAndTheConnectionDecide(_ isReused: Bool, _ isIdempotent: Bool, _ isSentAgain: Bool) {
        var policy = ResendPolicy()
        let failure = Failure(eligibility: .noResponse, isReused: isReused, isIdempotent: isIdempotent)
        #expect(policy.decide(after: failure) == (isSentAgain ? .sendAgain : .fail))
        #expect(policy.retriesWithoutResponse == !isSentAgain)
        #expect(policy.decide(after: failure) == .fail)
    }

    @Test func limitAppliesToTheSumOfAllEligibilities() {
        var policy = ResendPolicy()
        for eligibility in [RetryEligibility.refused, .notProcessed(afterOthers: false), .noResponse, .needsHTTP1, .refused] {
            #expect(policy.decide(after: Self.resendableFailure(eligibility)) == .sendAgain)
        }
        #expect(!policy.retriesWithoutResponse)
        #expect(policy.decide(after: Self.resendableFailure(.notProcessed(afterOthers: false))) == .giveUp(afterSending: 6))
    }

    @Test func http1IsTriedIfTheLoadAllowsIt() {
        var policy = ResendPolicy()
        #expect(policy.decide(after: Failure(eligibility: .needsHTTP1)) == .fail)
        #expect(policy.decide(after: Failure(eligibility: .needsHTTP1, mayUseHTTP1: true)) == .sendAgain)
    }
}
