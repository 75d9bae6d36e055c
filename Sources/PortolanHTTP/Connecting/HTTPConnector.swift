// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// Opens connections as the configuration says. Any event loop.
final class HTTPConnector: Connector {
    let configuration: HTTPConfiguration
    let secured: SecureContexts

    /// - Parameter secured: shared by the event loops.
    init(_ configuration: HTTPConfiguration, secured: SecureContexts) {
        self.configuration = configuration
        self.secured = secured
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
        HTTPConnectionAttempt(key, connector: self, pool: pool, owner: owner, completion: completion)
    }
}
