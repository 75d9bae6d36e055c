// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Loads that are tried again. The test owns the clock.
@Suite(.timeLimit(.minutes(2))) struct LoadRetryTests {
    private let clock = ManualClock()

    private static func policy(_ limit: Int = 2) -> RetryPolicy {
        var policy = RetryPolicy(limit: limit)
        policy.jitter = 0
        return policy
    }

    private static func busyResponse(_ code: Int = 503, retryAfter: String? = nil) -> StubResponse {
        var response = StubResponse.text("busy")
        response.status = .init(code: code)
        response.fields[.retryAfter] = retryAfter
        return response
    }

    /// A task whose attempts have these results. The last is repeated.
    private func start(
        _ results: [Result<StubResponse, LoadError>], _ policy: RetryPolicy? = Self.policy(), method: HTTPRequest.Method = .get,
        body: Body? = nil,
        timeouts: Timeouts = Timeouts()
    ) throws -> (task: LoadTask, delegate: RecordingDelegate, count: () -> Int) {
        let count = Mutex(0)
        let handler = StubHandler { request in
            if let body = request.body { _ = try body.makeReader() }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return try results[min(number, results.count) - 1].get()
        }
        let loader = loader(handler) {
            $0.clock = clock
            $0.retries = policy
        }
        let delegate = RecordingDelegate()
        var request = try Request("x://h/", method: method, body: body)
        request.timeouts = timeouts
        let task = loader.task(for: request, delegate: delegate)
        task.resume()
        return (task, delegate, { count.withLock { $0 } })
    }

    private static let lost = LoadError(.connectionLost, message: "lost")

    @Test func delegateReceivesOnlyTheLastAttempt() throws {
        let (task, delegate, count) = try start([.failure(Self.lost), .success(Self.busyResponse()), .success(.text("done"))])
        #expect(delegate.events.isEmpty && count() == 1 && task.state == .running)
        clock.advance(by: .milliseconds(999))
        #expect(count() == 1)
        clock.advance(by: .milliseconds(1))
        #expect(count() == 2 && delegate.events.isEmpty)
        clock.advance(by: .seconds(2))
        #expect(delegate.text == "done" && delegate.events.last == .finished && count() == 3)
        #expect(task.metrics.requestCount == 3)
    }

    @Test func lastFailureIsDelivered() throws {
        let (_, delegate, count) = try start([.failure(Self.lost), .success(Self.busyResponse())], Self.policy(1))
        clock.advance(by: .seconds(10))
        #expect(delegate.text == "busy" && delegate.events.last == .finished && count() == 2)
        let (_, failed, _) = try start([.failure(Self.lost)], Self.policy(1))
        clock.advance(by: .seconds(10))
        #expect(failed.events == [.failed(.connectionLost)])
    }

    /// Which attempts are followed by another one.
    @Test(
        arguments: [
            ("no policy", nil, "GET", false, 1), ("a limit of 0", policy(0), "GET", false, 1), ("a PUT", policy(), "PUT", false, 3),
            ("a POST", policy(), "POST", false, 1), ("a body that can be read again", policy(), "PUT", true, 3),
        ] as [(String, RetryPolicy?, String, Bool, Int)])
    func policyAndMethodDecide(name: String, policy: RetryPolicy?, method: String, hasBody: Bool, expected: Int) throws {
        let (_, delegate, count) = try start(
            [.failure(Self.lost)], policy, method: try #require(HTTPRequest.Method(method)), body: hasBody ? .text("b") : nil)
        clock.advance(by: .seconds(10))
        #expect(count() == expected && delegate.events == [.failed(.connectionLost)], "\(name)")
    }

    @Test func bodyThatWasReadOnceIsNotSentAgain() throws {
        let body = Body(length: 0, isRewindable: false) { () throws(LoadError) in try Body.bytes([]).makeReader() }
        let (_, delegate, count) = try start([.failure(Self.lost)], method: .put, body: body)
        clock.advance(by: .seconds(10))
        #expect(count() == 1 && delegate.events == [.failed(.connectionLost)])
    }

    /// Also after a response without any byte of its body.
    @Test(arguments: ["", "half"])
    func failureAfterTheResponseIsNotRetried(body: String) throws {
        var response = StubResponse.text(body)
        (response.announcesLength, response.failure) = (false, Self.lost)
        let (_, delegate, count) = try start([.success(response)])
        clock.advance(by: .seconds(10))
        #expect(count() == 1 && delegate.text == body && delegate.events.last == .failed(.connectionLost))
    }

    @Test func retryAfterIsTheShortestWait() throws {
        let (_, delegate, count) = try start([.success(Self.busyResponse(429, retryAfter: "30")), .success(.text("done"))])
        clock.advance(by: .seconds(29))
        #expect(count() == 1)
        clock.advance(by: .seconds(1))
        #expect(delegate.text == "done")
        // A wait that is too long: the response is delivered.
        let (_, late, _) = try start([.success(Self.busyResponse(429, retryAfter: "3600"))])
        #expect(late.text == "busy" && late.events.last == .finished)
    }

    @Test func cancellationEndsTheWait() throws {
        let (task, delegate, count) = try start([.failure(Self.lost)])
        task.cancel()
        #expect(delegate.events == [.failed(.cancelled)] && task.state == .ended)
        clock.advance(by: .seconds(10))
        #expect(count() == 1)
    }

    @Test func releasedSuspendedTaskIsNotRetried() throws {
        let (delegate, count) = try {
            let (task, delegate, count) = try start([.failure(Self.lost)])
            task.suspend()
            return (delegate, count)
        }()
        clock.advance(by: .seconds(10))
        #expect(count() == 1 && delegate.events.isEmpty)
    }

    @Test func suspendedTaskWaitsWithItsNextAttempt() throws {
        let (task, delegate, count) = try start([.failure(Self.lost), .success(.text("done"))])
        task.suspend()
        clock.advance(by: .seconds(10))
        #expect(delegate.events.isEmpty)
        task.resume()
        #expect(delegate.text == "done" && count() == 2)
    }

    /// The idle time does not count while the load waits for its next attempt.
    @Test func waitIsNotIdleTime() throws {
        let (_, delegate, _) = try start(
            [.success(Self.busyResponse(503, retryAfter: "50")), .success(.text("done"))], timeouts: Timeouts(idle: .seconds(10)))
        clock.advance(by: .seconds(50))
        #expect(delegate.text == "done")
    }

    @Test func totalLimitIncludesAllAttempts() throws {
        let (_, delegate, count) = try start([.failure(Self.lost)], Self.policy(9), timeouts: Timeouts(total: .seconds(5)))
        clock.advance(by: .seconds(20))
        #expect(count() == 3 && delegate.events == [.failed(.connectionLost)])
    }

    /// An attempt that is idle for too long is followed by another one, which has an idle limit, too.
    @Test func idleAttemptIsRetried() throws {
        let handler = ManualHandler()
        let loader = loader(handler) {
            $0.clock = clock
            $0.retries = Self.policy(1)
            $0.timeouts = Timeouts(idle: .seconds(10))
        }
        let delegate = RecordingDelegate()
        let task = loader.task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        clock.advance(by: .seconds(10))
        #expect(handler.loads.map(\.calls) == [[.start, .stop]] && delegate.events.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(handler.loads.count == 2)
        clock.advance(by: .seconds(10))
        #expect(delegate.events == [.failed(.timedOut)])
        #expect(handler.loads.map(\.calls) == [[.start, .stop], [.start, .stop]])
    }

    @Test func attemptContinuesAfterTheRedirect() throws {
        let paths = Mutex<[String]>([])
        let handler = StubHandler { request in
            let count = paths.withLock { paths in
                paths.append(String(request.url.path))
                return paths.count
            }
            if request.url.path == "/" { return .redirect(to: try URLRecord(parsing: "x://h/b")) }
            return count == 2 ? Self.busyResponse() : .text("done")
        }
        let delegate = RecordingDelegate()
        let loader = loader(handler) {
            $0.clock = clock
            $0.retries = Self.policy(1)
        }
        let task = loader.task(for: try Request("x://h/"), delegate: delegate)
        task.resume()
        clock.advance(by: .seconds(1))
        #expect(delegate.text == "done" && paths.withLock { $0 } == ["/", "/b", "/b"])
    }

    /// `nest:` loads `x://h/` as a nested load. Its failure fails the outer load, which is tried again.
    @Test func outerLoadIsRetriedAndNotTheNestedOne() throws {
        let count = Mutex(0)
        let inner = StubHandler(schemes: .only(["x"])) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number > 1 else { throw Self.lost }
            return .text("done")
        }
        let request = try Request("x://h/")
        let outer = ManualHandler(schemes: .only(["nest"]), traits: .stopsAsynchronously) { load in
            load.client.makeNestedLoad(for: request, client: load.client).startLoading()
        }
        let loader = loader(outer, inner) {
            $0.clock = clock
            $0.retries = Self.policy(1)
        }
        let delegate = RecordingDelegate()
        let task = loader.task(for: try Request("nest:x"), delegate: delegate)
        task.resume()
        #expect(count.withLock { $0 } == 1)
        clock.advance(by: .seconds(1))
        #expect(count.withLock { $0 } == 2 && delegate.text == "done" && delegate.events.last == .finished)
    }

    /// An interceptor sees each attempt, and the end of each.
    @Test func interceptorSeesEachAttempt() async throws {
        let log = Mutex<[String]>([])
        let interceptor = Interceptor(identifier: "org.portolan.test.log") { _ in
            log.withLock { $0.append("request") }
        } onResponse: { _, response in
            log.withLock { $0.append("\(response.status?.code ?? 0)") }
        } onEnd: { _, outcome in
            log.withLock { $0.append("\(outcome)") }
        }
        let count = Mutex(0)
        let handler = StubHandler { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? Self.busyResponse() : .text("done")
        }
        var policy = Self.policy(1)
        policy.initialDelay = .zero
        let loader = loader(interceptor, handler) { [policy] in $0.retries = policy }
        #expect(String(decoding: try await loader.data(from: "x://h/").0, as: UTF8.self) == "done")
        #expect(log.withLock { $0 } == ["request", "503", "failed(the response for 'x://h/' is 503 )", "request", "0", "finished"])
    }

    /// A cancel that comes while the response is being refused ends the load as cancelled.
    @Test func cancellationDuringTheResponseEndsTheLoad() throws {
        let task = Mutex<LoadTask?>(nil)
        let handler = RefusedHandler { task.withLock { $0 }?.cancel() }
        let loader = loader(handler) {
            $0.clock = clock
            $0.retries = Self.policy()
        }
        let delegate = RecordingDelegate()
        let started = loader.task(for: try Request("x:1"), delegate: delegate)
        task.withLock { $0 = started }
        started.resume()
        #expect(delegate.events == [.failed(.cancelled)])
        clock.advance(by: .seconds(10))
        #expect(delegate.events.count == 1 && handler.loadCount.load(ordering: .relaxed) == 1)
        task.withLock { $0 = nil }
    }

    @Test func asynchronousCallerSeesOnlyTheResult() async throws {
        let count = Mutex(0)
        var policy = Self.policy(3)
        policy.initialDelay = .zero
        let loader = loader(
            StubHandler { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                guard number > 3 else { throw Self.lost }
                return .text("done")
            }
        ) { [policy] in $0.retries = policy }
        #expect(String(decoding: try await loader.data(from: "x://h/").0, as: UTF8.self) == "done")
        count.withLock { $0 = 0 }
        #expect(String(decoding: try await loader.bytes(from: "x://h/").0.collect(), as: UTF8.self) == "done")
    }
}

/// Responds with the status 503, and calls a closure when the load is stopped.
private final class RefusedHandler: ProtocolHandler {
    let identifier = "org.portolan.test.refused"
    let schemes = SchemeSet.any
    let traits: HandlerTraits = .stopsAsynchronously
    let loadCount = Atomic(0)
    private let onStop: @Sendable () -> Void

    init(onStop: @escaping @Sendable () -> Void) { self.onStop = onStop }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        loadCount.add(1, ordering: .relaxed)
        return RefusedLoad(request, client, onStop)
    }
}

private final class RefusedLoad: ProtocolLoad {
    private let request: Request
    private let client: any ProtocolClient
    private let onStop: @Sendable () -> Void

    init(_ request: Request, _ client: any ProtocolClient, _ onStop: @escaping @Sendable () -> Void) {
        (self.request, self.client, self.onStop) = (request, client, onStop)
    }

    func startLoading() { _ = client.didReceive(Response(url: request.url, status: .serviceUnavailable), storage: .notAllowed) }
    func stopLoading() { onStop() }
    func resumeLoading() {}
}
