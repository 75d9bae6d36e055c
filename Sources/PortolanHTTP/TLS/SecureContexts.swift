// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import PortolanCore
import Synchronization

/// What TLS connections have in common: making it reads the system's certificates, which takes longer than a handshake. Any thread.
final class SecureContexts: Sendable {
    private let configuration: HTTPConfiguration
    private let shared = Mutex<[HTTPVersionChoice?: NIOSSLContext]>([:])

    init(_ configuration: HTTPConfiguration) {
        self.configuration = configuration
    }

    /// - Parameter version: of HTTP, the only one to offer; `nil`: all that the configuration allows.
    func context(for version: HTTPVersionChoice? = nil) throws -> NIOSSLContext {
        try shared.withLock { shared in
            if let context = shared[version] { return context }
            var settings = TLSConfiguration.makeClientConfiguration()
            settings.applicationProtocols =
                switch version {
                case .http1: ["http/1.1"]
                case .http2: ["h2"]
                case nil: configuration.allowsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
                }
            let context = try NIOSSLContext(configuration: settings)
            shared[version] = context
            return context
        }
    }
}
