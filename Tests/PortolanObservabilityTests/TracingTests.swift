// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import InMemoryTracing
import PortolanCore
import PortolanTestSupport
import PortolanTracing
import Synchronization
import Testing
import Tracing

@Suite(.timeLimit(.minutes(2))) struct TracingTests {
    private let tracer = InMemoryTracer()

    private func attributes(_ span: FinishedInMemorySpan) -> [String: String] {
        var texts: [String: String] = [:]
        span.attributes.forEach { name, value in
            switch value {
            case .string(let text): texts[name] = text
            case .int32(let number): texts[name] = String(number)
            case .int64(let number): texts[name] = String(number)
            default: texts[name] = "\(value)"
            }
        }
        return texts
    }

    @Test func requestHasASpanOfTheCaller() async throws {
        let fields = Mutex(HTTPFields())
        let handler = StubHandler { request in
            fields.withLock { $0 = request.fields }
            return .text("x")
        }
        let loader = loader(Interceptor.tracing(tracer: tracer), handler)
        let parent = try await tracer.withSpan("parent") { span in
            _ = try await loader.data(from: "http://user:secret@h.example/a?b")
            return span.spanID
        }
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.operationName == "GET" && span.parentSpanID == parent)
        guard case .client = span.kind else { return #expect(Bool(false), "the kind is \(span.kind)") }
        #expect(span.status == nil && span.errors.isEmpty)
        #expect(
            attributes(span) == [
                "http.request.method": "GET", "url.full": "http://h.example/a?b", "url.scheme": "http", "server.address": "h.example",
                "server.port": "80", "http.response.status_code": "200",
            ])
        let sent = fields.withLock { $0 }
        #expect(sent[try #require(HTTPField.Name(InMemoryTracer.spanIDKey))] == span.spanID)
        #expect(sent[try #require(HTTPField.Name(InMemoryTracer.traceIDKey))] == span.traceID)
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func failuresAreErrors() async throws {
        var request = try Request("http://h.example/")
        request.method = try #require(HTTPRequest.Method("PROPFIND"))
        _ = try await loader(Interceptor.tracing(tracer: tracer), StubHandler { _ in .status(.badGateway) }).data(for: request)
        let failing = StubHandler { _ in throw LoadError(.cannotConnect, message: "refused") }
        await #expect(throws: LoadError.self) { try await loader(Interceptor.tracing(tracer: tracer), failing).data(for: request) }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["HTTP", "HTTP"])
        #expect(spans.map { attributes($0)["error.type"] } == ["502", "\(LoadError.Code.cannotConnect)"])
        #expect(spans.map { attributes($0)["http.request.method_original"] } == ["PROPFIND", "PROPFIND"])
        #expect(spans.map { $0.status?.code } == [.error, .error])
        #expect(spans.map(\.errors.count) == [0, 1] && spans.last?.status?.message == "refused")
    }

    @Test func redirectAndItsTargetHaveASpanEach() async throws {
        let target = try URLRecord(parsing: "http://other.example/b")
        let handler = StubHandler { $0.url == target ? .text("x") : .redirect(to: target) }
        _ = try await loader(Interceptor.tracing(tracer: tracer), handler).data(from: "http://h.example/a")
        let spans = tracer.finishedSpans.map { attributes($0) }
        #expect(Set(spans.map { $0["server.address"] }) == ["h.example", "other.example"])
        #expect(Set(spans.map { $0["http.response.status_code"] }) == ["302", "200"])
    }

    @Test func cancelEndsTheSpan() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(Interceptor.tracing(tracer: tracer), handler).task(for: try Request("http://h.example/"), delegate: delegate)
        task.resume()
        _ = await handler.nextLoad()
        task.cancel()
        await delegate.ended()
        let span = try #require(tracer.finishedSpans.first)
        #expect(attributes(span)["error.type"] == "\(LoadError.Code.cancelled)" && tracer.activeSpans.isEmpty)
    }
}
