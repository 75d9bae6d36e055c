// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// Errors for a connection that ends before or during a response.
extension LoadError {
    /// The connection ended before the response did.
    static func connectionLost(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError {
        connectionLost(key.peer, cause, reportedBy: key.securedPeer)
    }

    /// The server closed the connection without a response to the first request, and TLS is not used. A server that
    /// expects TLS does this.
    static func noResponseWithoutTLS(_ key: ConnectionKey, _ cause: SocketError?, _ syntax: ResponseSyntaxError) -> LoadError {
        var error = cause == nil ? syntax.loadError : connectionLost(key, cause)
        let scheme = key.usesAbsoluteForm ? "write https:// as the proxy's scheme" : "use https:"
        error.message += ", or \(scheme) if that port speaks TLS"
        return error
    }

    /// The body ends with the connection, and the connection ended without close_notify (RFC 9112 §9.8).
    static func bodyMayBeTruncated(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError {
        guard case .closedWithoutNotice? = cause else { return connectionLost(key, cause) }
        return LoadError(
            .truncated, message: "the body from \(key) may be cut off: the connection ended without TLS's close_notify; try again")
    }
}
