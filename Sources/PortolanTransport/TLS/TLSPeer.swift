// SPDX-License-Identifier: Apache-2.0

/// The server that a secure connection is to lead to.
package struct TLSPeer: Hashable, Sendable, CustomStringConvertible {
    /// Of the URL, without brackets.
    let host: String
    let port: Int
    /// As a message names it.
    package let description: String
    /// What a protection space says of it: the URL's scheme.
    package let protocolName: String
    /// Whether it is a proxy: it gets no certificate of the client's.
    let isProxy: Bool

    package init(host: String, port: Int, description: String, protocolName: String = "https", isProxy: Bool = false) {
        self.host = host
        self.port = port
        self.description = description
        self.protocolName = protocolName
        self.isProxy = isProxy
    }

    var name: ServerName { ServerName(host: host) }
    /// The host, as a message quotes it.
    var quotedHost: String { "'\(DisplayText.line(host))'" }
}
