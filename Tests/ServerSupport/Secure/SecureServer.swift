// SPDX-License-Identifier: Apache-2.0

/// A TLS server in the process of the test. It uses OpenSSL and its own threads, and shares no code with the tested
/// code.
///
/// ``stop()`` closes all connections and returns after all threads have ended. `deinit` does the same.
package final class SecureServer: Sendable {
    package enum Event: Hashable, Sendable {
        case connected
        /// Precedes ``secured(_:)``. The value is the server name that the client sent (RFC 6066 §3).
        case named(String?)
        /// Precedes ``secured(_:)`` if the client resumed a session.
        case resumed
        /// The handshake succeeded. The value is the common name of the client's certificate.
        case secured(String?)
        /// The handshake failed, or the client sent an alert. The value is OpenSSL's reason.
        case failed(String)
        /// The first byte of a request arrived. Over TLS, the server has decrypted it.
        case requestBegan
        case closed
    }

    package static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    package let port: Int
    private let loopback: Loopback
    private let delegate: SecureConnectionDelegate
    private let acceptor: ConnectionAcceptor

    /// - Parameter settings: `nil` disables TLS.
    package init(_ settings: Settings?, _ behaviour: Behaviour = .respond(SecureServer.hello), on loopback: Loopback = .ipv4) throws {
        self.loopback = loopback
        delegate = SecureConnectionDelegate(try settings.map(SecureContext.init), prelude: settings?.prelude ?? [], behaviour)
        acceptor = try ConnectionAcceptor(on: loopback, port: 0, for: delegate, accepting: .max)
        port = acceptor.port
    }

    deinit { acceptor.close() }

    package var url: String { url(host: loopback.host) }

    package func url(host: String) -> String { "https://\(host):\(port)/" }

    /// Closes all connections and waits until all threads have ended.
    ///
    /// - Throws: `CancellationError`
    package func stop() async throws { try await acceptor.closeAsync() }

    /// Closes the open connections. The server still accepts new connections.
    package func closeAll() throws { try acceptor.closeConnections() }

    // MARK: Events

    /// The events of all connections, in order.
    package var events: [Event] { delegate.events.state }

    package func count(_ event: Event) -> Int { events.count { $0 == event } }

    /// Waits until the event has occurred `times` times.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func wait(for event: Event, times: Int = 1) async throws {
        try await delegate.events.wait { events in events.count { $0 == event } >= times }
    }

    /// Waits until a handshake has failed and the server has sent the alert.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func waitForFailure() async throws {
        try await delegate.events.wait { events in events.contains { if case .failed = $0 { true } else { false } } }
    }
}

/// State that the connections of a server share.
private final class SecureConnectionDelegate: ConnectionDelegate {
    let events = Observed<[SecureServer.Event]>([])
    private let context: SecureContext?
    private let behaviour: SecureServer.Behaviour
    private let prelude: [ScriptedServer.Step]

    init(_ context: SecureContext?, prelude: [ScriptedServer.Step], _ behaviour: SecureServer.Behaviour) {
        self.context = context
        self.prelude = prelude
        self.behaviour = behaviour
    }

    func didAccept(_ index: Int) { record(.connected) }

    func didClose(_ index: Int) { record(.closed) }

    func serve(_ socket: ServerSocket, _ index: Int) throws {
        guard let context else { return try run(on: socket, over: socket, applicationProtocol: nil) }
        var preludeRunner = ScriptRunner(socket, over: socket)
        let wire = try SecureWire(socket, context, received: try preludeRunner.runPrelude(prelude))
        do {
            try wire.handshake()
            record(.named(wire.serverName))
            if wire.isResumed { record(.resumed) }
            record(.secured(wire.clientName))
            try run(on: socket, over: wire, applicationProtocol: wire.applicationProtocol)
        } catch ScriptEnd.serverIsClosed {
            wire.sendCloseNotifyWithoutBlocking()
        } catch let failure as SecureWire.Failure {
            record(.failed(failure.reason))
            // A close with unread data would send a reset, and the client could lose the alert.
            socket.endSending()
            while try !socket.receive().isEmpty {}
        } catch let error as ServerError {
            record(.failed(error.description))
        }
    }

    private func run(on socket: ServerSocket, over wire: any Wire, applicationProtocol: String?) throws {
        var runner = ScriptRunner(socket, over: wire)
        try runner.run(behaviour.steps(applicationProtocol: applicationProtocol) { [self] in record(.requestBegan) })
    }

    private func record(_ event: SecureServer.Event) { events.update { $0.append(event) } }
}
