// SPDX-License-Identifier: Apache-2.0

/// An open connection and its properties. Its user calls ``SocketConnection/hand(to:)`` first.
package struct OpenConnection {
    package let transport: SocketConnection
    /// The address of the other end: the proxy if there is one, otherwise the server.
    package let remoteAddress: String?
    /// The security of TLS to an `https:` proxy.
    package let proxySecurity: ConnectionSecurity?
    /// `nil` if the connection is not secure.
    package var security: ConnectionSecurity?
}

/// The properties that a TLS handshake has negotiated.
package struct ConnectionSecurity {
    /// The protocol that ALPN chose (RFC 7301).
    package let applicationProtocol: String?
    /// The version, written as by IANA: `TLSv1.3`.
    package let version: String?
    package let isResumed: Bool
    package let trust: ServerTrust
}
