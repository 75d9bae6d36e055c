// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import PortolanCore
import Synchronization

/// What TLS connections have in common: making it reads the system's certificates, which takes longer than a handshake. Any thread.
final class SecureContexts: Sendable {
    private let configuration: HTTPConfiguration
    private let shared = Mutex<NIOSSLContext?>(nil)

    init(_ configuration: HTTPConfiguration) {
        self.configuration = configuration
    }

    func context() throws -> NIOSSLContext {
        try shared.withLock { shared in
            if let shared { return shared }
            var settings = TLSConfiguration.makeClientConfiguration()
            settings.applicationProtocols = configuration.allowsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
            let context = try NIOSSLContext(configuration: settings)
            shared = context
            return context
        }
    }
}
