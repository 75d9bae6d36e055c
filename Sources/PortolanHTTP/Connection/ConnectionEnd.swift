// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// What it means for a response that its connection has ended.
extension LoadError {
    /// The connection ended before the answer did.
    static func cutOff(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError { cutOff(key.peer, cause, saidBy: key.securedPeer) }

    /// Not a byte was answered to the first request on a connection without TLS: a server that waits for TLS does so.
    static func endedInClear(_ key: ConnectionKey, _ cause: SocketError?, _ syntax: ResponseSyntaxError) -> LoadError {
        var error = cause == nil ? syntax.loadError : cutOff(key, cause)
        let scheme = key.usesAbsoluteForm ? "write https:// as the proxy's scheme" : "use https:"
        error.message += ", or \(scheme) if that port speaks TLS"
        return error
    }

    /// The connection ended where only its end tells that the body is complete, and it was no end that the server vouches for (RFC 9112 §9.8).
    static func cutAtClose(_ key: ConnectionKey, _ cause: SocketError?) -> LoadError {
        guard case .closedWithoutNotice? = cause else { return cutOff(key, cause) }
        return LoadError(
            .truncated, message: "the body from \(key) may be cut off: the connection ended without TLS's close_notify; try again")
    }
}
