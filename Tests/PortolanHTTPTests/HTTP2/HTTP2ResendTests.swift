// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

@testable import PortolanHTTP

/// Servers that refuse a request, or end the connection, before or after their response has begun (RFC 9113 §8.7,
/// RFC 9110 §9.2.2).
@Suite("HTTP/2 requests that are sent again", .timeLimit(.minutes(10)))
struct HTTP2ResendTests {
    private typealias Frames = ServerFrames

    private static let ok = [(":status", "200")]
    private static let refusedStream = 7
    private static let methods: [HTTPRequest.Method] = [.get, .post, .put]

    private static func request(_ server: HostileServer, _ method: HTTPRequest.Method) throws -> Request {
        try server.request { request in
            request.method = method
            if method != .get { request.body = .text("hello") }
        }
    }

    /// Runs a task to its end, and returns its delegate.
    private static func load(_ request: Request, on loader: Loader = .http()) async -> RecordingDelegate {
        let delegate = RecordingDelegate()
        loader.task(for: request, delegate: delegate).resume()
        await delegate.ended()
        return delegate
    }

    // MARK: After the response has begun

    /// Frames that end or refuse a transaction.
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: @Sendable (_ stream: Int) -> [UInt8]
    }

    private static let endings = [
        Ending(testDescription: "head, REFUSED_STREAM") { Frames.headers(ok, stream: $0) + Frames.reset(refusedStream, stream: $0) },
        Ending(testDescription: "head, data, REFUSED_STREAM") {
            Frames.headers(ok, stream: $0) + Frames.data("some", stream: $0) + Frames.reset(refusedStream, stream: $0)
        },
        Ending(testDescription: "head, HTTP_1_1_REQUIRED") { Frames.headers(ok, stream: $0) + Frames.reset(13, stream: $0) },
        Ending(testDescription: "head, GOAWAY 0") { Frames.headers(ok, stream: $0) + Frames.goAway(last: 0) },
        Ending(testDescription: "head, data, GOAWAY 0") {
            Frames.headers(ok, stream: $0) + Frames.data("some", stream: $0) + Frames.goAway(last: 0)
        },
        Ending(testDescription: "GOAWAY 2^31 - 1, head, GOAWAY 0") {
            Frames.goAway(last: 0x7FFF_FFFF) + Frames.headers(ok, stream: $0) + Frames.goAway(last: 0)
        },
        Ending(testDescription: "interim, REFUSED_STREAM") {
            Frames.headers([(":status", "103")], stream: $0) + Frames.reset(refusedStream, stream: $0)
        },
        Ending(testDescription: "interim, GOAWAY 0") { Frames.headers([(":status", "103")], stream: $0) + Frames.goAway(last: 0) },
        Ending(testDescription: "100, GOAWAY 0") { Frames.headers([(":status", "100")], stream: $0) + Frames.goAway(last: 0) },
        Ending(testDescription: "head, trailers with a wrong length, REFUSED_STREAM") {
            Frames.headers(ok + [("content-length", "9")], stream: $0) + Frames.data("some", stream: $0)
                + Frames.reset(refusedStream, stream: $0)
        },
    ]

    @Test(arguments: endings, methods)
    func requestIsNotSentAgainOnceAResponseHasBegun(_ ending: Ending, _ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(afterRequest: { ending.bytes($0.stream) })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error?.code == .connectionLost, "\(String(describing: delegate.error))")
        #expect(delegate.text.isEmpty || delegate.text == "some")
        #expect(server.requestCount == 1 && server.server.connections.count == 1)
    }

    @Test(arguments: methods) func resetAfterTheEndIsIgnored(_ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(afterRequest: {
            Frames.headers(Self.ok, stream: $0.stream) + Frames.data("yes", stream: $0.stream, endsStream: true)
                + Frames.reset(Self.refusedStream, stream: $0.stream)
        })
        let loader = Loader.http()
        for _ in 0..<3 {
            let delegate = await Self.load(try Self.request(server, method), on: loader)
            #expect(delegate.error == nil && delegate.text == "yes")
        }
        #expect(server.requestCount == 3)
    }

    /// The server sends the head of its response and refuses the stream while the client still sends the body.
    @Test func uploadIsNotSentAgainAfterAHeadAndARefusal() async throws {
        let server = try HostileServer(afterHead: {
            Frames.headers(Self.ok, stream: $0.stream) + Frames.reset(Self.refusedStream, stream: $0.stream)
        })
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
        Ending(testDescription: "REFUSED_STREAM") { Frames.reset(refusedStream, stream: $0) },
        Ending(testDescription: "GOAWAY 0") { _ in Frames.goAway(last: 0) },
        Ending(testDescription: "GOAWAY 0 with ENHANCE_YOUR_CALM") { _ in Frames.goAway(last: 0, code: 11) },
        Ending(testDescription: "GOAWAY 0 twice") { _ in Frames.goAway(last: 0x7FFF_FFFF) + Frames.goAway(last: 0) },
        Ending(testDescription: "REFUSED_STREAM and GOAWAY 0") { Frames.reset(refusedStream, stream: $0) + Frames.goAway(last: 0) },
    ]

    /// Any method is sent again, because the server states that it did not process the request.
    @Test(arguments: rejections, methods)
    func unprocessedRequestsAreSentAgain(_ rejection: Ending, _ method: HTTPRequest.Method) async throws {
        let endsConnection = rejection.testDescription.contains("GOAWAY")
        let server = try HostileServer(afterRequest: { received in
            (endsConnection ? received.connection : received.number) < 2
                ? rejection.bytes(received.stream)
                : Frames.headers(Self.ok, stream: received.stream) + Frames.data("yes", stream: received.stream, endsStream: true)
        })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error == nil && delegate.text == "yes", "\(String(describing: delegate.error))")
        #expect(server.server.connections.count == (endsConnection ? 3 : 1))
        // Between RST_STREAM and GOAWAY, the client can already have sent the request again on the same connection.
        let mayBeSentOnTheSameConnection = rejection.testDescription == "REFUSED_STREAM and GOAWAY 0"
        #expect((3...(mayBeSentOnTheSameConnection ? 5 : 3)).contains(server.requestCount))
    }

    @Test(arguments: rejections, methods)
    func loadFailsAfterSixTriesIfTheServerNeverProcessesTheRequest(_ rejection: Ending, _ method: HTTPRequest.Method) async throws {
        let server = try HostileServer(afterRequest: { rejection.bytes($0.stream) })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error?.code == .connectionLost)
        #expect(delegate.error?.message.contains("tried 6 times") == true, "\(String(describing: delegate.error))")
        // If the server has ended the connection before a retry is written, the server does not receive that retry.
        #expect((3...6).contains(server.requestCount))
    }

    // MARK: Servers with a limit of requests per connection

    /// nginx does this with `keepalive_requests`: it ignores the requests after the last one.
    @Test(arguments: [(8, 1), (20, 1), (20, 3), (100, 10)])
    func serverWithFewRequestsPerConnectionServesAllLoads(_ loadCount: Int, _ requestsPerConnection: Int) async throws {
        let requestCounts = Mutex<[Int: Int]>([:])
        let server = try HostileServer(afterRequest: { received in
            let count = requestCounts.withLock { counts in
                counts[received.connection, default: 0] += 1
                return counts[received.connection, default: 0]
            }
            guard count <= requestsPerConnection else { return [] }
            let response = Frames.headers(Self.ok, stream: received.stream) + Frames.data("yes", stream: received.stream, endsStream: true)
            return count == requestsPerConnection ? response + Frames.goAway(last: received.stream) : response
        })
        let loader = Loader.http()
        let delegates = (0..<loadCount).map { _ in RecordingDelegate() }
        // The method is not idempotent. There is no body, so that requests arrive in the order of their streams.
        let request = try server.request { $0.method = .post }
        for delegate in delegates { loader.task(for: request, delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "yes", "\(String(describing: delegate.error))")
        }
        #expect(server.server.connections.count <= loadCount / requestsPerConnection + 1)
    }

    /// The server sends GOAWAY after the first request, and the response later, like a server with a slow application.
    @Test func serverThatRespondsAfterItsGoAwayServesAllLoads() async throws {
        let server = try HostileServer(
            afterHead: { $0.stream == 1 ? Frames.goAway(last: 1) : [] },
            afterRequest: { $0.stream == 1 ? Frames.headers(Self.ok, stream: 1) + Frames.data("yes", stream: 1, endsStream: true) : [] })
        let loader = Loader.http()
        let delegates = (0..<20).map { _ in RecordingDelegate() }
        for delegate in delegates { loader.task(for: try Self.request(server, .post), delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "yes", "\(String(describing: delegate.error))")
        }
    }

    /// The server serves every other request of a connection, and refuses the requests between with REFUSED_STREAM.
    @Test func refusedStreamIsSentAgainOnAConnectionThatServesOthers() async throws {
        let server = try HostileServer(afterRequest: { received in
            received.number % 2 == 0
                ? Frames.headers(Self.ok, stream: received.stream) + Frames.data("yes", stream: received.stream, endsStream: true)
                : Frames.reset(Self.refusedStream, stream: received.stream)
        })
        let loader = Loader.http()
        for _ in 0..<2 {
            let delegate = await Self.load(try Self.request(server, .get), on: loader)
            #expect(delegate.text == "yes")
        }
        #expect(server.requestCount == 3)
    }

    @Test(arguments: [100, 1000]) func nginxServesAllLoadsDespiteItsLimitPerConnection(_ loadCount: Int) async throws {
        var request = try Request(TestServers.shared.url(.nginxHTTP2TenRequests, "/hello.txt", host: "127.0.0.1"))
        request.httpVersion = .http2
        let loader = Loader.http()
        let delegates = (0..<loadCount).map { _ in RecordingDelegate() }
        for delegate in delegates { loader.task(for: request, delegate: delegate).resume() }
        var errors: [String: Int] = [:]
        for delegate in delegates {
            await delegate.ended()
            if let error = delegate.error { errors["\(error)", default: 0] += 1 }
        }
        #expect(errors.isEmpty, "\(errors)")
    }

    /// The limit of six tries applies to the sum of all kinds of refusals.
    @Test func allKindsOfRefusalsShareOneLimit() async throws {
        let server = try HostileServer(afterRequest: { received in
            switch received.number % 3 {
            case 0: Frames.reset(Self.refusedStream, stream: received.stream)
            case 1: Frames.goAway(last: 0)
            default: nil
            }
        })
        let delegate = await Self.load(try Self.request(server, .get))
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount <= 6)
    }

    /// The server ends each connection before a request can be sent on it.
    @Test(arguments: [1, 8]) func loadFailsIfEachConnectionBeginsWithAGoAway(_ loadCount: Int) async throws {
        let server = try HostileServer(greeting: { _ in Frames.settings() + Frames.goAway(last: 0) })
        let loader = Loader.http()
        let delegates = (0..<loadCount).map { _ in RecordingDelegate() }
        for delegate in delegates { loader.task(for: try Self.request(server, .post), delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.error?.code == .connectionLost, "\(String(describing: delegate.error))")
        }
        #expect(server.server.connections.count <= 6 * loadCount)
    }

    @Test func partlySentBodyIsSentAgainFromItsStart() async throws {
        let length = 300_000
        let bodyBytesByConnection = ConditionLock<[Int: Int]>([:])
        let server = try ScriptedServer { connection in
            [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                .send(Frames.settings([(4, 1 << 20)]) + Frames.windowUpdate(1 << 20, stream: 0)),
                .respondToFrames { frame in
                    if frame.type == 0 { bodyBytesByConnection.withLockBroadcasting { $0[connection, default: 0] += frame.payload.count } }
                    if connection == 0 { return frame.type == 0 ? Frames.goAway(last: 0) : [] }
                    return frame.endsRequest ? Frames.headers(Self.ok, stream: frame.stream, endsStream: true) : []
                },
            ]
        }
        var request = try Request(server.url(), method: .post, body: .bytes([UInt8](repeating: 1, count: length)))
        request.httpVersion = .http2
        let delegate = await Self.load(request, on: .http { $0.expectContinue.bodySizeThreshold = nil })
        #expect(delegate.error == nil)
        #expect(bodyBytesByConnection.withLock { $0[1] } == length)
        #expect(server.connections.count == 2)
    }

    @Test func aBodyThatCanBeReadOnlyOnceFailsTheLoadWithTheServersReason() async throws {
        let server = try HostileServer(afterRequest: { Frames.reset(Self.refusedStream, stream: $0.stream) })
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
        let server = try HostileServer(afterRequest: { _ in nil })
        let delegate = await Self.load(try Self.request(server, method))
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == 1)
    }

    /// RFC 9110 §9.2.2: an automatic retry that failed is not tried again.
    @Test(arguments: [(HTTPRequest.Method.get, 3), (.put, 3), (.post, 2)])
    func idempotentRequestIsSentOnceMoreAfterAReusedConnectionEnds(_ method: HTTPRequest.Method, _ requestCount: Int) async throws {
        let server = try HostileServer(afterRequest: { received in
            received.number == 0 ? Frames.headers(Self.ok, stream: received.stream, endsStream: true) : nil
        })
        let loader = Loader.http()
        #expect(await Self.load(try Self.request(server, .get), on: loader).error == nil)
        let delegate = await Self.load(try Self.request(server, method), on: loader)
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == requestCount)
    }

    /// A response frame that can't be decoded shows that the server has received the request (RFC 9110 §9.2.2).
    @Test(arguments: [HTTPRequest.Method.get, .put]) func requestIsNotSentAgainAfterAnUndecodableResponse(_ method: HTTPRequest.Method)
        async throws
    {
        let server = try HostileServer(afterRequest: { received in
            received.number == 0
                ? Frames.headers(Self.ok, stream: received.stream, endsStream: true)
                : Frames.frame(1, flags: 5, stream: received.stream, [0xFF, 0x80, 0x80, 0x01])
        })
        let loader = Loader.http()
        #expect(await Self.load(try Self.request(server, .get), on: loader).error == nil)
        let delegate = await Self.load(try Self.request(server, method), on: loader)
        #expect(delegate.error?.code == .badResponse)
        #expect(server.requestCount == 2)
    }

    @Test(arguments: [0, 1, 2, 8, 11]) func requestIsNotSentAgainAfterAResetWithAnotherCode(_ code: Int) async throws {
        let server = try HostileServer(afterRequest: { Frames.reset(code, stream: $0.stream) })
        let delegate = await Self.load(try Self.request(server, .get))
        #expect(delegate.error?.code == .connectionLost)
        #expect(server.requestCount == 1)
    }
}
