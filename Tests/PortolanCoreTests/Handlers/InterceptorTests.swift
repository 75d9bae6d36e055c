// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct InterceptorTests {
    private struct Failure: Error {}

    /// The recorded calls of an interceptor, in order.
    private final class CallRecord: Sendable {
        private let lines = Mutex<[String]>([])
        private let (changes, changeSource) = AsyncStream.makeStream(of: Void.self)
        var allLines: [String] { lines.withLock { $0 } }

        func add(_ line: String) {
            lines.withLock { $0.append(line) }
            changeSource.yield()
        }

        /// Waits until there are `count` lines.
        func waitForLines(_ count: Int) async {
            var iterator = changes.makeAsyncIterator()
            while allLines.count < count { await iterator.next() }
        }

        func addEnd(_ request: Request, _ outcome: Interceptor.Outcome) {
            switch outcome {
            case .finished: add("\(request.url.path) finished")
            case .failed(let error): add("\(request.url.path) failed: \(error.message)")
            case .redirected(let next): add("\(request.url.path) redirected to \(next.url.path)")
            case .stopped: add("\(request.url.path) stopped")
            }
        }
    }

    /// A handler that responds with the value of the request's field X-Key.
    private let echo = StubHandler { .text($0.field("X-Key") ?? "none") }

    @Test func requestsAreChangedBeforeTheyAreLoaded() async throws {
        let record = CallRecord()
        let interceptor = Interceptor(identifier: "org.example.key") { request in
            await Task.yield()
            try request.setField("X-Key", "secret")
        } onResponse: { _, response in
            record.add("\(response.url.path) responded")
        } onEnd: {
            record.addEnd($0, $1)
        }
        let (body, _) = try await loader(interceptor, echo).data(from: "x:1")
        #expect(String(decoding: body, as: UTF8.self) == "secret")
        #expect(record.allLines == ["1 responded", "1 finished"])
    }

    @Test func firstInterceptorChangesTheRequestFirst() async throws {
        func adding(_ letter: String) -> Interceptor {
            Interceptor(identifier: "org.example.\(letter)") { request in
                try request.setField("X-Key", (request.field("X-Key") ?? "") + letter)
            }
        }
        let (body, _) = try await loader(adding("a"), adding("b"), echo).data(from: "x:1")
        #expect(String(decoding: body, as: UTF8.self) == "ab")
    }

    @Test func requestsOfOtherSchemesAreNotChanged() async throws {
        let interceptor = Interceptor(identifier: "org.example.key", schemes: .only(["y"])) { try $0.setField("X-Key", "secret") }
        let (body, _) = try await loader(interceptor, echo).data(from: "x:1")
        #expect(String(decoding: body, as: UTF8.self) == "none")
    }

    @Test func errorOfAnInterceptorFailsTheLoad() async throws {
        let record = CallRecord()
        let throwingInterceptor = Interceptor(
            identifier: "org.example.failing", request: { _ in throw Failure() }, onEnd: { record.addEnd($0, $1) })
        let error = await #expect(throws: LoadError.self) { try await loader(throwingInterceptor, echo).data(from: "x:1") }
        #expect(error?.code == .unknown && error?.underlyingError is Failure)
        #expect(record.allLines.count == 1 && record.allLines.first?.hasPrefix("1 failed: ") == true)
        let urlChangingInterceptor = Interceptor(identifier: "org.example.leading") { $0.url = try URLRecord(parsing: "x:2") }
        let refusal = await #expect(throws: LoadError.self) { try await loader(urlChangingInterceptor, echo).data(from: "x:1") }
        #expect(refusal?.code == .badRequest && refusal?.message.contains("org.example.leading") == true)
    }

    @Test(arguments: [false, true]) func redirectTargetsAreInterceptedAgain(isLate: Bool) async throws {
        let record = CallRecord()
        let target = try URLRecord(parsing: "x:2")
        let redirectingHandler = StubHandler { request in
            request.url == target ? .text(request.field("X-Key") ?? "none") : .redirect(to: target)
        }
        let interceptor = Interceptor(
            identifier: "org.example.key", request: { try $0.setField("X-Key", "for \($0.url.path)") }, onEnd: { record.addEnd($0, $1) })
        let delegate = RecordingDelegate(onRedirect: { request, decide in
            if isLate { Task { decide(.follow(request)) } } else { decide(.follow(request)) }
        })
        loader(interceptor, redirectingHandler).task(for: try Request("x:1"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == "for 2")
        await record.waitForLines(2)
        #expect(record.allLines.sorted() == ["1 redirected to 2", "2 finished"])
    }

    @Test func hooksReceiveTheirEvents() async throws {
        let record = CallRecord()
        let target = try URLRecord(parsing: "x:2")
        let handler = StubHandler { $0.url == target ? .text("") : .redirect(to: target) }
        let interceptor = Interceptor(identifier: "org.example.hooks", capturing: { Task.isCancelled }) { request, isCancelled in
            Interceptor.Hooks { _ in
                record.add("\(request.url.path) changed \(isCancelled)")
            } onRedirect: { _ in
                record.add("\(request.url.path) redirected")
            } onResponse: { _ in
                record.add("\(request.url.path) responded")
            } onEnd: { outcome in
                record.addEnd(request, outcome)
            }
        }
        let delegate = RecordingDelegate()
        loader(interceptor, handler).task(for: try Request("x:1"), delegate: delegate).resume()
        await delegate.ended()
        await record.waitForLines(6)
        #expect(
            record.allLines.sorted() == [
                "1 changed false", "1 redirected", "1 redirected to 2", "2 changed false", "2 finished", "2 responded",
            ])
    }

    /// The loader, and not the handler, ends these loads.
    @Test func interceptorsSeeWhyTheLoadIsStopped() async throws {
        let record = CallRecord()
        let observing = (0..<2).map { Interceptor(identifier: "org.example.observe\($0)", onEnd: { record.addEnd($0, $1) }) }
        let (manual, clock) = (ManualHandler(), ManualClock())
        let loader = loader(handlers: observing + [manual]) { ($0.clock, $0.timeouts.total) = (clock, .seconds(1)) }
        let request = try Request("x:1")
        let load = Task { try await loader.data(for: request) }
        _ = await manual.nextLoad()
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: LoadError.self) { try await load.value }
        await record.waitForLines(2)
        #expect(record.allLines == Array(repeating: "1 failed: \(error?.message ?? "")", count: 2))
    }

    @Test func aDeclinedRedirectIsDelivered() async throws {
        let record = CallRecord()
        let target = try URLRecord(parsing: "x:2")
        var response = StubResponse.text("declined")
        response.redirect = target
        let redirectingHandler = StubHandler { [response] _ in response }
        let interceptor = Interceptor(identifier: "org.example.key", onEnd: { record.addEnd($0, $1) })
        let delegate = RecordingDelegate(onRedirect: { _, decide in Task { decide(.deliver) } })
        loader(interceptor, redirectingHandler).task(for: try Request("x:1"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == "declined")
        #expect(record.allLines == ["1 finished"])
    }

    @Test func interceptorIsNotifiedOfACancelDuringTheChange() async throws {
        let record = CallRecord()
        let (starts, startSource) = AsyncStream.makeStream(of: Void.self)
        let (ends, endSource) = AsyncStream.makeStream(of: Bool.self)
        let interceptor = Interceptor(identifier: "org.example.slow") { _ in
            startSource.yield()
            do {
                try await Task.sleep(for: .seconds(1000))
            } catch {
                endSource.yield(error is CancellationError)
                throw error
            }
        } onEnd: {
            record.addEnd($0, $1)
        }
        let delegate = RecordingDelegate()
        let task = loader(interceptor, echo).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        for await _ in starts { break }
        task.cancel()
        for await isCancelled in ends {
            #expect(isCancelled)
            break
        }
        await delegate.ended()
        #expect(delegate.events == [.failed(.cancelled)])
        #expect(record.allLines == ["1 stopped"])
    }

    @Test func interceptorIsNotifiedOfACancelDuringTheLoad() async throws {
        let record = CallRecord()
        let handler = ManualHandler()
        let interceptor = Interceptor(identifier: "org.example.key", onEnd: { record.addEnd($0, $1) })
        let delegate = RecordingDelegate()
        let task = loader(interceptor, handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = await handler.nextLoad()
        load.respond()
        task.cancel()
        await delegate.ended()
        #expect(load.calls.contains(.stop))
        #expect(record.allLines == ["1 stopped"])
    }

    /// An interceptor forwards the pause and the resume to the next handler.
    @Test func pauseAndResumeReachTheNextHandler() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate { event, _ in if case .data = event { .pause } else { .keepGoing } }
        let task = loader(Interceptor(identifier: "org.example.key"), handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = await handler.nextLoad()
        load.respond()
        #expect(load.deliver([1]) == .pause)
        task.resume()
        #expect(load.calls == [.start, .resume])
        load.finish()
        await delegate.ended()
        #expect(delegate.events.last == .finished)
    }
}
