// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension LoadError {
    /// The name service gave no address.
    static func notFound(_ host: String, _ error: (any Error)?) -> LoadError {
        if let own = error as? LoadError { return own }
        let reason = error.map { ": \($0)" } ?? ""
        return LoadError(.nameNotFound, message: "host '\(host)' was not found\(reason); check its spelling and the name service")
    }

    /// Why no connection could be made to `host`.
    static func connecting(to host: String, port: Int, _ error: SocketError) -> LoadError {
        LoadError(
            .cannotConnect,
            message: "no connection to \(host) port \(port)\(error.reason.map { ": \($0)" } ?? ""); check that a server listens there")
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
    static func cutOff(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError {
        if let error = alert(from: key.securedPeer, cause) { return error }
        let reason = cause?.reason.map { ": \($0)" } ?? ""
        return LoadError(.connectionLost, message: "the connection to \(key) ended before the answer did\(reason); try again")
    }

    /// Not a byte was answered to the first request on a connection without TLS: a server that waits for TLS does so.
    static func endedInClear(_ key: ConnectionKey, _ cause: SocketError?, _ syntax: ResponseSyntaxError) -> LoadError {
        var error = cause == nil ? syntax.loadError : cutOff(key, cause)
        let scheme = key.usesAbsoluteForm ? "write https:// as the proxy's scheme" : "use https:"
        error.message += ", or \(scheme) if that port speaks TLS"
        return error
    }
}

extension LoadError {
    /// The connection ended where only its end tells that the body is complete, and it was no end that the server vouches for (RFC 9112 §9.8).
    static func cutAtClose(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError {
        guard case .closedWithoutNotice? = cause else { return cutOff(key, cause) }
        return LoadError(
            .truncated, message: "the body from \(key) may be cut off: the connection ended without TLS's close_notify; try again")
    }
}
