// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Opens connections of all kinds as the configuration says. In the turns of its loop.
final class HTTPConnector: Connector {
    let configuration: HTTPConfiguration
    let secured: SecureContexts
    let names: NameService
    let loop: SocketLoop

    /// - Parameter secured: shared by the loops.
    init(_ configuration: HTTPConfiguration, secured: SecureContexts, names: NameService = .shared, on loop: SocketLoop) {
        self.configuration = configuration
        self.secured = secured
        self.names = names
        self.loop = loop
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
            completion(result.map { opened in opened.connection(key, configuration, in: pool) })
        }
    }
}

extension HTTPConnectionAttempt: ConnectionAttempt {}

extension OpenConnection {
    /// The connection is the pool's from here on.
    fileprivate func connection(_ key: ConnectionKey, _ configuration: HTTPConfiguration, in pool: ConnectionPool) -> any PooledConnection {
        switch report.networkProtocol {
        case "h2", "h2c":
            let connection = HTTP2Connection(key: key, configuration: configuration, report: report, trust: trust)
            transport.hand(to: connection)
            connection.join(pool, over: transport)
            return connection
        default:
            let connection = HTTP1Connection(key: key, configuration: configuration, report: report, trust: trust)
            transport.hand(to: connection)
            connection.join(pool, over: transport)
            return connection
        }
    }
}
