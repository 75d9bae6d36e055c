// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
public import PortolanTransport

/// Listens on a TCP port or a UNIX socket, and makes a pair of streams of each connection.
///
///     let listener = try SocketListener(port: 7000)
///     for try await socket in listener.connections {
///         Task { try await echo(socket) }
///     }
///
/// As a stream, a listener is used in one of three ways, never two at once: a thread calls ``accept()``, events with
/// ``schedule(on:_:)``, or tasks with ``connections``. Connections that nobody takes wait in the system, which refuses
/// further ones when its queue is full: listen(2).
///
/// Any thread can call the methods. Keep a reference: the listener is closed when the last one is released. Connections
/// that it has accepted stay open.
public final class SocketListener: Sendable {
    private let socket: ListeningSocket
    private let configuration: SocketListenerConfiguration
    private let core: StreamCore

    /// Listens on a TCP port.
    ///
    /// - Parameters:
    ///   - address: an IP address of this machine. `127.0.0.1` and `::1` are for programs on the same machine only;
    ///     `0.0.0.0` and `::` accept connections on all interfaces.
    ///   - port: 0 to 65535; 0 for a free port, see ``port``.
    ///   - configuration: for all connections.
    /// - Throws: `LoadError.Code.badURL` for a wrong address or port, `LoadError.Code.cannotConnect` if the port is
    ///   in use, `LoadError.Code.accessDenied`, `LoadError.Code.noResources`, `LoadError.Code.badRequest` if the
    ///   connections are to be secure, but have no TLS settings
    public convenience init(
        address: String = "127.0.0.1", port: Int, configuration: SocketListenerConfiguration = SocketListenerConfiguration()
    ) throws(LoadError) {
        try configuration.check()
        self.init(try ListeningSocket(address: address, port: port), configuration)
    }

    /// Listens on a UNIX socket (unix(7)). The file must not exist. ``close()`` removes it.
    ///
    /// - Throws: as ``init(address:port:configuration:)``, and `LoadError.Code.badURL` for a path of over 107 bytes
    public convenience init(
        path: String, configuration: SocketListenerConfiguration = SocketListenerConfiguration()
    ) throws(LoadError) {
        try configuration.check()
        self.init(try ListeningSocket(path: path), configuration)
    }

    private init(_ socket: ListeningSocket, _ configuration: SocketListenerConfiguration) {
        (self.socket, self.configuration) = (socket, configuration)
        core = StreamCore(ListenerEndpoint(), readyEvent: .bytesAvailable) { whenReady in
            socket.isReady(whenReady: whenReady) ? .moved : .wait
        } close: { _ in
            socket.close()
            return nil
        }
        core.open()
    }

    /// The port on which the listener accepts connections; `nil` for a UNIX socket.
    public var port: Int? { socket.port }

    /// Ends listening. Connections that wait are reset, and ``accept()`` throws. A second call has no effect.
    public func close() { core.close() }

    // MARK: Polling

    /// Waits for a connection, and accepts it.
    ///
    /// - Returns: its streams, which are not open yet.
    /// - Throws: `LoadError.Code.streamNotOpen` if the listener is closed; `LoadError.Code.streamInUse` if it is
    ///   used in another way; `LoadError.Code.cannotConnect` if the system fails; `LoadError.Code.noResources` if
    ///   the call would block the thread of an event loop
    public func accept() throws(LoadError) -> SocketStreams {
        while true {
            if let streams = try acceptWaiting() { return streams }
            try core.waitUntilReady()
        }
    }

    /// - Returns: `nil` if no connection waits.
    private func acceptWaiting() throws(LoadError) -> SocketStreams? {
        while true {
            guard case .run = try core.begin() else { return nil }
            switch socket.accept(whenReady: core.whenReady) {
            case .accepted(let accepted):
                _ = try core.end(.moved)
                return SocketStreams(
                    SocketLink(
                        accepting: accepted, tls: configuration.tlsContext, isSecure: configuration.isSecure,
                        bufferSize: configuration.bufferSize))
            case .wait: if try core.end(.wait) { return nil }
            case .failed(let error): _ = try core.end(.failed(error))
            }
        }
    }

    // MARK: Tasks

    /// The connections, in the order in which they were accepted. The sequence ends when the listener is closed. If the
    /// task is cancelled, the listener is closed, and the sequence throws `LoadError.Code.cancelled`.
    public var connections: ConnectionSequence { ConnectionSequence(listener: self) }

    public struct ConnectionSequence: AsyncSequence, Sendable {
        fileprivate let listener: SocketListener

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let listener: SocketListener

            /// - Throws: as ``SocketListener/accept()``; `LoadError.Code.cancelled`
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(LoadError) -> SocketStreams? {
                try await listener.next()
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(listener: listener) }
    }

    private func next() async throws(LoadError) -> SocketStreams? {
        while true {
            try core.closeIfTaskIsCancelled()
            guard core.status != .closed else { return nil }
            do throws(LoadError) {
                if let streams = try acceptWaiting() { return streams }
                try await core.waitUntilReady()
            } catch {
                guard core.status == .closed, error.code != .cancelled else { throw error }
            }
        }
    }

    // MARK: Events

    /// Calls `handler` for each connection, one at a time, until ``unschedule()`` or ``close()``. Replaces an earlier
    /// handler.
    ///
    /// - Parameters:
    ///   - queue: as for ``ByteInputStream/schedule(on:_:)``.
    ///   - handler: receives the streams of the connection, which are not open yet; or the error with which the
    ///     listener has failed, as the last call.
    /// - Throws: `LoadError.Code.streamInUse` if a thread or task waits; `LoadError.Code.streamNotOpen` if the
    ///   listener is closed
    public func schedule(
        on queue: DeliveryQueue, _ handler: @escaping @Sendable (Result<SocketStreams, LoadError>) -> Void
    ) throws(LoadError) {
        try core.schedule(on: queue) { [weak self] event in
            switch event {
            case .bytesAvailable:
                // `try?` because an error is the next event.
                if let streams = try? self?.acceptWaiting() { handler(.success(streams)) }
            case .errorOccurred(let error): handler(.failure(error))
            case .openCompleted, .spaceAvailable, .endEncountered: break
            }
        }
    }

    /// Ends the calls. If this is not called on the queue, one connection may still be on its way.
    public func unschedule() { core.unschedule() }
}

/// Settings of a ``SocketListener``.
public struct SocketListenerConfiguration: Sendable {
    /// Connections in clear text.
    public init() {}

    /// Connections with TLS.
    public static func tls(_ settings: TLSServerSettings) -> Self {
        var configuration = Self()
        (configuration.tls, configuration.isSecure) = (settings, true)
        return configuration
    }

    /// The settings of TLS; `nil` if no connection uses TLS.
    public var tls: TLSServerSettings? {
        didSet { tlsContext = tls.map(TLSServerContext.init) }
    }
    /// Copies of a configuration share the context, because making one reads files.
    private(set) var tlsContext: TLSServerContext?
    /// Whether TLS starts when the streams of a connection are opened, which needs ``tls``. Otherwise,
    /// ``SocketStreams/startTLS(completion:)`` starts it.
    public var isSecure = false
    /// As ``SocketConfiguration/bufferSize``.
    public var bufferSize = 64 << 10

    fileprivate func check() throws(LoadError) {
        guard tls != nil || !isSecure else {
            throw LoadError(.badRequest, message: "secure connections need TLS settings; set the listener's configuration.tls")
        }
    }
}

/// The listening socket is already open.
private final class ListenerEndpoint: StreamEndpoint {
    func close() {}
}
