// SPDX-License-Identifier: Apache-2.0

/// The destination of a byte connection, and the route to it.
package struct Endpoint: Hashable, Sendable {
    /// The server. With TLS, its certificate must carry this name.
    package let peer: TLSPeer
    package var proxy: Proxy?
    /// Whether the client requests a tunnel from an HTTP proxy. Without a tunnel, the proxy itself reads the bytes.
    /// SOCKS proxies always make a tunnel.
    package var usesTunnel: Bool
    /// The UNIX socket to connect to, instead of a port; `nil` for TCP. There is no proxy then.
    package var socketAddress: UNIXSocketAddress?
    /// The protocols to offer by ALPN (RFC 7301), the preferred one first; `nil` for a connection without TLS.
    package var applicationProtocols: [String]?

    /// Whether the server may send bytes before the client does, as in SMTP and FTP. In HTTP it may not.
    package var mayServerSendFirst = false

    package init(_ peer: TLSPeer, through proxy: Proxy? = nil, usesTunnel: Bool = true, applicationProtocols: [String]? = nil) {
        self.peer = peer
        self.proxy = proxy
        self.usesTunnel = usesTunnel
        self.applicationProtocols = applicationProtocols
    }

    /// With TLS, the client always sends first.
    var allowsEarlyBytes: Bool { mayServerSendFirst && applicationProtocols == nil }

    /// The peer of the TLS session: the server, or the proxy if only the proxy uses TLS.
    var securedPeer: TLSPeer { applicationProtocols != nil ? peer : proxy?.peer ?? peer }

    /// The host and the port to connect to, instead of those of the peer; `nil` for the peer's. The overrides of the
    /// configuration replace it.
    package var target: ConnectionOverrides.Target?

    var targetHost: String { target?.host ?? peer.host }
    var targetPort: Int { target?.port ?? peer.port }

    /// Host and port to connect to, with brackets around an IPv6 address (RFC 9110 §9.3.6).
    var authority: String {
        targetHost.utf8.contains(UInt8(ascii: ":")) ? "[\(targetHost)]:\(targetPort)" : "\(targetHost):\(targetPort)"
    }
}

extension Endpoint: CustomStringConvertible {
    package var description: String { peer.description }
}
