// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct InterceptorTests {
    private struct Failure: Error {}

    /// Records the calls of an interceptor, in order.
    private final class Record: Sendable {
        private let lines = Mutex<[String]>([])
        private let (changes, changing) = AsyncStream.makeStream(of: Void.self)
        var all: [String] { lines.withLock { $0 } }

        func add(_ line: String) {
            lines.withLock { $0.append(line) }
            changing.yield()
        }

        /// Waits until there are `count` lines.
        func waitForLines(_ count: Int) async {
            var iterator = changes.makeAsyncIterator()
            while all.count < count { await iterator.next() }
        }

        func end(_ request: Request, _ outcome: Interceptor.Outcome) {
            switch outcome {
            case .finished: add("\(request.url.path) finished")
            case .failed(let error): add("\(request.url.path) failed: \(error.message)")
            case .redirected(let next): add("\(request.url.path) redirected to \(next.url.path)")
            case .stopped: add("\(request.url.path) stopped")
            }
        }
    }

    /// Responds with the value of the field X-Key.
    private let echo = StubHandler { .text($0.field("X-Key") ?? "none") }

    @Test func requestsAreChangedBeforeTheyAreLoaded() async throws {
        let record = Record()
        let interceptor = Interceptor(identifier: "org.example.key") { request in
            await Task.yield()
            try request.setField("X-Key", "secret")
        } onResponse: { _, response in
            record.add("\(response.url.path) responded")
        } onEnd: {
            record.end($0, $1)
        }
        let (body, _) = try await loader(interceptor, echo).data(from: "x:1")
        #expect(String(decoding: body, as: UTF8.self) == "secret")
        #expect(record.all == ["1 responded", "1 finished"])
    }

    @Test func theFirstInterceptorChangesTheRequestFirst() async throws {
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
        let record = Record()
        let failing = Interceptor(identifier: "org.example.failing", request: { _ in throw Failure() }, onEnd: { record.end($0, $1) })
        let error = await #expect(throws: LoadError.self) { try await loader(failing, echo).data(from: "x:1") }
        #expect(error?.code == .unknown && error?.underlyingError is Failure)
        #expect(record.all.count == 1 && record.all.first?.hasPrefix("1 failed: ") == true)
        let leading = Interceptor(identifier: "org.example.leading") { $0.url = try URLRecord(parsing: "x:2") }
        let refusal = await #expect(throws: LoadError.self) { try await loader(leading, echo).data(from: "x:1") }
        #expect(refusal?.code == .badRequest && refusal?.message.contains("org.example.leading") == true)
    }

    @Test(arguments: [false, true]) func redirectTargetsAreInterceptedAgain(isLate: Bool) async throws {
        let record = Record()
        let target = try URLRecord(parsing: "x:2")
        let redirecting = StubHandler { request in
            request.url == target ? .text(request.field("X-Key") ?? "none") : .redirect(to: target)
        }
        let interceptor = Interceptor(
            identifier: "org.example.key", request: { try $0.setField("X-Key", "for \($0.url.path)") }, onEnd: { record.end($0, $1) })
        let delegate = RecordingDelegate(onRedirect: { request, decide in
            if isLate { Task { decide(.follow(request)) } } else { decide(.follow(request)) }
        })
        loader(interceptor, redirecting).task(for: try Request("x:1"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == "for 2")
        await record.waitForLines(2)
        #expect(record.all.sorted() == ["1 redirected to 2", "2 finished"])
    }

    @Test func aDeclinedRedirectIsDelivered() async throws {
        let record = Record()
        let target = try URLRecord(parsing: "x:2")
        var answer = StubResponse.text("declined")
        answer.redirect = target
        let redirecting = StubHandler { [answer] _ in answer }
        let interceptor = Interceptor(identifier: "org.example.key", onEnd: { record.end($0, $1) })
        let delegate = RecordingDelegate(onRedirect: { _, decide in Task { decide(.deliver) } })
        loader(interceptor, redirecting).task(for: try Request("x:1"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == "declined")
        #expect(record.all == ["1 finished"])
    }

    @Test func interceptorIsNotifiedOfACancelDuringTheChange() async throws {
        let record = Record()
        let (starts, starting) = AsyncStream.makeStream(of: Void.self)
        let (ends, ending) = AsyncStream.makeStream(of: Bool.self)
        let interceptor = Interceptor(identifier: "org.example.slow") { _ in
            starting.yield()
            do {
                try await Task.sleep(for: .seconds(1000))
            } catch {
                ending.yield(error is CancellationError)
                throw error
            }
        } onEnd: {
            record.end($0, $1)
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
        #expect(record.all == ["1 stopped"])
    }

    @Test func interceptorIsNotifiedOfACancelDuringTheLoad() async throws {
        let record = Record()
        let handler = ManualHandler()
        let interceptor = Interceptor(identifier: "org.example.key", onEnd: { record.end($0, $1) })
        let delegate = RecordingDelegate()
        let task = loader(interceptor, handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = await handler.nextLoad()
        load.respond()
        task.cancel()
        await delegate.ended()
        #expect(load.calls.contains(.stop))
        #expect(record.all == ["1 stopped"])
    }

    /// The resume reaches the handler behind the interceptor, too.
    @Test func pauseReachesTheNextHandler() async throws {
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
