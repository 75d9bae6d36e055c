// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

extension LoadError {
    /// The name service returned no address.
    static func notFound(_ host: String, _ error: (any Error)?) -> LoadError {
        if let own = error as? LoadError { return own }
        let reason = error.map { ": \($0)" } ?? ""
        return LoadError(.nameNotFound, message: "host '\(host)' was not found\(reason); check its spelling and the name service")
    }

    /// The reason why no connection to `host` could be made.
    static func connecting(to host: String, port: Int, _ error: SocketError) -> LoadError {
        LoadError(
            .cannotConnect,
            message: "no connection to \(host) port \(port)\(error.reason.map { ": \($0)" } ?? ""); check that a server listens there")
    }

    /// The same error, attributed to the proxy if there is one.
    func of(_ proxy: Proxy?) -> LoadError {
        guard let proxy else { return self }
        var error = self
        error.message = "the proxy \(proxy): \(message)"
        if code == .nameNotFound { error.code = .proxyNotFound }
        return error
    }

    /// The connection ended before the response did.
    ///
    /// - Parameter speaker: the peer of the TLS session, which may have sent an alert.
    package static func cutOff(_ peer: TLSPeer, _ cause: SocketError?, saidBy speaker: TLSPeer) -> LoadError {
        if let error = alert(from: speaker, cause) { return error }
        let reason = cause?.reason.map { ": \($0)" } ?? ""
        return LoadError(.connectionLost, message: "the connection to \(peer) ended before the response did\(reason); try again")
    }
}
