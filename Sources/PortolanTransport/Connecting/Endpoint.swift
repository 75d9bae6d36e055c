// SPDX-License-Identifier: Apache-2.0

/// Where a byte connection leads, and how it gets there.
package struct Endpoint: Hashable, Sendable {
    /// The server. For TLS it is also the name that its certificate has to carry.
    package let peer: TLSPeer
    package var proxy: Proxy?
    /// Whether an HTTP proxy is asked for a tunnel. Without one, what is written is for the proxy to read. SOCKS proxies always make a tunnel.
    package var usesTunnel: Bool
    /// With TLS from the start: the protocols to offer by ALPN (RFC 7301), the best first. `nil`: without TLS.
    package var applicationProtocols: [String]?

    package init(_ peer: TLSPeer, through proxy: Proxy? = nil, usesTunnel: Bool = true, applicationProtocols: [String]? = nil) {
        self.peer = peer
        self.proxy = proxy
        self.usesTunnel = usesTunnel
        self.applicationProtocols = applicationProtocols
    }

    /// The peer of the TLS session: the proxy, where only that speaks TLS.
    var securedPeer: TLSPeer { applicationProtocols != nil ? peer : proxy?.peer ?? peer }

    /// Host and port, with brackets around an IPv6 address (RFC 9110 §9.3.6).
    var authority: String {
        peer.host.utf8.contains(UInt8(ascii: ":")) ? "[\(peer.host)]:\(peer.port)" : "\(peer.host):\(peer.port)"
    }
}

extension Endpoint: CustomStringConvertible {
    package var description: String { peer.description }
}
