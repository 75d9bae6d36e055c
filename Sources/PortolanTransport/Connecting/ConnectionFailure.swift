// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

extension LoadError {
    /// The error if the resolver returned no address.
    static func hostNotFound(_ host: String, _ error: (any Error)?) -> LoadError {
        if let error = error as? LoadError { return error }
        let reason = error.map { ": \($0)" } ?? ""
        var failure = LoadError(
            .nameNotFound, message: "host '\(host)' was not found\(reason); check its spelling and the name service")
        failure.isForLackOfNetwork = (error as? NameError)?.isTemporary == true
        return failure
    }

    /// The error if no connection to `host` could be made.
    static func cannotConnect(to host: String, port: Int, _ error: SocketError) -> LoadError {
        var failure = LoadError(
            .cannotConnect,
            message: "no connection to \(host) port \(port)\(error.reason.map { ": \($0)" } ?? ""); check that a server listens there")
        failure.isForLackOfNetwork = error.isForLackOfNetwork
        return failure
    }

    /// The same error, with the proxy in its message if there is one.
    func attributed(to proxy: Proxy?) -> LoadError {
        guard let proxy else { return self }
        var error = self
        error.message = "the proxy \(proxy): \(message)"
        if code == .nameNotFound { error.code = .proxyNotFound }
        return error
    }

    /// The error if the connection ended before the response did.
    ///
    /// - Parameter securedPeer: the peer of the TLS session, which can have sent an alert.
    package static func connectionLost(_ peer: TLSPeer, _ cause: SocketError?, reportedBy securedPeer: TLSPeer) -> LoadError {
        if let error = tlsError(from: securedPeer, cause) { return error }
        let reason = cause?.reason.map { ": \($0)" } ?? ""
        return LoadError(.connectionLost, message: "the connection to \(peer) ended before the response did\(reason); try again")
    }
}
