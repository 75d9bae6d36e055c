// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace
import Testing

@testable import PortolanCLI

/// The contents of a recording of a load.
@Suite struct TracedLoadTests {
    private let url: URLRecord
    private var load = TracedLoad(began: 1_000_000)

    init() throws { url = try URLRecord(parsing: "http://h/") }

    private func response(_ code: Int) -> Response { Response(url: url, status: HTTPResponse.Status(code: code)) }

    /// Each response takes 500 ms, and all but the last are followed by the same request.
    private static func metrics(_ refusals: [Response]) -> LoadMetrics {
        var metrics = LoadMetrics()
        for number in 0...refusals.count {
            let start = Duration.milliseconds(500 * number)
            metrics.note(number == 0 ? .connected : .connectionReused, at: start)
            metrics.note(.requestSent, at: start)
            metrics.note(.firstByte, at: start + .milliseconds(500))
            if number < refusals.count { metrics.note(refusal: refusals[number]) }
            metrics.note(TransferReport(networkProtocol: "http/1.1"), at: start + .milliseconds(500))
        }
        return metrics
    }

    /// The times of two entries never overlap, also if an earlier try had the same responses.
    @Test(arguments: [[401], [417], [417, 401], []], [1, 2])
    mutating func repeatedRequestsHaveSeparateTimes(codes: [Int], tries: Int) throws {
        let metrics = Self.metrics(codes.map(response))
        let duration = Duration.milliseconds(500 * (codes.count + 1))
        for number in 0..<tries {
            let start = duration * number
            load.note(.started(Request(url: url), handler: nil), at: start)
            load.note(.response(response(200)), at: start + duration)
            load.note(body: [1], of: 1, at: start + duration)
            load.note(.metrics(metrics, since: start), at: start + duration)
            load.note(
                number == tries - 1
                    ? .finished(LoadTotals(bytes: 1, redirects: 0)) : .retrying(Failure(.connectionLost, "again"), after: .zero, rest: 1),
                at: start + duration)
        }
        let exchanges = load.exchanges
        #expect(exchanges.map { $0.response?.status?.code } == Array(repeating: codes + [200], count: tries).flatMap(\.self))
        for (number, exchange) in exchanges.enumerated() {
            #expect(abs(exchange.began - load.began - 0.5 * Double(number)) < 0.001)
            #expect(abs(exchange.end / .milliseconds(1) - 500) < 1, "\(exchange.end)")
            guard case .number(let text)? = HTTPArchive.entry(exchange)["time"] else {
                Issue.record("an entry has no time")
                continue
            }
            #expect(abs((Double(text) ?? 0) - 500) < 1, "\(text)")
        }
    }

    /// The time of a redirect after a refusal begins when the request was sent again.
    @Test mutating func redirectIsTimedFromItsOwnStart() throws {
        var metrics = Self.metrics([response(401)])
        metrics.note(.connectionReused, at: .milliseconds(1000))
        metrics.note(.requestSent, at: .milliseconds(1000))
        metrics.note(.firstByte, at: .milliseconds(1500))
        metrics.note(TransferReport(networkProtocol: "http/1.1"), at: .milliseconds(1500))
        load.note(.started(Request(url: url), handler: nil), at: .zero)
        load.note(.redirected(to: Request(url: url), response(302)), at: .milliseconds(1000))
        load.note(.response(response(200)), at: .milliseconds(1500))
        load.note(.metrics(metrics, since: .zero), at: .milliseconds(1500))
        load.note(.finished(LoadTotals(bytes: 0, redirects: 1)), at: .milliseconds(1500))
        #expect(load.exchanges.map { ($0.end / .milliseconds(1)).rounded() } == [500, 500, 500])
    }
}
