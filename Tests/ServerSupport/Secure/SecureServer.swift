// SPDX-License-Identifier: Apache-2.0

/// A server of TLS in this process, for one test, on OpenSSL and threads of its own: answers each request whose head it can read. It shares no code with
/// what it tests.
///
/// Everything of it has ended when ``stop()`` returns, and at the latest when it has gone.
package final class SecureServer: Sendable {
    package enum Event: Hashable, Sendable {
        case connected
        /// Beside ``secured(_:)``, with the name that the client has indicated (RFC 6066 §3).
        case named(String?)
        /// Beside ``secured(_:)``, where a session was taken up again.
        case resumed
        /// With the common name of the client's certificate.
        case secured(String?)
        /// What OpenSSL says: why the handshake failed, or what the client's alert was.
        case failed(String)
        /// The first byte of a request came, decrypted where there is TLS.
        case asked
        case closed
    }

    package static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    package let port: Int
    private let loopback: Loopback
    private let host: SecureHost
    private let floor: ServerFloor

    /// - Parameter settings: `nil` for no TLS.
    package init(_ settings: Settings?, _ behaviour: Behaviour = .answer(SecureServer.hello), on loopback: Loopback = .ipv4) throws {
        self.loopback = loopback
        host = SecureHost(try settings.map(SecureContext.init), prelude: settings?.prelude ?? [], behaviour)
        floor = try ServerFloor(on: loopback, port: 0, for: host, accepting: .max)
        port = floor.port
    }

    deinit { floor.close() }

    package var url: String { url(host: loopback.host) }

    package func url(host: String) -> String { "https://\(host):\(port)/" }

    /// Closes all its connections, and waits until its threads have ended.
    ///
    /// - Throws: `CancellationError`
    package func stop() async throws { try await floor.end() }

    /// Closes the connections that are there.
    package func closeAll() throws { try floor.closeConnections() }

    // MARK: What happened

    /// Of all connections, in their order.
    package var events: [Event] { host.events.state }

    package func count(_ event: Event) -> Int { events.count { $0 == event } }

    /// Returns when the event has come so often.
    ///
    /// - Throws: `CancellationError` where the task is cancelled first: a test over its time limit ends.
    package func wait(for event: Event, times: Int = 1) async throws {
        try await host.events.wait { events in events.count { $0 == event } >= times }
    }

    /// Returns when a handshake has failed; the alert has been sent by then.
    ///
    /// - Throws: `CancellationError` where the task is cancelled first: a test over its time limit ends.
    package func waitForFailure() async throws {
        try await host.events.wait { events in events.contains { if case .failed = $0 { true } else { false } } }
    }
}

/// What its connections share.
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
            wire.sayGoodbye()
        } catch let failure as SecureWire.Failure {
            note(.failed(failure.reason))
            // A close with something unread would be a reset, which may overtake the alert.
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
