// SPDX-License-Identifier: Apache-2.0

/// The server, or the proxy, at the other end of a TLS connection.
package struct TLSPeer: Hashable, Sendable, CustomStringConvertible {
    /// The host of the URL, without brackets.
    let host: String
    let port: Int
    /// The name of the peer in a message.
    package let description: String
    /// The URL's scheme, for protection spaces.
    package let protocolName: String
    /// Whether the peer is a proxy. A proxy receives no client certificate.
    let isProxy: Bool

    package init(host: String, port: Int, description: String, protocolName: String = "https", isProxy: Bool = false) {
        self.host = host
        self.port = port
        self.description = description
        self.protocolName = protocolName
        self.isProxy = isProxy
    }

    var name: ServerName { ServerName(host: host) }
    /// The host, quoted for a message.
    var quotedHost: String { "'\(DisplayText.line(host))'" }
}
