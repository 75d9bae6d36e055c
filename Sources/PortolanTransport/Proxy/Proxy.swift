// SPDX-License-Identifier: Apache-2.0

/// A proxy to connect to, and who we are to it: connections that differ in any of it are not shared.
package struct Proxy: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Requests go to it as they are, in absolute form; for `https:` it makes a tunnel (RFC 9110 §9.3.6).
        case http
        /// RFC 1928
        case socks5(NameLookUp)
    }

    /// Who finds the address of an origin.
    package enum NameLookUp: Hashable, Sendable { case local, byProxy }

    package let kind: Kind
    /// Whether it is spoken to with TLS.
    package var isSecure = false
    /// Lower case, ASCII, without brackets.
    let host: String
    package let port: Int
    /// What is sent to it unasked.
    package var credential: PasswordCredential?

    /// As in a URL.
    var authority: String { "\(urlHost):\(port)" }

    /// With brackets where it is an IPv6 address.
    package var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    package var scheme: String {
        switch kind {
        case .http: isSecure ? "https" : "http"
        case .socks5(.local): "socks5"
        case .socks5(.byProxy): "socks5h"
        }
    }
}

extension Proxy {
    /// The proxy itself, for TLS.
    package var peer: TLSPeer { TLSPeer(host: host, port: port, description: "the proxy \(self)", isProxy: true) }
}

extension Proxy: CustomStringConvertible {
    /// Without the credential.
    package var description: String { "\(scheme)://\(authority)" }
}
