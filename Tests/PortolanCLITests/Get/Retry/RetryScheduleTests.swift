// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import Testing

@testable import PortolanCLI

@Suite struct RetryScheduleTests {
    /// The wait before each of the first 50 retries, in seconds.
    private func waits(_ schedule: RetrySchedule, after retryableFailure: RetryableFailure = .timedOut) -> [Double] {
        var schedule = schedule
        var (waits, elapsed) = ([Double](), Duration.zero)
        while waits.count < 50, case .wait(let wait) = schedule.decide(after: retryableFailure, elapsed: elapsed) {
            waits.append(wait / .seconds(1))
            elapsed += wait
            schedule.countRetry()
        }
        return waits
    }

    @Test func limitOfZeroAllowsNoRetry() {
        #expect(waits(RetrySchedule(limit: 0)).isEmpty)
    }

    @Test func waitDoublesUpToTenMinutes() {
        #expect(waits(RetrySchedule(limit: 12)) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600])
        #expect(waits(RetrySchedule(limit: 40)).count == 40)
    }

    @Test func explicitDelayIsConstant() {
        #expect(waits(RetrySchedule(limit: 3, delay: .milliseconds(250))) == [0.25, 0.25, 0.25])
    }

    @Test func noAttemptStartsAfterTheTimeLimit() {
        #expect(waits(RetrySchedule(limit: 9, timeLimit: .seconds(7))) == [1, 2, 4])
        #expect(waits(RetrySchedule(limit: 9, timeLimit: .milliseconds(6999))) == [1, 2])
    }

    @Test func zeroOptionsMeanTheDefault() throws {
        let options = try RetryOptions.parse(["--retry", "3", "--retry-delay", "0", "--retry-max-time", "0"])
        #expect(options.schedule == RetrySchedule(limit: 3))
        #expect(try RetryOptions.parse(["--retry-delay", "0.5"]).schedule.delay == .milliseconds(500))
    }

    @Test func refusedConnectionIsRetriedOnRequest() {
        #expect(waits(RetrySchedule(limit: 2), after: .refused).isEmpty)
        #expect(waits(RetrySchedule(limit: 2, includesRefusedConnections: true), after: .refused) == [1, 2])
    }

    @Test func reasonForUnusedRetriesIsReported() {
        func reason(_ schedule: RetrySchedule, _ retryableFailure: RetryableFailure) -> String? {
            if case .giveUp(let reason) = schedule.decide(after: retryableFailure, elapsed: .seconds(2)) { reason } else { nil }
        }
        #expect(
            reason(RetrySchedule(limit: 1), .status(wait: .seconds(3600)))
                == "the server asks for a wait of 3600 s (Retry-After), and a retry waits at most 600 s")
        #expect(
            reason(RetrySchedule(limit: 1, timeLimit: .seconds(10)), .status(wait: .seconds(9)))
                == "the next attempt would start in 9 s, after the end of --retry-max-time 10")
        for schedule in [RetrySchedule(limit: 0), RetrySchedule(limit: 1, includesRefusedConnections: false)] {
            #expect(schedule.decide(after: .refused, elapsed: .zero) == .giveUp(reason: nil))
        }
    }

    @Test func retryAfterIsFollowedUpToTenMinutes() {
        #expect(waits(RetrySchedule(limit: 3), after: .status(wait: .seconds(3))) == [3, 3, 4])
        #expect(waits(RetrySchedule(limit: 2, delay: .seconds(5)), after: .status(wait: .seconds(3))) == [5, 5])
        #expect(waits(RetrySchedule(limit: 1), after: .status(wait: .seconds(600))) == [600])
        #expect(waits(RetrySchedule(limit: 1), after: .status(wait: .seconds(601))).isEmpty)
        #expect(waits(RetrySchedule(limit: 1, timeLimit: .seconds(9)), after: .status(wait: .seconds(10))).isEmpty)
    }
}

@Suite struct RetryableFailureTests {
    private static let now: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("00120", 120), ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
            ("Sun, 06 Nov 1994 08:49:00 GMT", 0), ("99999999999999999999999", 1 << 40), ("", nil), ("-1", nil), ("1.5", nil), ("soon", nil),
            ("1 ", nil), ("+1", nil), ("0x10", nil), ("１", nil),
        ] as [(String, Int64?)])
    func retryAfterIsSecondsOrADate(value: String, seconds: Int64?) {
        #expect(RetryableFailure.wait(value, now: Self.now) == seconds.map { .seconds($0) })
    }

    @Test(arguments: [200, 206, 301, 400, 401, 404, 408, 416, 429, 500, 501, 502, 503, 504, 505, 599])
    func transientStatusesAreRetryable(code: Int) throws {
        let response = Response(url: try URLRecord(parsing: "x://h"), status: .init(code: code), fields: [.retryAfter: "3"])
        let isRetryable = [408, 429, 500, 502, 503, 504].contains(code)
        #expect(RetryableFailure(response, now: 0) == (isRetryable ? .status(wait: .seconds(3)) : nil))
    }

    @Test func transientErrorsAreRetryable() {
        for (code, _) in LoadError.Code.published {
            let expected: RetryableFailure? =
                switch code {
                case .timedOut: .timedOut
                case .nameNotFound, .proxyNotFound: .nameNotFound
                case .cannotConnect: .refused
                default: nil
                }
            #expect(RetryableFailure(LoadError(code, message: "")) == expected)
        }
        #expect(RetryableFailure(LoadError(.timedOut, domain: "org.example", message: "")) == nil)
    }
}
