// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace
import Testing

@testable import PortolanCLI

/// How the events of a load become transactions with their times.
@Suite struct TracedLoadTests {
    private let url: URLRecord
    private var load = TracedLoad(began: 1_000_000)

    init() throws { url = try URLRecord(parsing: "http://h/") }

    private func response(_ code: Int) -> Response { Response(url: url, status: HTTPResponse.Status(code: code)) }

    /// The metrics of a load that received these responses, sent its request again after each of them, and then
    /// received one more response. Each transaction takes 500 ms.
    private static func metrics(_ refusals: [Response]) -> LoadMetrics {
        var metrics = LoadMetrics()
        for number in 0...refusals.count {
            let start = Duration.milliseconds(500 * number)
            metrics.recordStep(number == 0 ? .connected : .connectionReused, at: start)
            metrics.recordStep(.requestSent, at: start)
            metrics.recordStep(.firstByte, at: start + .milliseconds(500))
            if number < refusals.count { metrics.recordResend(after: refusals[number]) }
            metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1"), at: start + .milliseconds(500))
        }
        return metrics
    }

    /// The times of two entries do not overlap, even if an earlier attempt received the same responses.
    @Test(arguments: [[401], [417], [417, 401], []], [1, 2])
    mutating func repeatedRequestsHaveSeparateTimes(codes: [Int], attemptCount: Int) throws {
        let metrics = Self.metrics(codes.map(response))
        let duration = Duration.milliseconds(500 * (codes.count + 1))
        for number in 0..<attemptCount {
            let start = duration * number
            load.record(.started(Request(url: url), handler: nil), at: start)
            load.record(.response(response(200)), at: start + duration)
            load.record(body: [1], of: 1, at: start + duration)
            load.record(.metrics(metrics, since: start), at: start + duration)
            load.record(
                number == attemptCount - 1
                    ? .finished(LoadTotals(bytes: 1, redirects: 0))
                    : .retrying(Failure(.connectionLost, "again"), after: .zero, attemptsLeft: 1),
                at: start + duration)
        }
        let transactions = load.transactions
        #expect(transactions.map { $0.response?.status?.code } == Array(repeating: codes + [200], count: attemptCount).flatMap(\.self))
        for (number, transaction) in transactions.enumerated() {
            #expect(abs(transaction.began - load.began - 0.5 * Double(number)) < 0.001)
            #expect(abs(transaction.end / .milliseconds(1) - 500) < 1, "\(transaction.end)")
            guard case .number(let text)? = HTTPArchive.entry(transaction)["time"] else {
                Issue.record("an entry has no time")
                continue
            }
            #expect(abs((Double(text) ?? 0) - 500) < 1, "\(text)")
        }
    }

    /// The time of a redirect after a 401 begins when the request is sent again.
    @Test mutating func redirectIsTimedFromItsOwnStart() throws {
        var metrics = Self.metrics([response(401)])
        metrics.recordStep(.connectionReused, at: .milliseconds(1000))
        metrics.recordStep(.requestSent, at: .milliseconds(1000))
        metrics.recordStep(.firstByte, at: .milliseconds(1500))
        metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1"), at: .milliseconds(1500))
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(.redirected(to: Request(url: url), response(302)), at: .milliseconds(1000))
        load.record(.response(response(200)), at: .milliseconds(1500))
        load.record(.metrics(metrics, since: .zero), at: .milliseconds(1500))
        load.record(.finished(LoadTotals(bytes: 0, redirects: 1)), at: .milliseconds(1500))
        #expect(load.transactions.map { ($0.end / .milliseconds(1)).rounded() } == [500, 500, 500])
    }
}
