// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

@testable import PortolanHTTP

/// Loads over sockets. They test the pool, the load and the connections together.
@Suite(.timeLimit(.minutes(10))) struct HTTP2LoadTests {
    /// Starts a protocol load whose client records the events.
    private func start(_ request: Request, on handler: HTTPHandler) -> (RecordingClient, any ProtocolLoad) {
        let client = RecordingClient()
        let load = handler.makeLoad(for: request, cachedResponse: nil, client: client)
        load.startLoading()
        return (client, load)
    }

    /// Runs a protocol load to its end.
    private func run(_ request: Request, on handler: HTTPHandler = HTTPHandler()) -> RecordingClient {
        let (client, _) = start(request, on: handler)
        client.wait { $0.last?.isEnd == true }
        return client
    }

    private func post(to server: FrameServer) throws -> Request {
        var request = try server.request()
        request.method = .post
        request.body = .text("hello")
        return request
    }

    @Test func responseIsLoadedOverASocket() throws {
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            connection.respond(frame.stream, endsStream: false)
            connection.send(frame.stream, Array("hello".utf8))
        }
        let client = run(try server.request())
        #expect(client.bytes == Array("hello".utf8))
        #expect(client.events.last == .finished)
    }

    @Test func loadsShareAConnection() throws {
        let server = try FrameServer { connection, frame in
            if frame.endsRequest { connection.respond(frame.stream) }
        }
        let handler = HTTPHandler()
        for _ in 0..<10 { #expect(run(try server.request(), on: handler).error == nil) }
        let clients = try (0..<50).map { _ in start(try server.request(), on: handler).0 }
        for client in clients { client.wait { $0.last?.isEnd == true } }
        #expect(clients.allSatisfy { $0.events.last == .finished })
        #expect(server.counts.connectionCount == 1)
    }

    /// Any method is sent again, because the server states that it did not process the request.
    @Test func requestAfterTheLastStreamOfAGoAwayUsesANewConnection() throws {
        let server = try FrameServer { connection, frame in
            if connection.number == 0 {
                if frame.isHead { connection.goAway(last: 0) }
            } else if frame.endsRequest {
                connection.respond(frame.stream, 201)
            }
        }
        let client = run(try post(to: server))
        #expect(client.response?.status?.code == 201)
        #expect(server.counts.connectionCount == 2)
    }

    @Test func serverWithOneRequestPerConnectionServesAllLoads() throws {
        let server = try FrameServer { connection, frame in
            // The server serves one request for each connection, and ignores the others.
            guard frame.endsRequest, frame.stream == 1 else { return }
            connection.goAway(last: 1)
            connection.respond(frame.stream)
        }
        let handler = HTTPHandler()
        let clients = try (0...ResendPolicy.limit).map { _ in start(try server.request(), on: handler).0 }
        for client in clients { client.wait { $0.last?.isEnd == true } }
        #expect(clients.allSatisfy { $0.events.last == .finished })
        #expect(server.counts.connectionCount == clients.count)
    }

    @Test func loadFailsAfterTheServerHasProcessedNoRequestSixTimes() throws {
        let server = try FrameServer { connection, frame in
            if frame.isHead { connection.goAway(last: 0) }
        }
        #expect(run(try server.request()).error?.code == .connectionLost)
        #expect(server.counts.connectionCount == ResendPolicy.limit + 1)
    }

    @Test func refusedStreamIsRetriedOnItsConnection() throws {
        let refusals = Atomic(ResendPolicy.limit)
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            if refusals.subtract(1, ordering: .relaxed).newValue >= 0 {
                connection.reset(frame.stream, 7)
            } else {
                connection.respond(frame.stream)
            }
        }
        let handler = HTTPHandler()
        #expect(run(try post(to: server), on: handler).events.last == .finished)
        refusals.store(ResendPolicy.limit + 1, ordering: .relaxed)
        #expect(run(try post(to: server), on: handler).error?.message.contains("REFUSED_STREAM") == true)
        #expect(server.counts.connectionCount == 1)
    }

    @Test func otherResetsAreNotRetried() throws {
        let requests = Atomic(0)
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            requests.add(1, ordering: .relaxed)
            connection.reset(frame.stream, 2)
        }
        #expect(run(try server.request()).error?.code == .connectionLost)
        #expect(requests.load(ordering: .relaxed) == 1)
    }

    @Test func staleConnectionIsReplacedForIdempotentMethods() throws {
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            if connection.number == 0, frame.stream != 1 { connection.close() } else { connection.respond(frame.stream) }
        }
        let handler = HTTPHandler()
        #expect(run(try server.request(), on: handler).error == nil)
        #expect(run(try server.request(), on: handler).error == nil)
        #expect(server.counts.connectionCount == 2)
    }

    @Test func loadsWaitForAFreeStream() throws {
        let server = try FrameServer(maximumStreams: 2) { connection, frame in
            if frame.endsRequest { connection.respond(frame.stream) }
        }
        let handler = HTTPHandler()
        #expect(run(try server.request(), on: handler).error == nil)
        let clients = try (0..<40).map { _ in start(try server.request(), on: handler).0 }
        for client in clients { client.wait { $0.last?.isEnd == true } }
        #expect(clients.allSatisfy { $0.events.last == .finished })
        #expect(server.counts.connectionCount == 1)
        #expect(server.counts.maximumOpenStreamCount <= 2)
    }

    /// The first request is sent before the server's settings arrive, and the server refuses it. The error is the same.
    @Test func errorNamesAServerThatAllowsNoStream() throws {
        let server = try FrameServer { connection, frame in
            if frame.isHead { connection.allowNoStreams(refusing: frame.stream) }
        }
        var configuration = HTTPConfiguration()
        configuration.connectionLimits.connectTimeout = .milliseconds(100)
        let handler = HTTPHandler(configuration: configuration)
        for client in [run(try server.request(), on: handler), run(try server.request(), on: handler)] {
            #expect(client.error?.code == .timedOut)
            #expect(client.error?.message.contains("SETTINGS_MAX_CONCURRENT_STREAMS is 0") == true, "\(client.events)")
        }
    }

    /// The client must send the reset of the cancelled stream before the next request, because the server allows only
    /// one stream.
    @Test func cancelledLoadFreesItsStreamForTheNextLoad() throws {
        let server = try FrameServer(maximumStreams: 1) { connection, frame in
            guard frame.isHead, connection.path == "/" else { return }
            connection.respond(frame.stream)
        }
        let handler = HTTPHandler()
        #expect(run(try server.request(), on: handler).error == nil)
        for _ in 0..<20 {
            let (_, hangingLoad) = start(try server.request("/hanging"), on: handler)
            server.wait { $0.openStreamCount == 1 }
            let (client, _) = start(try server.request(), on: handler)
            hangingLoad.stopLoading()
            client.wait { $0.last?.isEnd == true }
            #expect(client.events.last == .finished)
        }
        #expect(server.counts.connectionCount == 1)
    }

    @Test func idleConnectionSendsGoAway() async throws {
        let server = try FrameServer { connection, frame in
            if frame.endsRequest { connection.respond(frame.stream) }
        }
        var configuration = HTTPConfiguration()
        configuration.connectionLimits.idleTimeout = .milliseconds(20)
        let handler = HTTPHandler(configuration: configuration)
        #expect(run(try server.request(), on: handler).error == nil)
        try await server.server.waitUntilClosed()
        #expect(server.counts.goAwayCount == 1)
        #expect(run(try server.request(), on: handler).error == nil)
        #expect(server.counts.connectionCount == 2)
    }

    /// Runs a thousand loads on one connection, and cancels a third of them at random moments. The other loads finish,
    /// and no stream remains open.
    @Test func cancelledLoadsLeaveNoStreamOpen() throws {
        let body = [UInt8](repeating: 9, count: 20_000)
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            connection.respond(frame.stream, endsStream: false)
            connection.send(frame.stream, body)
        }
        let handler = HTTPHandler()
        #expect(run(try server.request(), on: handler).error == nil)
        var generator = SeededGenerator(seed: 5)
        var cancelledClients: [RecordingClient] = []
        var uncancelledClients: [RecordingClient] = []
        var loadsToStop: [any ProtocolLoad] = []
        for number in 0..<1000 {
            let (client, load) = start(try server.request("/\(number)"), on: handler)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                cancelledClients.append(client)
                loadsToStop.append(load)
            } else {
                uncancelledClients.append(client)
            }
            while loadsToStop.count > 20 { loadsToStop.remove(at: Int.random(in: 0..<loadsToStop.count, using: &generator)).stopLoading() }
        }
        for load in loadsToStop { load.stopLoading() }
        for client in uncancelledClients { client.wait { $0.last?.isEnd == true } }
        #expect(uncancelledClients.allSatisfy { $0.events.last == .finished && $0.bytes.count == body.count })
        #expect(cancelledClients.allSatisfy { $0.error == nil })
        server.wait { $0.openStreamCount == 0 }
        #expect(run(try server.request(), on: handler).error == nil)
        #expect(server.counts.connectionCount == 1)
    }

    /// The server stops sending to a paused load at the window of its stream. Another load does not wait for the paused
    /// loads.
    @Test func pausedLoadsDoNotStopOtherLoads() throws {
        let size = 2 << 20
        let piece = [UInt8](repeating: 3, count: 64 << 10)
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            connection.respond(frame.stream, endsStream: false)
            for index in 1...(size / piece.count) { connection.send(frame.stream, piece, endsStream: index == size / piece.count) }
        }
        let handler = HTTPHandler()
        let paused = try (0..<64).map { _ in
            let client = RecordingClient { _, event in if case .data = event { .pause } else { .keepGoing } }
            let load = handler.makeLoad(for: try server.request(), cachedResponse: nil, client: client)
            load.startLoading()
            return (client: client, load: load)
        }
        let window = HTTP2ReceiveWindow.streamStart
        server.wait { counts in counts.sentContentBytes.count(where: { $0.value >= window }) == 64 }
        let other = run(try server.request(), on: handler)
        #expect(other.bytes.count == size)
        #expect(server.counts.sentContentBytes.count(where: { $0.value == window }) == 64)
        #expect(server.counts.connectionCount == 1)

        for (client, load) in paused {
            var handledCount = 0
            while true {
                client.wait { $0.count > handledCount }
                handledCount = client.events.count
                if client.events.last?.isEnd == true { break }
                load.resumeLoading()
            }
            #expect(client.events.last == .finished)
            #expect(client.bytes.count == size)
        }
    }

    /// As over HTTP/1.1, the byte E9 in a Location field becomes `%E9` in the URL of the redirect.
    @Test func redirectKeepsTheBytesOfItsLocation() async throws {
        let server = try FrameServer { connection, frame in
            guard frame.endsRequest else { return }
            guard connection.path == "/" else { return connection.respond(frame.stream) }
            let fields = ServerFrames.fields([(":status", "302")]) + ServerFrames.field("location", Array("/caf".utf8) + [0xE9])
            connection.respond(frame.stream, ServerFrames.frame(1, flags: 5, stream: frame.stream, fields))
        }
        let (_, response) = try await Loader.http().data(for: server.request())
        #expect(response.status?.code == 200)
        #expect("\(response.url)".hasSuffix("/caf%E9"), "\(response.url)")
    }

    @Test func uploadIsLimitedByTheServersWindow() throws {
        let receivedByteCount = ConditionLock(0)
        let server = try FrameServer { connection, frame in
            if frame.type == 0 { receivedByteCount.withLockBroadcasting { $0 += frame.payload.count } }
            if frame.isHead { connection.respond(frame.stream, endsStream: false) }
        }
        var request = try server.request()
        request.method = .put
        request.body = .bytes([UInt8](repeating: 1, count: 4 << 20))
        var configuration = HTTPConfiguration()
        configuration.expectContinue.bodySizeThreshold = nil
        let (client, load) = start(request, on: HTTPHandler(configuration: configuration))
        // The server sends no WINDOW_UPDATE. It receives the bytes of the first window, and then the client waits.
        receivedByteCount.wait { $0 == 65_535 ? () : nil }
        #expect(!client.events.contains(.step(.requestSent)))
        load.stopLoading()
        server.wait { $0.openStreamCount == 0 }
        #expect(server.server.openConnections == 1)
    }
}
