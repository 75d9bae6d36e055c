// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import HTTPTypes
import MetricsTestKit
import PortolanCore
import PortolanMetrics
import PortolanTestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
    private let metrics = TestMetrics()

    /// Each recorded request as `name=value` pairs, sorted. A timer that recorded twice is listed twice.
    private var records: [String] {
        metrics.timers(label: "http.client.request.duration").flatMap { timer in
            let text = timer.dimensions.map { "\($0.0)=\($0.1)" }.sorted().joined(separator: " ")
            return timer.values.map { _ in text }
        }.sorted()
    }

    private func load(_ request: Request, _ handler: any ProtocolHandler) async {
        // `try?` because the records show how the load ended.
        _ = try? await loader(Interceptor.metrics(factory: metrics), handler).data(for: request)
    }

    @Test func successIsRecordedWithItsDuration() async throws {
        await load(try Request("http://h.example:81/a?b#c"), StubHandler { _ in .text("x") })
        #expect(
            records == [
                "http.request.method=GET http.response.status_code=200 portolan.source=network server.address=h.example server.port=81 "
                    + "url.scheme=http"
            ])
        #expect(metrics.timers.first?.values.first.map { $0 > 0 && $0 < 60_000_000_000 } == true)
    }

    @Test func errorsHaveTheirType() async throws {
        var request = try Request("https://h.example/")
        request.method = try #require(HTTPRequest.Method("PROPFIND"))
        await load(request, StubHandler { _ in .status(.notFound) })
        request.method = .post
        await load(request, StubHandler { _ in throw LoadError(.cannotConnect, message: "refused") })
        #expect(
            records == [
                "error.type=404 http.request.method=_OTHER http.response.status_code=404 portolan.source=network "
                    + "server.address=h.example server.port=443 url.scheme=https",
                "error.type=\(LoadError.Code.cannotConnect) http.request.method=POST server.address=h.example server.port=443 url.scheme=https",
            ])
    }

    @Test func redirectAndItsTargetAreTwoRequests() async throws {
        let target = try URLRecord(parsing: "http://h.example/b")
        await load(
            try Request("http://h.example/a"), StubHandler { $0.url == target ? .text("x") : .redirect(to: target) })
        #expect(records.map { $0.split(separator: " ")[1] } == ["http.response.status_code=200", "http.response.status_code=302"])
    }

    @Test func cancelledLoadIsRecorded() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(Interceptor.metrics(factory: metrics), handler).task(for: try Request("http://h.example/"), delegate: delegate)
        task.resume()
        _ = await handler.nextLoad()
        task.cancel()
        await delegate.ended()
        #expect(records.map { $0.split(separator: " ")[0] } == ["error.type=\(LoadError.Code.cancelled)"])
    }

    @Test func limitsOfTheLoaderAreErrors() async throws {
        let (manual, clock) = (ManualHandler(), ManualClock())
        let timed = loader(Interceptor.metrics(factory: metrics), manual) { ($0.clock, $0.timeouts.total) = (clock, .seconds(1)) }
        let request = try Request("http://[::1]/")
        let load = Task { try await timed.data(for: request) }
        _ = await manual.nextLoad()
        clock.advance(by: .seconds(2))
        await #expect(throws: LoadError.self) { try await load.value }
        #expect(
            records == ["error.type=\(LoadError.Code.timedOut) http.request.method=GET server.address=::1 server.port=80 url.scheme=http"])
    }

    @Test func otherSchemesAreNotRecorded() async throws {
        await load(try Request("x:1"), StubHandler { _ in .text("x") })
        #expect(records.isEmpty)
    }
}
