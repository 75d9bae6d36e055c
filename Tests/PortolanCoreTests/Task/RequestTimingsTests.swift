// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Testing

@testable import PortolanCore

@Suite struct RequestTimingsTests {
    /// An event of a task, and its time in milliseconds.
    private enum Event {
        case step(LoadStep, Int)
        case transfer(Int)
        /// The task follows a redirect.
        case redirect(Int)
        /// The transfer report of the first request, which arrives after the redirect.
        case lateTransfer(Int)
        case end(Int)
    }

    /// Metrics with these events, whose times are in milliseconds.
    private static func metrics(_ events: [Event]) -> LoadMetrics {
        var metrics = LoadMetrics()
        for event in events {
            switch event {
            case .step(let step, let time): metrics.recordStep(step, at: .milliseconds(time))
            case .transfer(let time):
                let report = TransferReport(networkProtocol: "http/1.1")
                metrics.recordTransfer(report, at: .milliseconds(time), afterRedirects: metrics.redirectCount)
            case .redirect(let time): metrics.recordRedirect(at: .milliseconds(time))
            case .lateTransfer(let time):
                metrics.recordTransfer(TransferReport(networkProtocol: "h2"), at: .milliseconds(time), afterRedirects: 0)
            case .end(let time): metrics.timeToEnd = .milliseconds(time)
            }
        }
        return metrics
    }

    /// The phases in milliseconds: waiting, domain lookup, connecting, TLS, sending, awaiting the response, receiving,
    /// total. A phase that did not take place is `-`.
    private static func phases(_ timings: RequestTimings) -> String {
        let durations = [
            timings.waiting, timings.domainLookup, timings.connecting, timings.tlsHandshake, timings.sending, timings.awaitingResponse,
            timings.receiving, timings.total,
        ]
        return durations.map { $0.map { "\(Int($0 / .milliseconds(1)))" } ?? "-" }.joined(separator: " ")
    }

    @Test func newConnectionHasEachPhase() {
        let metrics = Self.metrics([
            .step(.domainResolved, 1), .step(.connected, 3), .step(.tlsEstablished, 7), .step(.requestSent, 8), .step(.firstByte, 18),
            .transfer(50),
            .end(51),
        ])
        #expect(metrics.timings.map(Self.phases) == ["- 1 2 4 1 10 32 50"])
        #expect(metrics.timings.first?.transfer?.networkProtocol == "http/1.1")
    }

    @Test func hostThatIsAnAddressHasNoLookUpPhase() {
        let metrics = Self.metrics([.step(.connected, 3), .step(.requestSent, 4), .step(.firstByte, 5), .transfer(6)])
        #expect(metrics.timings.map(Self.phases) == ["- - 3 - 1 1 1 6"])
    }

    /// Each request begins at the end of the previous one.
    @Test func eachRequestHasItsOwnTimings() {
        let metrics = Self.metrics([
            .step(.connected, 3), .step(.requestSent, 4), .step(.firstByte, 9), .transfer(10),
            .step(.connectionReused, 12), .step(.requestSent, 13), .step(.firstByte, 20), .transfer(30), .end(30),
        ])
        #expect(metrics.timings.map(Self.phases) == ["- - 3 - 1 5 1 10", "2 - - - 1 7 10 20"])
        #expect(metrics.timings.map(\.start) == [.zero, .milliseconds(10)])
        #expect(metrics.transfers.count == 2)
    }

    /// The client sends the request on a connection that the server has closed, and again on a new connection.
    @Test func timeOnAClosedConnectionCountsAsWaiting() {
        let metrics = Self.metrics([
            .step(.connectionReused, 1), .step(.requestSent, 2), .step(.connected, 5), .step(.requestSent, 6), .step(.firstByte, 8),
            .transfer(9),
        ])
        #expect(metrics.timings.map(Self.phases) == ["2 - 3 - 1 2 1 9"])
    }

    /// The first byte can arrive during the upload: of a 100 response, or of a response that refuses the body.
    @Test func responseMayArriveBeforeTheRequestIsSent() {
        let metrics = Self.metrics([
            .step(.connected, 1), .step(.firstByte, 3), .step(.requestSent, 6), .transfer(8),
        ])
        #expect(metrics.timings.map(Self.phases) == ["- - 1 - 5 0 2 8"])
    }

    /// The server refused the body, and the rest of the body was not sent.
    @Test func requestThatIsNotSentCompletelyEndsWithTheFirstByteOfTheResponse() {
        let metrics = Self.metrics([.step(.connected, 1), .step(.firstByte, 3), .transfer(8)])
        #expect(metrics.timings.map(Self.phases) == ["- - 1 - 2 0 5 8"])
    }

    @Test func interruptedRequestHasNoTransferReport() {
        let metrics = Self.metrics([
            .step(.connected, 1), .step(.requestSent, 2), .step(.firstByte, 3), .transfer(4), .step(.domainResolved, 5), .end(9),
        ])
        #expect(metrics.timings.map(Self.phases) == ["- - 1 - 1 1 1 4", "- 1 - - - - - 5"])
        #expect(metrics.timings.last?.transfer == nil)
    }

    /// The handler reports the transfer of the redirected request after the next request has begun.
    @Test(arguments: [false, true]) func lateReportBelongsToTheRedirectedRequest(isLast: Bool) {
        let lateTransfer = Event.lateTransfer(13)
        let metrics = Self.metrics(
            [
                .step(.connected, 3), .step(.requestSent, 4), .step(.firstByte, 9), .redirect(10), .step(.connectionReused, 11),
                .step(.requestSent, 12),
            ] + (isLast ? [] : [lateTransfer]) + [.step(.firstByte, 20), .transfer(30)] + (isLast ? [lateTransfer] : []) + [.end(30)])
        #expect(metrics.timings.map(Self.phases) == ["- - 3 - 1 5 1 10", "1 - - - 1 8 10 20"])
        #expect(metrics.transfers.map(\.networkProtocol) == ["h2", "http/1.1"])
    }

    @Test func reportBeforeTheRedirectEndsItsRequest() {
        let metrics = Self.metrics([
            .step(.connected, 1), .step(.requestSent, 2), .step(.firstByte, 3), .transfer(4), .redirect(5), .step(.connectionReused, 6),
            .step(.requestSent, 7), .step(.firstByte, 8), .transfer(9),
        ])
        #expect(metrics.timings.map(Self.phases) == ["- - 1 - 1 1 1 4", "2 - - - 1 1 1 5"])
    }

    @Test func aRunningLoadHasNoEnd() {
        let timings = Self.metrics([.step(.connected, 1), .step(.firstByte, 3)]).timings
        #expect(timings.map(Self.phases) == ["- - 1 - 2 0 - -"])
    }

    @Test func protocolWithoutANetworkHasNoTimings() {
        #expect(Self.metrics([.end(4)]).timings.isEmpty)
    }

    @Test func metricsDescribeEachRequestOnOneLine() {
        var metrics = LoadMetrics()
        metrics.recordStep(.domainResolved, at: .microseconds(2_040))
        metrics.recordStep(.connected, at: .milliseconds(10))
        metrics.recordStep(.requestSent, at: .milliseconds(11))
        metrics.recordStep(.firstByte, at: .milliseconds(30))
        var report = TransferReport(networkProtocol: "http/1.1")
        (report.remoteAddress, report.bytesSent, report.bytesReceived) = ("127.0.0.1:80", 100, 200)
        metrics.recordTransfer(report, at: .milliseconds(31))
        metrics.recordRedirect(at: .milliseconds(31))
        metrics.recordStep(.connectionReused, at: .milliseconds(32))
        (metrics.timeToResponse, metrics.timeToEnd) = (.milliseconds(40), .microseconds(1_042_960))
        #expect(
            metrics.description == """
                2 requests in 1043.0 ms, 1 redirect, response after 40.0 ms, 100 bytes sent, 200 bytes received
                1: 31.0 ms (domain lookup 2.0 ms, connecting 8.0 ms, sending 1.0 ms, awaiting response 19.0 ms, receiving 1.0 ms), \
                http/1.1, 127.0.0.1:80, 100 bytes sent, 200 bytes received
                2: 1012.0 ms (waiting 1.0 ms)
                """)
        #expect(metrics.steps.first?.description == "domainResolved at 2.0 ms")
        #expect(LoadMetrics().description == "0 requests, running")
    }

    @Test func metricsDescribeAtMostTenRequests() {
        var metrics = LoadMetrics()
        for time in 1...12 {
            metrics.recordStep(.connectionReused, at: .milliseconds(time))
            metrics.recordTransfer(TransferReport(networkProtocol: "h2", isReused: true), at: .milliseconds(time))
        }
        let lines = metrics.description.split(separator: "\n")
        #expect(lines.count == 12 && lines.last == "… and 2 more")
    }

    @Test func metricsOfATaskIncludeTheTimings() async throws {
        let handler = ManualHandler { load in
            load.client.didReach(.connected)
            load.client.didTransfer(TransferReport(networkProtocol: "h2", isReused: true))
            if load.request.url.path == "/" {
                _ = load.redirect(to: (try? URLRecord(parsing: "x://h/b")) ?? load.request.url)
            } else {
                load.respond()
                load.finish()
            }
        }
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x://h/"), delegate: delegate)
        task.resume()
        await delegate.ended()
        #expect(task.metrics.timings.map { $0.transfer?.isReused } == [true, true])
        #expect(task.metrics.timings.allSatisfy { $0.connecting != nil && $0.end != nil })
    }

    @Test func taskAttributesALateReportToTheRedirectedRequest() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x://h/"), delegate: delegate)
        task.resume()
        let first = await handler.nextLoad()
        let client = first.client  // retained, as a handler does until its report
        client.didReach(.connected)
        _ = first.redirect(to: try URLRecord(parsing: "x://h/b"))
        let second = await handler.nextLoad()
        second.client.didReach(.connectionReused)
        client.didTransfer(TransferReport(networkProtocol: "h2"))
        second.respond()
        second.client.didTransfer(TransferReport(networkProtocol: "h2", isReused: true))
        second.finish()
        await delegate.ended()
        #expect(task.metrics.timings.map { $0.transfer?.isReused } == [false, true])
        #expect(task.metrics.timings.map { $0.connecting != nil } == [true, false])
        #expect(task.metrics.timings.map { $0.waiting != nil } == [false, true], "the step `reused` belongs to the second request")
    }
}
