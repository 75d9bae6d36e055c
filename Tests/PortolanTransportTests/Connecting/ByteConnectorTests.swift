// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanCore
@testable import PortolanTransport

/// Byte connections, as a protocol other than HTTP uses them.
@Suite("Byte connections", .timeLimit(.minutes(1))) struct ByteConnectorTests {
    /// A request head and more bytes than fit in the buffers of two sockets.
    private static let largeRequest = [UInt8]("start\r\n\r\n".utf8) + [UInt8](repeating: 0x2A, count: 24 << 20)

    enum Security: CaseIterable { case cleartext, tls }

    @Test("After finishWriting(), all written bytes arrive, and bytes from the server are still received", arguments: Security.allCases)
    func bytesAreReceivedAfterFinishWriting(security: Security) async throws {
        let isFinished = try Gate()
        let behaviour = SecureServer.Behaviour.script([
            .wait(isFinished), .receive(Self.largeRequest.count - 9), .receiveToEnd, .send(text: "got it all"),
        ])
        let server = try await security == .tls ? SecureServer("good", behaviour) : SecureServer(nil, behaviour)
        let client = try Client()
        let connection = try await client.open(to: server.port, offering: security == .tls ? [] : nil).get()
        #expect((connection.value.security != nil) == (security == .tls))
        client.runOnLoop {
            connection.value.transport.setReceiver(client)
            connection.value.transport.write(Self.largeRequest)
            #expect(!connection.value.transport.isWritable)
            connection.value.transport.finishWriting()
            #expect(!connection.value.transport.isWritable)
            connection.value.transport.write([UInt8]("never".utf8))
            isFinished.open()
        }
        #expect(try await client.textAtEnd() == "got it all")
        try await server.stop()
    }

    @Test("TLS starts on an open connection after all cleartext bytes were sent")
    func startTLS() async throws {
        let isWritten = try Gate()
        // The client's cleartext bytes fill the socket before the server reads any.
        let server = try await SecureServer("good") {
            $0.prelude = [.send(text: "ready\r\n"), .wait(isWritten), .receive(Self.largeRequest.count)]
        }
        let client = try Client()
        let connection = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { connection.value.transport.setReceiver(client) }
        try await client.wait(for: "ready\r\n")
        let outcome = try await client.startTLS(connection, port: server.port) {
            connection.value.transport.write(Self.largeRequest)
            #expect(!connection.value.transport.isWritable)
            isWritten.open()
        }
        guard case .secured(let security) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(security.version == "TLSv1.3" && security.applicationProtocol == nil && !security.isResumed)
        client.runOnLoop {
            connection.value.transport.setReceiver(client)
            connection.value.transport.write([UInt8]("GET\r\n\r\n".utf8))
        }
        try await client.wait(for: "ready\r\n" + SecureServer.hello)
        client.runOnLoop { connection.value.transport.close() }
        try await server.stop()
    }

    @Test("TLS that starts on an open connection checks the server's certificate")
    func startTLSWithTheCertificateOfAnotherHost() async throws {
        let server = try await SecureServer("misnamed") { $0.prelude = [.send(text: "ready")] }
        let client = try Client()
        let connection = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { connection.value.transport.setReceiver(client) }
        try await client.wait(for: "ready")
        let outcome = try await client.startTLS(connection, port: server.port) {}
        guard case .refused(let error) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(error.code == .certificateNotTrusted)
        client.runOnLoop { connection.value.transport.close() }
        _ = try await client.textAtEnd()
        try await server.stop()
    }

    @Test("The service type of the configuration is that of the connection's socket")
    func serviceTypeOfTheConnection() async throws {
        let server = try await SecureServer("good") { $0.prelude = [.send(text: "ready")] }
        let client = try Client { $0.networkServiceType = .background }
        let connection = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { connection.value.transport.setReceiver(client) }
        #expect(client.runOnLoop { connection.value.transport.socket.serviceField() } == 0x04)
        try await client.wait(for: "ready")
        client.runOnLoop { connection.value.transport.close() }
        #expect(try await client.textAtEnd() == "ready")
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
        let connection = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { connection.value.transport.setReceiver(client) }
        try await client.wait(for: "ready")
        let outcome = try await client.startTLS(connection, port: server.port) { isRequested.open() }
        guard case .failed(let error) = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(error.code == .secureConnectionFailed)
        #expect(client.text == "ready")
        client.runOnLoop { connection.value.transport.close() }
        try await server.stop()
    }

    /// epoll(7) reports the end of a socket again and again.
    @Test("A server that closes in the handshake does not keep the event loop busy", .timeLimit(.minutes(1)))
    func closedInTheHandshake() async throws {
        let isRequested = try Gate()
        let server = try ScriptedServer([.wait(isRequested), .receive(5), .halfClose, .receiveToEnd])
        let client = try Client()
        let connection = try await client.open(to: server.port, offering: nil).get()
        client.runOnLoop { connection.value.transport.setReceiver(client) }
        let outcome = try await client.startTLS(connection, port: server.port) { isRequested.open() }
        guard case .failed = outcome.value else {
            Issue.record("\(outcome.value)")
            return
        }
        #expect(await client.isQuiet())
        client.runOnLoop { connection.value.transport.close() }
        #expect(try await client.textAtEnd().isEmpty)
    }

    @Test("TLS that starts on a connection that is closed before or during the handshake fails", arguments: [true, false])
    func startTLSOnAClosedConnection(isClosedFirst: Bool) async throws {
        let server = try ScriptedServer([.stall])
        let client = try Client()
        let connection = try await client.open(to: server.port, offering: nil).get()
        let outcome = try await client.startTLS(connection, port: server.port) {
            if isClosedFirst { connection.value.transport.close() }
        } then: {
            connection.value.transport.close()
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
        // With the context in the cache, the handshake begins in the same loop iteration as the call of `startTLS`.
        _ = try await client.context().get()
        let connection = try await client.open(to: server.port, offering: nil).get()
        let isSecured = try Gate()
        client.runOnLoop { connection.value.transport.setReceiver(client) }
        client.whenReceiving("ready") { [weak client] in
            client?.startTLS(on: connection, port: server.port) { outcome in
                if case .secured = outcome { isSecured.open() }
            }
        }
        _ = try await inOwnThread {
            client.runOnLoop {
                connection.value.transport.drive(for: LoadWaiter()) {
                    isWaiting.open()
                    return true
                }
            }
        }
        try await isSecured.wait()
        client.runOnLoop {
            connection.value.transport.setReceiver(client)
            connection.value.transport.write([UInt8]("GET\r\n\r\n".utf8))
        }
        try await client.wait(for: "ready" + SecureServer.hello)
        client.runOnLoop { connection.value.transport.close() }
        try await server.stop()
    }

    @Test("The ticket of a resumed session has the time at which the certificate was first verified")
    func resumedTicketKeepsItsTime() async throws {
        let server = try await SecureServer("good")
        let client = try Client()
        let peer = Client.peer("127.0.0.1", server.port)
        let tickets = try await client.context().get().tickets
        var earlierTime: Int64 = 0
        for isResumed in [false, true] {
            let connection = try await client.open(to: server.port, offering: []).get()
            #expect(connection.value.security?.isResumed == isResumed)
            // TLS 1.3 sends tickets after the handshake.
            client.runOnLoop {
                connection.value.transport.setReceiver(client)
                connection.value.transport.write([UInt8]("GET\r\n\r\n".utf8))
            }
            try await client.wait(for: String(repeating: SecureServer.hello, count: isResumed ? 2 : 1))
            client.runOnLoop { connection.value.transport.close() }
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
    func eachConnectionStepIsReportedOnceInOrder() async throws {
        let server = try await SecureServer("good")
        let client = try Client()
        let connection = try await client.open(to: server.port, offering: ["http/1.1"], host: "localhost").get()
        #expect(client.steps == [.domainResolved, .connected, .tlsEstablished])
        #expect(connection.value.security?.applicationProtocol == "http/1.1")
        #expect(connection.value.remoteAddress == "127.0.0.1:\(server.port)")
        client.runOnLoop { connection.value.transport.close() }
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
    private let trigger = Mutex<(text: String, action: @Sendable () -> Void)?>(nil)
    let isIdle = false

    init(_ change: (inout TransportConfiguration) -> Void = { _ in }) throws {
        var configuration = TransportConfiguration()
        change(&configuration)
        configuration.tls.trustRoots = .only([.file(path: try certificates().path("authority.pem"))])
        contexts = TLSContextCache(configuration.tls)
        connector = ByteConnector(configuration, contexts: contexts, on: try SocketEventLoop())
    }

    /// The TLS context without ALPN, from the cache of the connector.
    func context() async -> Result<TLSContext, LoadError> {
        await withCheckedContinuation { continuation in
            contexts.context(offering: []) { continuation.resume(returning: $0) }
        }
    }

    /// Calls `action` on the event loop when `text` arrives.
    func whenReceiving(_ text: String, _ action: @escaping @Sendable () -> Void) { trigger.withLock { $0 = (text, action) } }

    var text: String { state.state.text }
    var steps: [LoadStep] { state.state.steps }

    func isQuiet() async -> Bool { await connector.loop.isQuiet() }
    func runOnLoop<Value>(_ operation: () -> Value) -> Value { connector.loop.runExclusively(operation) }

    /// Opens a connection. TLS starts immediately unless `protocols` is `nil`.
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
        _ connection: LoopBound<OpenConnection>, port: Int, after before: @escaping @Sendable () -> Void,
        then after: @escaping @Sendable () -> Void = {}
    ) async throws -> LoopBound<TLSHandshake.Outcome> {
        let outcome = Observed<LoopBound<TLSHandshake.Outcome>?>(nil)
        connector.loop.execute { [self] in
            before()
            startTLS(on: connection, port: port) { result in
                let bound = LoopBound(result)
                outcome.update { $0 = bound }
            }
            after()
        }
        try await outcome.wait { $0 != nil }
        return try #require(outcome.state)
    }

    func startTLS(on connection: LoopBound<OpenConnection>, port: Int, _ completion: @escaping (TLSHandshake.Outcome) -> Void) {
        _ = connector.startTLS(on: connection.value.transport, with: Self.peer("127.0.0.1", port), completion: completion)
    }

    /// Waits until exactly `text` has arrived.
    func wait(for text: String) async throws { try await state.wait { $0.text == text } }

    /// Waits for the end of the connection, and returns all text that has arrived.
    func textAtEnd() async throws -> String {
        try await state.wait { $0.hasEnded }
        return text
    }

    func didReceive(_ bytes: borrowing RawSpan) {
        let text = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        state.update { $0.text += text }
        let action = trigger.withLock { trigger in
            guard trigger?.text == text else { return nil as (@Sendable () -> Void)? }
            defer { trigger = nil }
            return trigger?.action
        }
        action?()
    }
    func transportIsWritable() {}
    func transportDidEnd(_ failure: SocketError?) { state.update { $0.hasEnded = true } }
}
