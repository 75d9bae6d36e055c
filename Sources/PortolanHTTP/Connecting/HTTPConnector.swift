// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// Opens connections of all kinds as channels, as the configuration says. On one event loop.
final class HTTPConnector: Connector {
    let configuration: HTTPConfiguration
    let secured: SecureContexts
    let names: NameService
    let eventLoop: any EventLoop

    /// - Parameter secured: shared by the event loops.
    init(_ configuration: HTTPConfiguration, secured: SecureContexts, names: NameService = .shared, on eventLoop: any EventLoop) {
        self.configuration = configuration
        self.secured = secured
        self.names = names
        self.eventLoop = eventLoop
    }

    func offersMultiplexing(for key: ConnectionKey) -> Bool {
        switch key.version {
        case .http1: false
        case .http2: true
        case nil: key.isSecure && configuration.allowsHTTP2
        }
    }

    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionWaiter,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt {
        HTTPConnectionAttempt(key, connector: self, respondent: owner) { [weak owner] step in
            owner?.didReach(step)
        } completion: { [configuration] result in
            completion(result.flatMap { opened in opened.connection(key, configuration, in: pool) })
        }
    }
}

extension HTTPConnectionAttempt: ConnectionAttempt {}

extension OpenChannel {
    /// The connection is the pool's from here on.
    fileprivate func connection(
        _ key: ConnectionKey, _ configuration: HTTPConfiguration, in pool: ConnectionPool
    ) -> Result<any PooledConnection, LoadError> {
        do {
            switch report.networkProtocol {
            case "h2", "h2c":
                let connection = HTTP2Connection(key: key, configuration: configuration, report: report, trust: trust)
                try connection.add(to: channel)
                connection.join(pool)
                return .success(connection)
            default:
                let connection = HTTP1Connection(key: key, configuration: configuration, report: report, trust: trust)
                let transport = ChannelTransport(on: pool.loop, for: connection)
                try channel.pipeline.syncOperations.addHandler(transport)
                connection.join(pool, over: transport)
                return .success(connection)
            }
        } catch {
            channel.close(promise: nil)
            return .failure(.connecting(to: key.host, port: key.port, error))
        }
    }
}
