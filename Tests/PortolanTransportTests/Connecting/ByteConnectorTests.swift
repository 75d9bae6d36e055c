// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanCore
@testable import PortolanTransport

/// Byte connections for a protocol other than HTTP.
@Suite("Byte connections", .timeLimit(.minutes(1))) struct ByteConnectorTests {
    /// A request head and more bytes than fit in the buffers of two sockets.
    private static let large = [UInt8]("start\r\n\r\n".utf8) + [UInt8](repeating: 0x2A, count: 24 << 20)

    enum Security: CaseIterable { case clear, tls }

    @Test("After finishWriting(), all written bytes arrive, and bytes from the server are still received", arguments: Security.allCases)
    func halfClose(security: Security) async throws {
        let isFinished = try Gate()
        let readAll = SecureServer.Behaviour.script([
            .wait(isFinished), .receive(Self.large.count - 9), .receiveToEnd, .send(text: "got it all"),
        ])
        let server = try await security == .tls ? SecureServer("good", readAll) : SecureServer(nil, readAll)
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: security == .tls ? [] : nil).get()
        #expect((opened.value.security != nil) == (security == .tls))
        client.runOnLoop {
            opened.value.transport.setReceiver(client)
            opened.value.transport.write(Self.large)
            #expect(!opened.value.transport.isWritable)
            opened.value.transport.finishWriting()
            #expect(!opened.value.transport.isWritable)
            opened.value.transport.write([UInt8]("never".utf8))
            isFinished.open()
        }
        #expect(try await client.textAtEnd() == "got it all")
        try await server.stop()
    }

    @Test("TLS starts on an open connection, after all bytes that were written in clear")
    func startTLS() async throws {
        let isWritten = try Gate()
        // The client's cleartext bytes fill the socket before the server reads any.
        let server = try await SecureServer("good") {
            $0.prelude = [.send(text: "ready\r\n"), .wait(isWritten), .receive(Self.large.count)]
        }
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { opened.value.transport.setReceiver(client) }
        try await client.wait(for: "ready\r\n")
        let outcome = try await client.startTLS(opened, port: server.port) {
            opened.value.transport.write(Self.large)
            #expect(!opened.value.transport.isWritable)
            isWritten.open()
        }
        guard case .secured(let security) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(security.version == "TLSv1.3" && security.applicationProtocol == nil && !security.isResumed)
        client.runOnLoop {
            opened.value.transport.setReceiver(client)
            opened.value.transport.write([UInt8]("GET\r\n\r\n".utf8))
        }
        try await client.wait(for: "ready\r\n" + SecureServer.hello)
        client.runOnLoop { opened.value.transport.close() }
        try await server.stop()
    }

    @Test("TLS that starts later checks the server's certificate")
    func startTLSWithAnotherName() async throws {
        let server = try await SecureServer("misnamed") { $0.prelude = [.send(text: "ready")] }
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { opened.value.transport.setReceiver(client) }
        try await client.wait(for: "ready")
        let outcome = try await client.startTLS(opened, port: server.port) {}
        guard case .refused(let error) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(error.code == .certificateNotTrusted)
        client.runOnLoop { opened.value.transport.close() }
        _ = try await client.textAtEnd()
        try await server.stop()
    }

    /// An attacker on the path could add bytes after the server's agreement to start TLS. The client must not treat
    /// these bytes as protected.
    @Test("Cleartext bytes after the server's agreement fail the handshake")
    func startTLSWithInjectedBytes() async throws {
        let isRequested = try Gate()
        let server = try await SecureServer("good") {
            $0.prelude = [.send(text: "ready"), .wait(isRequested), .send(text: "injected")]
        }
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { opened.value.transport.setReceiver(client) }
        try await client.wait(for: "ready")
        let outcome = try await client.startTLS(opened, port: server.port) { isRequested.open() }
        guard case .failed(let error) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(error.code == .secureConnectionFailed)
        #expect(client.text == "ready")
        client.runOnLoop { opened.value.transport.close() }
        try await server.stop()
    }

    /// epoll(7) reports the end of a socket repeatedly.
    @Test("A server that closes in the handshake does not keep the event loop busy", .timeLimit(.minutes(1)))
    func closedInTheHandshake() async throws {
        let isRequested = try Gate()
        let server = try ScriptedServer([.wait(isRequested), .receive(5), .halfClose, .receiveToEnd])
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { opened.value.transport.setReceiver(client) }
        let outcome = try await client.startTLS(opened, port: server.port) { isRequested.open() }
        guard case .failed = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(await client.isQuiet())
        client.runOnLoop { opened.value.transport.close() }
        #expect(try await client.textAtEnd().isEmpty)
    }

    @Test("Starting TLS on a closed connection fails, also before the handshake has begun", arguments: [true, false])
    func startTLSOnAClosedConnection(isClosedFirst: Bool) async throws {
        let server = try ScriptedServer([.stall])
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: nil).get()
        let outcome = try await client.startTLS(opened, port: server.port) {
            if isClosedFirst { opened.value.transport.close() }
        } then: {
            opened.value.transport.close()
        }
        guard case .failed(let error) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(error.code == .cancelled)
    }

    @Test("TLS can start on a thread that waits for the connection")
    func startTLSInAWaitingThread() async throws {
        let isWaiting = try Gate()
        let server = try await SecureServer("good") { $0.prelude = [.wait(isWaiting), .send(text: "ready")] }
        let client = try Client()
        // The context is ready, so the handshake begins in the same event loop iteration as the request for it.
        _ = try await client.context().get()
        let opened = try await client.open(to: server.port, offering: nil).get()
        let isSecured = try Gate()
        client.runOnLoop { opened.value.transport.setReceiver(client) }
        client.whenReceiving("ready") { [weak client] in
            client?.startTLS(on: opened, port: server.port) { outcome in
                if case .secured = outcome { isSecured.open() }
            }
        }
        _ = try await inOwnThread {
            client.runOnLoop {
                opened.value.transport.drive(for: LoadWaiter()) {
                    isWaiting.open()
                    return true
                }
            }
        }
        try await isSecured.wait()
        client.runOnLoop {
            opened.value.transport.setReceiver(client)
            opened.value.transport.write([UInt8]("GET\r\n\r\n".utf8))
        }
        try await client.wait(for: "ready" + SecureServer.hello)
        client.runOnLoop { opened.value.transport.close() }
        try await server.stop()
    }

    @Test("The tickets of a resumed session keep the time of the certificate's verification")
    func resumedTicketKeepsItsTime() async throws {
        let server = try await SecureServer("good")
        let client = try Client()
        let peer = Client.peer("127.0.0.1", server.port)
        let tickets = try await client.context().get().tickets
        var earlierTime: Int64 = 0
        for isResumed in [false, true] {
            let opened = try await client.open(to: server.port, offering: []).get()
            #expect(opened.value.security?.isResumed == isResumed)
            // TLS 1.3 sends tickets after the handshake.
            client.runOnLoop {
                opened.value.transport.setReceiver(client)
                opened.value.transport.write([UInt8]("GET\r\n\r\n".utf8))
            }
            try await client.wait(for: String(repeating: SecureServer.hello, count: isResumed ? 2 : 1))
            client.runOnLoop { opened.value.transport.close() }
            let ticket = try #require(tickets.ticket(for: peer, now: Int64(Date().timeIntervalSince1970)))
            if isResumed {
                #expect(ticket.evaluation.time == earlierTime)
            } else {
                tickets.removeAll(for: peer)
                earlierTime = ticket.evaluation.time - 3600
                let evaluation = ServerTrustEvaluation(chain: ticket.evaluation.chain, error: nil, time: earlierTime)
                tickets.add(TLSTicket(session: ticket.session, evaluation: evaluation), for: peer)
            }
        }
        try await server.stop()
    }

    @Test("Each step of a connection attempt is reported once, in order")
    func steps() async throws {
        let server = try await SecureServer("good")
        let client = try Client()
        let opened = try await client.open(to: server.port, offering: ["http/1.1"], host: "localhost").get()
        #expect(client.steps == [.domainResolved, .connected, .tlsEstablished])
        #expect(opened.value.security?.applicationProtocol == "http/1.1")
        #expect(opened.value.remoteAddress == "127.0.0.1:\(server.port)")
        client.runOnLoop { opened.value.transport.close() }
        try await server.stop()
    }
}

/// A client of byte connections. It has its own event loop and connector, and records the bytes that arrive.
private final class Client: ByteConnectionReceiver, Sendable {
    private struct State {
        var text = ""
        var hasEnded = false
        var steps: [LoadStep] = []
    }

    private let state = Observed(State())
    private let contexts: TLSContextCache
    private let connector: ByteConnector
    private let trigger = Mutex<(text: String, body: @Sendable () -> Void)?>(nil)
    let isIdle = false

    init() throws {
        var configuration = TransportConfiguration()
        configuration.tls.trustRoots = .only([.file(path: try certificates().path("authority.pem"))])
        contexts = TLSContextCache(configuration.tls)
        connector = ByteConnector(configuration, contexts: contexts, on: try SocketEventLoop())
    }

    func context() async -> Result<TLSContext, LoadError> {
        await withCheckedContinuation { continuation in
            contexts.context(offering: []) { continuation.resume(returning: $0) }
        }
    }

    /// Calls `body` on the event loop when `text` arrives.
    func whenReceiving(_ text: String, _ body: @escaping @Sendable () -> Void) { trigger.withLock { $0 = (text, body) } }

    var text: String { state.state.text }
    var steps: [LoadStep] { state.state.steps }

    func isQuiet() async -> Bool { await connector.loop.isQuiet() }
    func runOnLoop<Value>(_ body: () -> Value) -> Value { connector.loop.runExclusively(body) }

    func open(to port: Int, offering protocols: [String]?, host: String = "127.0.0.1") async -> Result<LoopBound<OpenConnection>, LoadError>
    {
        let endpoint = Endpoint(Self.peer(host, port), applicationProtocols: protocols)
        return await withCheckedContinuation { continuation in
            connector.loop.execute { [self] in
                var attempt: ByteConnectionAttempt?
                attempt = connector.attempt(to: endpoint, for: nil) { [self] step in
                    state.update { $0.steps.append(step) }
                } completion: { result in
                    withExtendedLifetime(attempt) { continuation.resume(returning: result.map(LoopBound.init)) }
                    attempt = nil
                }
                attempt?.start()
            }
        }
    }

    static func peer(_ host: String, _ port: Int) -> TLSPeer { TLSPeer(host: host, port: port, description: "the server") }

    /// Starts TLS and waits for the outcome. `before` and `after` run on the event loop directly before and after
    /// `startTLS`.
    func startTLS(
        _ opened: LoopBound<OpenConnection>, port: Int, after before: @escaping @Sendable () -> Void,
        then after: @escaping @Sendable () -> Void = {}
    ) async throws -> LoopBound<TLSHandshake.Outcome> {
        let outcome = Observed<LoopBound<TLSHandshake.Outcome>?>(nil)
        connector.loop.execute { [self] in
            before()
            startTLS(on: opened, port: port) { result in
                let bound = LoopBound(result)
                outcome.update { $0 = bound }
            }
            after()
        }
        try await outcome.wait { $0 != nil }
        return try #require(outcome.state)
    }

    func startTLS(on opened: LoopBound<OpenConnection>, port: Int, _ completion: @escaping (TLSHandshake.Outcome) -> Void) {
        _ = connector.startTLS(on: opened.value.transport, with: Self.peer("127.0.0.1", port), completion: completion)
    }

    func wait(for text: String) async throws { try await state.wait { $0.text == text } }

    func textAtEnd() async throws -> String {
        try await state.wait { $0.hasEnded }
        return text
    }

    func didReceive(_ bytes: borrowing RawSpan) {
        let text = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        state.update { $0.text += text }
        let body = trigger.withLock { trigger in
            guard trigger?.text == text else { return nil as (@Sendable () -> Void)? }
            defer { trigger = nil }
            return trigger?.body
        }
        body?()
    }
    func transportIsWritable() {}
    func transportDidEnd(_ failure: SocketError?) { state.update { $0.hasEnded = true } }
}
