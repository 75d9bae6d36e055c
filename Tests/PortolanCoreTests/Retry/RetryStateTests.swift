// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Testing

@testable import PortolanCore

@Suite struct RetryStateTests {
    private static func policy(_ limit: Int, _ change: (inout RetryPolicy) -> Void = { _ in }) -> RetryPolicy {
        var policy = RetryPolicy(limit: limit)
        policy.jitter = 0
        change(&policy)
        return policy
    }

    /// The wait before each of the first 50 retries, in seconds.
    private func waits(_ policy: RetryPolicy, after failure: RetryableFailure = .error(.timedOut), random: Double = 0) -> [Double] {
        var (state, waits, elapsed) = (RetryState(policy), [Double](), Duration.zero)
        while waits.count < 50, case .wait(let wait) = state.decide(after: failure, elapsed: elapsed, random: random) {
            waits.append(wait / .seconds(1))
            elapsed += wait
            state.countRetry()
        }
        return waits
    }

    @Test func limitOfZeroOrLessAllowsNoRetry() {
        #expect(waits(RetryPolicy(limit: 0)).isEmpty)
        #expect(waits(RetryPolicy(limit: -1)).isEmpty)
    }

    @Test func waitDoublesUpToTheMaximum() {
        #expect(waits(Self.policy(8)) == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(waits(Self.policy(4) { $0.maximumDelay = .seconds(3) }) == [1, 2, 3, 3])
        #expect(waits(Self.policy(3) { ($0.initialDelay, $0.backoffFactor) = (.seconds(2), 3) }) == [2, 6, 18])
        #expect(waits(Self.policy(40)).count == 40)
    }

    @Test(arguments: [1, 0, -5])
    func factorOfOneOrLessMakesAConstantWait(factor: Int) {
        #expect(waits(Self.policy(3) { ($0.initialDelay, $0.backoffFactor) = (.milliseconds(250), factor) }) == [0.25, 0.25, 0.25])
    }

    /// No values of a policy overflow.
    @Test func extremeValuesAreLimited() {
        let policy = Self.policy(5) {
            ($0.initialDelay, $0.backoffFactor, $0.maximumDelay, $0.jitter) = (
                .seconds(Int64.max / 2), .max, .seconds(Int64.max), .infinity
            )
        }
        #expect(waits(policy, random: 1).count == 5)
        #expect(waits(Self.policy(2) { ($0.initialDelay, $0.maximumDelay) = (.seconds(-1), .seconds(-1)) }) == [0, 0])
    }

    @Test(
        arguments: [(0.5, 0.0, [1, 2, 4]), (0.5, 1.0, [0.5, 1, 2]), (1, 0.5, [0.5, 1, 2]), (0, 1, [1, 2, 4]), (9, 1, [0, 0, 0])]
            as [(Double, Double, [Double])])
    func jitterShortensTheWait(jitter: Double, random: Double, expected: [Double]) {
        #expect(waits(Self.policy(3) { $0.jitter = jitter }, random: random) == expected)
    }

    @Test func noAttemptStartsAfterTheTimeLimit() {
        #expect(waits(Self.policy(9) { $0.timeLimit = .seconds(7) }) == [1, 2, 4])
        #expect(waits(Self.policy(9) { $0.timeLimit = .milliseconds(6999) }) == [1, 2])
        let state = RetryState(Self.policy(1) { $0.timeLimit = .seconds(10) })
        #expect(
            state.decide(after: .status(503, wait: .seconds(9)), elapsed: .seconds(2), random: 0)
                == .giveUp(.timeLimit(.seconds(10), wait: .seconds(9))))
    }

    @Test func retryAfterIsFollowedUpToTheMaximum() {
        #expect(waits(Self.policy(3), after: .status(503, wait: .seconds(3))) == [3, 3, 4])
        #expect(waits(Self.policy(1), after: .status(503, wait: .seconds(60))) == [60])
        #expect(waits(Self.policy(1) { $0.jitter = 1 }, after: .status(503, wait: .seconds(3)), random: 1) == [3])
        #expect(
            RetryState(Self.policy(1)).decide(after: .status(503, wait: .seconds(61)), elapsed: .zero, random: 0)
                == .giveUp(.requestedWait(.seconds(61))))
    }
}

@Suite struct RetryPolicyTests {
    private static let now: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("00120", 120), ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
            ("Sun, 06 Nov 1994 08:49:00 GMT", 0), ("99999999999999999999999", 1 << 40), ("", nil), ("-1", nil), ("1.5", nil), ("soon", nil),
            ("1 ", nil), ("+1", nil), ("0x10", nil), ("１", nil),
        ] as [(String, Int64?)])
    func retryAfterIsSecondsOrADate(value: String, seconds: Int64?) {
        #expect(RetryableFailure.requestedWait(value, now: Self.now) == seconds.map { .seconds($0) })
    }

    @Test(arguments: [200, 206, 301, 400, 401, 404, 408, 416, 429, 500, 501, 502, 503, 504, 505, 599])
    func transientStatusesAreRetryable(code: Int) throws {
        let response = Response(url: try URLRecord(parsing: "x://h"), status: .init(code: code), fields: [.retryAfter: "3"])
        let isRetryable = [408, 429, 500, 502, 503, 504].contains(code)
        var policy = RetryPolicy(limit: 1)
        #expect(policy.retryableFailure(response, now: 0) == (isRetryable ? .status(code, wait: .seconds(3)) : nil))
        policy.statuses = [code]
        #expect(policy.retryableFailure(response, now: 0) == .status(code, wait: .seconds(3)))
    }

    @Test func transientErrorsAreRetryable() {
        let transient: Set<LoadError.Code> = [.timedOut, .nameNotFound, .proxyNotFound, .cannotConnect, .connectionLost, .emptyResponse]
        for (code, _) in LoadError.Code.published {
            let failure = RetryPolicy(limit: 1).retryableFailure(LoadError(code, message: ""))
            #expect(failure == (transient.contains(code) ? .error(code) : nil))
        }
        #expect(RetryPolicy(limit: 1).retryableFailure(LoadError(.timedOut, domain: "org.example", message: "")) == nil)
    }

    /// RFC 9110 §9.2.2
    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "CONNECT", "get"])
    func onlyIdempotentMethodsAreRetried(name: String) throws {
        let method = try #require(HTTPRequest.Method(name))
        var policy = RetryPolicy(limit: 1)
        #expect(policy.includes(method) == ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(name))
        policy.includesNonIdempotentMethods = true
        #expect(policy.includes(method))
    }
}
