// SPDX-License-Identifier: Apache-2.0

import Foundation
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
                "server.port": "80", "http.response.status_code": "200", "portolan.source": "network",
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

    /// The request after a redirect begins on another thread.
    @Test func requestsOfATaskHaveTheSameParent() async throws {
        let fields = Mutex<[HTTPFields]>([])
        let target = try URLRecord(parsing: "http://[::1]:81/b?a=1&sig=secret&Signature&x")
        let handler = StubHandler { request in
            fields.withLock { $0.append(request.fields) }
            return request.url == target ? .text("x") : .redirect(to: target)
        }
        let delegate = RecordingDelegate(onRedirect: { request, decide in Thread.detachNewThread { decide(.follow(request)) } })
        let loader = loader(Interceptor.tracing(tracer: StatefulTracer(tracer)), handler)
        let parent = try await tracer.withSpan("parent") { span in
            loader.task(for: try Request("http://h.example/a"), delegate: delegate).resume()
            await delegate.ended()
            return span.spanID
        }
        let spans = tracer.finishedSpans.filter { $0.operationName == "GET" }
        #expect(spans.map(\.parentSpanID) == [parent, parent])
        #expect(Set(spans.map { attributes($0)["server.address"] }) == ["h.example", "::1"])
        #expect(spans.contains { attributes($0)["url.full"] == "http://[::1]:81/b?a=1&sig=REDACTED&Signature&x" })
        // The state of the first span does not go to the next server.
        let state = try #require(HTTPField.Name("tracestate"))
        #expect(fields.withLock { $0.map { $0.contains(state) } } == [true, false])
    }

    @Test func limitsOfTheLoaderAreErrors() async throws {
        let (manual, clock) = (ManualHandler(), ManualClock())
        let timed = loader(Interceptor.tracing(tracer: tracer), manual) { ($0.clock, $0.timeouts.total) = (clock, .seconds(1)) }
        let request = try Request("http://h.example/")
        let load = Task { try await timed.data(for: request) }
        _ = await manual.nextLoad()
        clock.advance(by: .seconds(2))
        await #expect(throws: LoadError.self) { try await load.value }
        let target = try URLRecord(parsing: "http://h.example/b")
        let endless = loader(Interceptor.tracing(tracer: tracer), StubHandler { _ in .redirect(to: target) }) { $0.redirects.limit = 0 }
        await #expect(throws: LoadError.self) { try await endless.data(from: "http://h.example/a") }
        let large = loader(Interceptor.tracing(tracer: tracer), StubHandler { _ in .text("xyz") }) { $0.maximumBodySizeInMemory = 1 }
        await #expect(throws: LoadError.self) { try await large.data(from: "http://h.example/a") }
        let spans = tracer.finishedSpans
        #expect(
            spans.map { attributes($0)["error.type"] }
                == [LoadError.Code.timedOut, .tooManyRedirects, .limitExceeded].map { "\($0)" })
        #expect(spans.allSatisfy { $0.status?.code == .error && $0.errors.count == 1 })
    }

    @Test func attemptsKeepTheirStatus() async throws {
        let count = Atomic(0)
        let handler = StubHandler { _ in count.add(1, ordering: .relaxed).newValue == 1 ? .status(.serviceUnavailable) : .text("x") }
        let loader = loader(Interceptor.tracing(tracer: tracer), handler) { configuration in
            configuration.retries = RetryPolicy(limit: 1)
            configuration.retries?.initialDelay = .zero
        }
        _ = try await loader.data(from: "http://h.example/")
        #expect(tracer.finishedSpans.map { attributes($0)["error.type"] } == ["503", nil])
        #expect(tracer.finishedSpans.map { $0.status?.code } == [.error, nil])
    }

    /// A load can be stopped before its interceptors have begun, while they begin, and later.
    @Test func spansOfCancelledLoadsSaySo() async throws {
        let loader = loader(Interceptor.tracing(tracer: tracer), ManualHandler())
        for _ in 0..<300 {
            let delegate = RecordingDelegate()
            let task = loader.task(for: try Request("http://h.example/"), delegate: delegate)
            task.resume()
            if Bool.random() { await Task.yield() }
            task.cancel()
            await delegate.ended()
        }
        while !tracer.activeSpans.isEmpty { await Task.yield() }
        #expect(tracer.finishedSpans.allSatisfy { attributes($0)["error.type"] == "\(LoadError.Code.cancelled)" })
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

/// A tracer that sends the field `tracestate` only with its first context.
private struct StatefulTracer: Tracer {
    let tracer: InMemoryTracer
    private let count = Count()

    private final class Count: Sendable { let value = Atomic(0) }

    init(_ tracer: InMemoryTracer) { self.tracer = tracer }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        tracer.startSpan(operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line)
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        tracer.inject(context, into: &carrier, using: injector)
        if count.value.add(1, ordering: .relaxed).newValue == 1 { injector.inject("vendor=1", forKey: "tracestate", into: &carrier) }
    }
}
