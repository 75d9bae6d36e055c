// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// Opens connections as the configuration says. Any event loop.
final class HTTPConnector: Connector {
    let configuration: HTTPConfiguration
    let secured: SecureContexts

    init(_ configuration: HTTPConfiguration) {
        self.configuration = configuration
        secured = SecureContexts(configuration)
    }

    var offersMultiplexing: Bool { configuration.allowsHTTP2 }

    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionWaiter,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt {
        HTTPConnectionAttempt(key, connector: self, pool: pool, owner: owner, completion: completion)
    }
}
