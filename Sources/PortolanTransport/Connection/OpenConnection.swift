// SPDX-License-Identifier: Apache-2.0

/// A connection that was opened, with what is known of it. Its user calls ``SocketConnection/hand(to:)`` first.
package struct OpenConnection {
    package let transport: SocketConnection
    /// The address of the other end: the server's or, where there is one, the proxy's.
    package let remoteAddress: String?
    /// Of TLS to an `https:` proxy.
    package let proxySecurity: ConnectionSecurity?
    /// `nil` where it is not secure.
    package var security: ConnectionSecurity?
}

/// What a TLS handshake has agreed on.
package struct ConnectionSecurity {
    /// By ALPN (RFC 7301).
    package let applicationProtocol: String?
    /// As IANA writes it: `TLSv1.3`.
    package let version: String?
    package let isResumed: Bool
    package let trust: ServerTrust
}
