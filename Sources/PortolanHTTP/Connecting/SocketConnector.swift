// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Opens plain connections: as channels, whose sockets then go to a socket loop.
final class SocketConnector: Connector {
    private let channels: HTTPConnector
    private let loop: SocketLoop

    /// - Parameter channels: opens the channels.
    init(_ channels: HTTPConnector, for loop: SocketLoop) {
        self.channels = channels
        self.loop = loop
    }

    func offersMultiplexing(for key: ConnectionKey) -> Bool { false }

    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionWaiter,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt {
        Attempt(key, connector: channels, loop: loop, pool: pool, owner: owner, completion: completion)
    }

    /// In the loop's turns, but for the channel.
    private final class Attempt: ConnectionAttempt, @unchecked Sendable {  // … because each part is touched where it belongs only
        private let key: ConnectionKey
        private let connector: HTTPConnector
        private let loop: SocketLoop
        private let pool: ConnectionPool
        private weak var owner: (any ConnectionWaiter)?
        private var completion: ((Result<any PooledConnection, LoadError>) -> Void)?
        /// On the connector's event loop.
        private var channel: HTTPConnectionAttempt?

        let failsOwnerOnly = false

        init(
            _ key: ConnectionKey, connector: HTTPConnector, loop: SocketLoop, pool: ConnectionPool, owner: any ConnectionWaiter,
            completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
        ) {
            self.key = key
            self.connector = connector
            self.loop = loop
            self.pool = pool
            self.owner = owner
            self.completion = completion
        }

        func start() {
            connector.eventLoop.execute { [self] in
                let channel = HTTPConnectionAttempt(key, connector: connector, respondent: nil) { [self] step in
                    loop.execute { [self] in owner?.didReach(step) }
                } completion: { [self] result in
                    self.channel = nil
                    let socket = result.flatMap { $0.takeSocket(key) }
                    loop.execute { [self] in didOpen(socket) }
                }
                self.channel = channel
                channel.start()
            }
        }

        func cancel() {
            finish(.failure(LoadError(.cancelled, message: "the connection to \(key) is no longer needed")))
            connector.eventLoop.execute { [self] in channel?.cancel() }
        }

        private func finish(_ result: Result<any PooledConnection, LoadError>) {
            let completion = completion
            self.completion = nil
            completion?(result)
        }

        private func didOpen(_ result: Result<OpenSocket, LoadError>) {
            switch result {
            case .failure(let error): finish(.failure(error))
            case .success(let open):
                let transport = SocketTransport(open.descriptor, on: loop, readSize: connector.configuration.receiveBufferSize)
                guard completion != nil else { return }
                let connection = HTTP1Connection(key: key, configuration: connector.configuration, report: open.report, trust: nil)
                transport.start(for: connection)
                connection.join(pool, over: transport)
                finish(.success(connection))
            }
        }
    }
}

private struct OpenSocket: Sendable {
    let descriptor: CInt
    let report: TransferReport
}

extension OpenChannel {
    /// The channel ends; its socket lives on under another number.
    fileprivate func takeSocket(_ key: ConnectionKey) -> Result<OpenSocket, LoadError> {
        defer { channel.close(promise: nil) }
        do {
            let descriptor = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
                fcntl(socket, F_DUPFD_CLOEXEC, 0)
            }
            guard let descriptor, descriptor >= 0 else {
                return .failure(
                    LoadError(
                        .noResources, message: "the connection to \(key) can't be used: \(LoadError.text(of: errno)); close some files"))
            }
            return .success(OpenSocket(descriptor: descriptor, report: report))
        } catch {
            return .failure(.connecting(to: key.host, port: key.port, error))
        }
    }
}
