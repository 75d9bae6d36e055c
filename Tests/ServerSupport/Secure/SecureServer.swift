// SPDX-License-Identifier: Apache-2.0

/// A TLS server in this process for one test, on OpenSSL and its own threads. It responds to each request whose head it
/// can read. It shares no code with the tested code.
///
/// ``stop()`` returns after all connections and threads have ended. `deinit` ends them at the latest.
package final class SecureServer: Sendable {
    package enum Event: Hashable, Sendable {
        case connected
        /// Accompanies ``secured(_:)``, with the name that the client indicated (RFC 6066 §3).
        case named(String?)
        /// Accompanies ``secured(_:)`` if the client resumed a session.
        case resumed
        /// The handshake succeeded, with the common name of the client's certificate.
        case secured(String?)
        /// The handshake failed, or the client sent an alert; with OpenSSL's reason.
        case failed(String)
        /// The first byte of a request arrived, decrypted if the connection uses TLS.
        case asked
        case closed
    }

    package static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    package let port: Int
    private let loopback: Loopback
    private let host: SecureHost
    private let acceptor: ConnectionAcceptor

    /// - Parameter settings: `nil` disables TLS.
    package init(_ settings: Settings?, _ behaviour: Behaviour = .answer(SecureServer.hello), on loopback: Loopback = .ipv4) throws {
        self.loopback = loopback
        host = SecureHost(try settings.map(SecureContext.init), prelude: settings?.prelude ?? [], behaviour)
        acceptor = try ConnectionAcceptor(on: loopback, port: 0, for: host, accepting: .max)
        port = acceptor.port
    }

    deinit { acceptor.close() }

    package var url: String { url(host: loopback.host) }

    package func url(host: String) -> String { "https://\(host):\(port)/" }

    /// Closes all connections and waits until all threads have ended.
    ///
    /// - Throws: `CancellationError`
    package func stop() async throws { try await acceptor.end() }

    /// Closes the current connections.
    package func closeAll() throws { try acceptor.closeConnections() }

    // MARK: What happened

    /// The events of all connections, in order.
    package var events: [Event] { host.events.state }

    package func count(_ event: Event) -> Int { events.count { $0 == event } }

    /// Waits until the event has occurred `times` times.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first, so that a test over its time limit ends.
    package func wait(for event: Event, times: Int = 1) async throws {
        try await host.events.wait { events in events.count { $0 == event } >= times }
    }

    /// Waits until a handshake has failed. The alert has been sent by then.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first, so that a test over its time limit ends.
    package func waitForFailure() async throws {
        try await host.events.wait { events in events.contains { if case .failed = $0 { true } else { false } } }
    }
}

/// State that the connections of a server share.
private final class SecureHost: ConnectionHost {
    let events = Observed<[SecureServer.Event]>([])
    private let context: SecureContext?
    private let behaviour: SecureServer.Behaviour

    private let prelude: [ScriptedServer.Step]

    init(_ context: SecureContext?, prelude: [ScriptedServer.Step], _ behaviour: SecureServer.Behaviour) {
        self.context = context
        self.prelude = prelude
        self.behaviour = behaviour
    }

    func didAccept(_ index: Int) { note(.connected) }

    func didClose(_ index: Int) { note(.closed) }

    func converse(on socket: ServerSocket, _ index: Int) throws {
        guard let context else { return try run(on: socket, over: socket, applicationProtocol: nil) }
        var clear = Conversation(socket, over: socket)
        let wire = try SecureWire(socket, context, received: try clear.begin(prelude))
        do {
            try wire.handshake()
            note(.named(wire.serverName))
            if wire.isResumed { note(.resumed) }
            note(.secured(wire.peerName))
            try run(on: socket, over: wire, applicationProtocol: wire.applicationProtocol)
        } catch ConversationEnd.serverIsClosed {
            wire.sendCloseNotifyWithoutBlocking()
        } catch let failure as SecureWire.Failure {
            note(.failed(failure.reason))
            // Closing with unread data would send a reset, which may overtake the alert.
            socket.endSending()
            while try !socket.receive().isEmpty {}
        } catch let error as ServerError {
            note(.failed(error.description))
        }
    }

    private func run(on socket: ServerSocket, over wire: any Wire, applicationProtocol: String?) throws {
        var conversation = Conversation(socket, over: wire)
        try conversation.run(behaviour.steps(applicationProtocol: applicationProtocol) { [self] in note(.asked) })
    }

    private func note(_ event: SecureServer.Event) { events.update { $0.append(event) } }
}
