// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// Errors of a response whose connection has ended.
extension LoadError {
    /// The connection ended before the response did.
    static func cutOff(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError { cutOff(key.peer, cause, saidBy: key.securedPeer) }

    /// The server sent no byte in response to the first request on a connection without TLS. A server that waits for
    /// TLS behaves like this.
    static func endedInClear(_ key: ConnectionKey, _ cause: SocketError?, _ syntax: ResponseSyntaxError) -> LoadError {
        var error = cause == nil ? syntax.loadError : cutOff(key, cause)
        let scheme = key.usesAbsoluteForm ? "write https:// as the proxy's scheme" : "use https:"
        error.message += ", or \(scheme) if that port speaks TLS"
        return error
    }

    /// Only the end of the connection marks the end of the body, and the connection ended without the server's
    /// confirmation (RFC 9112 §9.8).
    static func cutAtClose(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError {
        guard case .closedWithoutNotice? = cause else { return cutOff(key, cause) }
        return LoadError(
            .truncated, message: "the body from \(key) may be cut off: the connection ended without TLS's close_notify; try again")
    }
}
