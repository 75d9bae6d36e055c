// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import PortolanCore

extension LoadError {
    /// Why no connection could be made to `host`: the resolver's or the system's word.
    static func connecting(to host: String, port: Int, _ error: any Error) -> LoadError {
        switch error {
        case let error as LoadError: return error
        case let error as NIOConnectionError:
            guard let last = error.connectionErrors.last?.error else {
                let cause = error.dnsAError ?? error.dnsAAAAError
                if let own = cause as? LoadError { return own }
                let reason = cause.map { ": \($0)" } ?? ""
                return LoadError(.nameNotFound, message: "host '\(host)' was not found\(reason); check its spelling and the name service")
            }
            return connecting(to: host, port: port, last)
        case let error as IOError:
            return LoadError(
                .cannotConnect, message: "no connection to \(host) port \(port): \(error.reasonText); check that a server listens there")
        case is ChannelError:
            return LoadError(.cannotConnect, message: "no connection to \(host) port \(port): \(error)")
        default:
            return LoadError(.cannotConnect, message: "no connection to \(host) port \(port)", cause: error)
        }
    }

    /// The same, said of the proxy where there is one.
    func of(_ proxy: Proxy?) -> LoadError {
        guard let proxy else { return self }
        var error = self
        error.message = "the proxy \(proxy): \(message)"
        if code == .nameNotFound { error.code = .proxyNotFound }
        return error
    }

    /// The connection ended before the answer did.
    static func cutOff(_ key: ConnectionKey, _ cause: (any Error)?) -> LoadError {
        if let error = alert(from: key.peer, cause) { return error }
        let reason = (cause as? IOError).map { ": \($0.reasonText)" } ?? ""
        return LoadError(.connectionLost, message: "the connection to \(key) ended before the answer did\(reason); try again")
    }
}

extension LoadError {
    /// The connection ended where only its end tells that the body is complete, and it was no end that the server vouches for (RFC 9112 §9.8).
    static func cutAtClose(_ key: ConnectionKey, _ cause: (any Error)?) -> LoadError {
        guard case NIOSSLError.uncleanShutdown? = cause else { return cutOff(key, cause) }
        return LoadError(
            .truncated, message: "the body from \(key) may be cut off: the connection ended without TLS's close_notify; try again")
    }
}

extension IOError {
    /// What strerror(3) says of it.
    var reasonText: String { LoadError.text(of: errnoCode) }
}
