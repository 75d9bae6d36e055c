// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

@testable import PortolanHTTP

/// Servers that return a request without processing it, rightly or wrongly: RFC 9113 §8.7, RFC 9110 §9.2.2.
@Suite("HTTP/2 requests that are sent again", .timeLimit(.minutes(10)))
struct HTTP2ResendTests {
    private typealias F = ServerFrames

    private static let ok = [(":status", "200")]
    private static let refused = 7
    private static let methods: [HTTPRequest.Method] = [.get, .post, .put]

    private static func request(_ server: HostileServer, _ method: HTTPRequest.Method) throws -> Request {
        try server.request { request in
            request.method = method
            if method != .get { request.body = .text("hello") }
        }
    }

    /// The delegate after the end of the load, with all its events and the error of a failure.
    private static func load(_ request: Request, on loader: Loader = .http()) async -> RecordingDelegate {
        let delegate = RecordingDelegate()
        loader.task(for: request, delegate: delegate).resume()
        await delegate.ended()
        return delegate
    }

    // MARK: After the response has begun

    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: @Sendable (_ stream: Int) -> [UInt8]
    }

    private static let endings = [
        Ending(testDescription: "head, REFUSED_STREAM") { F.headers(ok, stream: $0) + F.reset(refused, stream: $0) },
        Ending(testDescription: "head, data, REFUSED_STREAM") {
            F.headers(ok, stream: $0) + F.data("some", stream: $0) + F.reset(refused, stream: $0)
        },
        Ending(testDescription: "head, HTTP_1_1_REQUIRED") { F.headers(ok, stream: $0) + F.reset(13, stream: $0) },
        Ending(testDescription: "head, GOAWAY 0") { F.headers(ok, stream: $0) + F.goAway(last: 0) },
        Ending(testDescription: "head, data, GOAWAY 0") {
            F.headers(ok, stream: $0) + F.data("some", stream: $0) + F.goAway(last: 0)
        },
        Ending(testDescription: "GOAWAY 2^31 - 1, head, GOAWAY 0") {
            F.goAway(last: 0x7FFF_FFFF) + F.headers(ok, stream: $0) + F.goAway(last: 0)
        },
        Ending(testDescription: "interim, REFUSED_STREAM") {
            F.headers([(":status", "103")], stream: $0) + F.reset(refused, stream: $0)
        },
        Ending(testDescription: "interim, GOAWAY 0") { F.headers([(":status", "103")], stream: $0) + F.goAway(last: 0) },
        Ending(testDescription: "100, GOAWAY 0") { F.headers([(":status", "100")], stream: $0) + F.goAway(last: 0) },
        Ending(testDescription: "head, trailers with a wrong length, REFUSED_STREAM") {
            F.headers(ok + [("content-length", "9")], stream: $0) + F.data("some", stream: $0) + F.reset(refused, stream: $0)
        },
    ]

    @Test(arguments: endings, methods)
    func nothingIsSentAgainOnceAResponseHasBegun(_ ending: Ending, _ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(whole: { ending.bytes($0.stream) })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error?.code == .connectionLost, "\(String(describing: delegate.error))")
        #expect(delegate.text.isEmpty || delegate.text == "some")
        #expect(server.requestCount == 1 && server.server.connections.count == 1)
    }

    @Test(arguments: methods) func resetAfterTheEndIsIgnored(_ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(whole: {
            F.headers(Self.ok, stream: $0.stream) + F.data("yes", stream: $0.stream, ends: true) + F.reset(Self.refused, stream: $0.stream)
        })
        let loader = Loader.http()
        for _ in 0..<3 {
            let delegate = await Self.load(try Self.request(server, method), on: loader)
            #expect(delegate.error == nil && delegate.text == "yes")
        }
        #expect(server.requestCount == 3)
    }

    /// The response arrives while the body is being sent, and the server does not want the rest of the body.
    @Test func refusalDuringAnUploadAfterTheHeadIsFinal() async throws {
        let server = try HostileServer(head: { F.headers(Self.ok, stream: $0.stream) + F.reset(Self.refused, stream: $0.stream) })
        let request = try server.request { request in
            request.method = .put
            request.body = .bytes([UInt8](repeating: 1, count: 1 << 20))
        }
        let delegate = await Self.load(request, on: .http { $0.expectContinue.bodySizeThreshold = nil })
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == 1)
    }

    // MARK: Before the response has begun

    private static let rejections = [
        Ending(testDescription: "REFUSED_STREAM") { F.reset(refused, stream: $0) },
        Ending(testDescription: "GOAWAY 0") { _ in F.goAway(last: 0) },
        Ending(testDescription: "GOAWAY 0 with ENHANCE_YOUR_CALM") { _ in F.goAway(last: 0, code: 11) },
        Ending(testDescription: "GOAWAY 0 twice") { _ in F.goAway(last: 0x7FFF_FFFF) + F.goAway(last: 0) },
        Ending(testDescription: "REFUSED_STREAM and GOAWAY 0") { F.reset(refused, stream: $0) + F.goAway(last: 0) },
    ]

    /// Any method is sent again, because the server states that it did not process the request.
    @Test(arguments: rejections, methods)
    func unprocessedRequestsAreSentAgain(_ rejection: Ending, _ method: HTTPRequest.Method) async throws {
        let endsConnection = rejection.testDescription.contains("GOAWAY")
        let server = try HostileServer(whole: { arrival in
            (endsConnection ? arrival.connection : arrival.number) < 2
                ? rejection.bytes(arrival.stream)
                : F.headers(Self.ok, stream: arrival.stream) + F.data("yes", stream: arrival.stream, ends: true)
        })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error == nil && delegate.text == "yes", "\(String(describing: delegate.error))")
        #expect(server.server.connections.count == (endsConnection ? 3 : 1))
        // Between RST_STREAM and GOAWAY, the client can already have sent the request again on the same connection.
        let mayLeaveTwice = rejection.testDescription == "REFUSED_STREAM and GOAWAY 0"
        #expect((3...(mayLeaveTwice ? 5 : 3)).contains(server.requestCount))
    }

    @Test(arguments: rejections, methods)
    func serverThatNeverProcessesIsGivenUpAfterSixTries(_ rejection: Ending, _ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(whole: { rejection.bytes($0.stream) })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error?.code == .connectionLost)
        #expect(delegate.error?.message.contains("tried 6 times") == true, "\(String(describing: delegate.error))")
        // A retry on a connection that the server has just ended is never sent.
        #expect((3...6).contains(server.requestCount))
    }

    // MARK: Servers that serve some requests on each connection

    /// nginx does this with `keepalive_requests`: it ignores the requests after the last one.
    @Test(arguments: [(8, 1), (20, 1), (20, 3), (100, 10)])
    func serverWithFewRequestsPerConnectionServesAllLoads(_ loads: Int, _ served: Int) async throws {
        let counts = Mutex<[Int: Int]>([:])
        let server = try HostileServer(whole: { arrival in
            let count = counts.withLock { counts in
                counts[arrival.connection, default: 0] += 1
                return counts[arrival.connection, default: 0]
            }
            guard count <= served else { return [] }
            let response = F.headers(Self.ok, stream: arrival.stream) + F.data("yes", stream: arrival.stream, ends: true)
            return count == served ? response + F.goAway(last: arrival.stream) : response
        })
        let loader = Loader.http()
        let delegates = (0..<loads).map { _ in RecordingDelegate() }
        // The method is not idempotent. There is no body, so that requests arrive in the order of their streams.
        let request = try server.request { $0.method = .post }
        for delegate in delegates { loader.task(for: request, delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "yes", "\(String(describing: delegate.error))")
        }
        #expect(server.server.connections.count <= loads / served + 1)
    }

    /// The server announces the last request immediately and responds later, like a server with a slow program behind
    /// it.
    @Test func serverThatRespondsAfterItsGoAwayServesAllLoads() async throws {
        let server = try HostileServer(
            head: { $0.stream == 1 ? F.goAway(last: 1) : [] },
            whole: { $0.stream == 1 ? F.headers(Self.ok, stream: 1) + F.data("yes", stream: 1, ends: true) : [] })
        let loader = Loader.http()
        let delegates = (0..<20).map { _ in RecordingDelegate() }
        for delegate in delegates { loader.task(for: try Self.request(server, .post), delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "yes", "\(String(describing: delegate.error))")
        }
    }

    /// One request succeeds on each connection, and the server refuses the others one by one. This is REFUSED_STREAM,
    /// which counts.
    @Test func refusedStreamIsSentAgainOnAConnectionThatServesOthers() async throws {
        let server = try HostileServer(whole: { arrival in
            arrival.number % 2 == 0
                ? F.headers(Self.ok, stream: arrival.stream) + F.data("yes", stream: arrival.stream, ends: true)
                : F.reset(Self.refused, stream: arrival.stream)
        })
        let loader = Loader.http()
        for _ in 0..<2 {
            let delegate = await Self.load(try Self.request(server, .get), on: loader)
            #expect(delegate.text == "yes")
        }
        #expect(server.requestCount == 3)
    }

    @Test(arguments: [100, 1000]) func nginxServesAllLoadsDespiteItsLimitPerConnection(_ loads: Int) async throws {
        var request = try Request(TestServers.shared.url(.nginxHTTP2Tenth, "/hello.txt", host: "127.0.0.1"))
        request.httpVersion = .http2
        let loader = Loader.http()
        let delegates = (0..<loads).map { _ in RecordingDelegate() }
        for delegate in delegates { loader.task(for: request, delegate: delegate).resume() }
        var errors: [String: Int] = [:]
        for delegate in delegates {
            await delegate.ended()
            if let error = delegate.error { errors["\(error)", default: 0] += 1 }
        }
        #expect(errors.isEmpty, "\(errors)")
    }

    /// All kinds of refusals share one limit.
    @Test func allKindsOfRefusalsShareOneLimit() async throws {
        let server = try HostileServer(whole: { arrival in
            switch arrival.number % 3 {
            case 0: F.reset(Self.refused, stream: arrival.stream)
            case 1: F.goAway(last: 0)
            default: nil
            }
        })
        let delegate = await Self.load(try Self.request(server, .get))
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount <= 6)
    }

    /// The server ends each connection before a request can be sent on it.
    @Test(arguments: [1, 8]) func connectionsWithAnImmediateGoAwayAreGivenUpSoon(_ loads: Int) async throws {
        let server = try HostileServer(greeting: { _ in F.settings() + F.goAway(last: 0) })
        let loader = Loader.http()
        let delegates = (0..<loads).map { _ in RecordingDelegate() }
        for delegate in delegates { loader.task(for: try Self.request(server, .post), delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.error?.code == .connectionLost, "\(String(describing: delegate.error))")
        }
        #expect(server.server.connections.count <= 6 * loads)
    }

    @Test func aBodyThatWasSentInPartIsSentAgainAsAWhole() async throws {
        let length = 300_000
        let received = ConditionLock<[Int: Int]>([:])
        let server = try ScriptedServer { connection in
            [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send(F.settings([(4, 1 << 20)]) + F.windowUpdate(1 << 20, stream: 0)),
                .respondToFrames { frame in
                    if frame.type == 0 { received.withLockBroadcasting { $0[connection, default: 0] += frame.payload.count } }
                    if connection == 0 { return frame.type == 0 ? F.goAway(last: 0) : [] }
                    return frame.endsRequest ? F.headers(Self.ok, stream: frame.stream, ends: true) : []
                },
            ]
        }
        var request = try Request(server.url(), method: .post, body: .bytes([UInt8](repeating: 1, count: length)))
        request.httpVersion = .http2
        let delegate = await Self.load(request, on: .http { $0.expectContinue.bodySizeThreshold = nil })
        #expect(delegate.error == nil)
        #expect(received.withLock { $0[1] } == length)
        #expect(server.connections.count == 2)
    }

    @Test func aBodyThatCanBeReadOnlyOnceFailsTheLoadWithTheServersReason() async throws {
        let server = try HostileServer(whole: { F.reset(Self.refused, stream: $0.stream) })
        let request = try server.request { request in
            request.method = .post
            request.body = .stream(
                AsyncStream<[UInt8]> {
                    $0.yield(Array("hello".utf8))
                    $0.finish()
                }, length: 5)
        }
        let delegate = await Self.load(request)
        #expect(delegate.error?.code == .bodyFailed)
        #expect(delegate.error?.message.contains("REFUSED_STREAM") == true, "\(String(describing: delegate.error))")
        #expect(server.requestCount == 1)
    }

    // MARK: Other failures

    /// The connection was never used before, so it cannot be stale.
    @Test(arguments: methods) func requestIsNotSentAgainAfterANewConnectionEnds(_ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(whole: { _ in nil })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == 1)
    }

    /// RFC 9110 §9.2.2: an automatic retry that failed is not tried again.
    @Test(arguments: [(HTTPRequest.Method.get, 3), (.put, 3), (.post, 2)])
    func idempotentRequestIsSentOnceMoreAfterAReusedConnectionEnds(_ method: HTTPRequest.Method, _ count: Int) async throws {
        let server = try HostileServer(whole: { arrival in
            arrival.number == 0 ? F.headers(Self.ok, stream: arrival.stream, ends: true) : nil
        })
        let loader = Loader.http()
        #expect(await Self.load(try Self.request(server, .get), on: loader).error == nil)
        let delegate = await Self.load(try Self.request(server, method), on: loader)
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == count)
    }

    /// A response frame that can't be decoded shows that the server has seen the request (RFC 9110 §9.2.2).
    @Test(arguments: [HTTPRequest.Method.get, .put]) func undecodableResponseIsFinal(_ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(whole: { arrival in
            arrival.number == 0
                ? F.headers(Self.ok, stream: arrival.stream, ends: true)
                : F.frame(1, flags: 5, stream: arrival.stream, [0xFF, 0x80, 0x80, 0x01])
        })
        let loader = Loader.http()
        #expect(await Self.load(try Self.request(server, .get), on: loader).error == nil)
        let delegate = await Self.load(try Self.request(server, method), on: loader)
        #expect(delegate.error?.code == .badResponse)
        #expect(server.requestCount == 2)
    }

    @Test(arguments: [0, 1, 2, 8, 11]) func aResetWithAnotherCodeIsFinal(_ code: Int) async throws {
        let server = try HostileServer(whole: { F.reset(code, stream: $0.stream) })
        let delegate = await Self.load(try Self.request(server, .get))
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == 1)
    }
}
