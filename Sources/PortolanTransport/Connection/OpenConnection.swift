// SPDX-License-Identifier: Apache-2.0

/// An open connection and its properties. Call ``SocketConnection/setReceiver(_:)`` before you use it.
package struct OpenConnection {
    package let transport: SocketConnection
    /// The address of the proxy if there is one, otherwise of the server.
    package let remoteAddress: String?
    /// The address of this end.
    package let localAddress: String?
    /// The TLS properties of the connection to an `https:` proxy.
    package let proxySecurity: ConnectionSecurity?
    /// The TLS properties of the connection to the server. `nil` without TLS.
    package var security: ConnectionSecurity?
}

/// The result of a TLS handshake.
package struct ConnectionSecurity {
    /// The protocol that ALPN chose (RFC 7301).
    package let applicationProtocol: String?
    /// The version, written as by IANA: `TLSv1.3`.
    package let version: String?
    package let isResumed: Bool
    package let trust: ServerTrust
}
