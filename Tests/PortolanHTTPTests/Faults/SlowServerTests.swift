// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanTestSupport
import ServerSupport
import Testing

/// Servers that send few bytes, and never complete the response. Time limits end the loads. The test advances the
/// clock.
@Suite("Slow servers", .timeLimit(.minutes(10))) struct SlowServerTests {
    private let clock = ManualClock()

    private func loader(idle: Duration?, total: Duration?) -> Loader {
        var http = HTTPConfiguration()
        http.proxies = .direct
        var configuration = Loader.Configuration()
        configuration.handlers = [HTTPHandler(configuration: http)]
        configuration.clock = clock
        configuration.timeouts = Timeouts(idle: idle, total: total)
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    private func expectTimeOut(_ delegate: RecordingDelegate, messageContains text: String) async {
        await delegate.ended()
        #expect(delegate.error?.code == .timedOut)
        #expect(delegate.error?.message.contains(text) == true, "\(delegate.error?.message ?? "")")
    }

    private static let head = "HTTP/1.1 200 OK\r\nX-Name: aaaaaaaa"

    @Test(arguments: [1, 5, 15, head.utf8.count])
    func totalTimeoutEndsALoadWithAnIncompleteHead(_ count: Int) async throws {
        let sent = try Gate()
        let server = try ScriptedServer([.receiveHead, .sendByteByByte(Array(Self.head.utf8.prefix(count))), .open(sent), .stall])
        let delegate = RecordingDelegate()
        let task = loader(idle: nil, total: .seconds(30)).task(for: try Request(server.url()), delegate: delegate)
        task.resume()
        try await sent.wait()
        clock.advance(by: .seconds(29))
        #expect(task.state == .running)
        clock.advance(by: .seconds(1))
        await expectTimeOut(delegate, messageContains: "took longer than its limit of 30.0 seconds")
        try await server.waitUntilClosed()
        #expect(clock.pendingTimerCount == 0)
    }

    /// A byte of a head does not restart the idle time, because it causes no event of the load.
    @Test func idleTimeoutEndsALoadWithAnIncompleteHead() async throws {
        let sent = try Gate()
        let server = try ScriptedServer([.receiveHead, .sendByteByByte(Array(Self.head.utf8)), .open(sent), .stall])
        let delegate = RecordingDelegate()
        loader(idle: .seconds(10), total: nil).task(for: try Request(server.url()), delegate: delegate).resume()
        try await sent.wait()
        clock.advance(by: .seconds(10))
        await expectTimeOut(delegate, messageContains: "for 10.0 seconds")
        try await server.waitUntilClosed()
    }

    @Test(arguments: ["Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n64\r\n", "\r\n"])
    func idleTimeoutEndsALoadWithAStalledBody(_ fields: String) async throws {
        let received = try Gate()
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\n\(fields)some"), .stall])
        let delegate = RecordingDelegate { event, _ in
            if case .data = event { received.open() }
            return .keepGoing
        }
        let task = loader(idle: .seconds(10), total: nil).task(for: try Request(server.url()), delegate: delegate)
        task.resume()
        try await received.wait()
        clock.advance(by: .seconds(9))
        #expect(task.state == .running)
        clock.advance(by: .seconds(1))
        await expectTimeOut(delegate, messageContains: "nothing came from")
        #expect(delegate.text == "some")
        try await server.waitUntilClosed()
    }

    /// Each byte of a body restarts the idle time, but not the total time.
    @Test func totalTimeoutEndsALoadWithASlowBody() async throws {
        let received = try (0..<7).map { _ in try Gate() }
        let requested = try (0..<7).map { _ in try Gate() }
        let body = zip(requested.indices, requested).flatMap {
            [ScriptedServer.Step.wait($1), .send([UInt8(truncatingIfNeeded: 0x61 + $0)])]
        }
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")] + body + [.stall])
        let delegate = RecordingDelegate { event, _ in
            if case .data(let bytes) = event, let first = bytes.first, (0x61..<0x68).contains(first) { received[Int(first) - 0x61].open() }
            return .keepGoing
        }
        let task = loader(idle: .seconds(10), total: .seconds(60)).task(for: try Request(server.url()), delegate: delegate)
        task.resume()
        for (requested, received) in zip(requested, received) {
            #expect(task.state == .running)
            requested.open()
            try await received.wait()
            clock.advance(by: .seconds(9))
        }
        await expectTimeOut(delegate, messageContains: "took longer than its limit of 60.0 seconds")
        #expect(delegate.text == "abcdefg")
        try await server.waitUntilClosed()
    }

    /// If the server reads nothing, the upload stops when the socket buffers are full.
    @Test func totalTimeoutEndsAnUploadThatTheServerDoesNotRead() async throws {
        let (connected, timedOut) = (try Gate(), try Gate())
        // After the time-out, the server reads the buffered bytes until the end of the connection.
        let server = try ScriptedServer([.open(connected), .wait(timedOut), .receiveToEnd])
        let delegate = RecordingDelegate()
        let request = try Request(server.url(), method: .put, body: .bytes([UInt8](repeating: 0, count: 64 << 20)))
        loader(idle: nil, total: .seconds(30)).task(for: request, delegate: delegate).resume()
        try await connected.wait()
        clock.advance(by: .seconds(30))
        await expectTimeOut(delegate, messageContains: "took longer than its limit of 30.0 seconds")
        timedOut.open()
        try await server.waitUntilClosed()
    }
}
