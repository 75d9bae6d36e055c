// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Identifies the connections that a request can use: those with the same key.
struct ConnectionKey: Hashable, Sendable {
    let isSecure: Bool
    /// The name of the host without brackets, in lower case and ASCII.
    let host: String
    let port: Int
    /// Includes the proxy's credential, because requests with different credentials do not share connections.
    var proxy: Proxy?
    /// The required version of HTTP; `nil` if client and server negotiate it.
    var version: Request.HTTPVersion?

    /// The authority as in `Host`: without the scheme's default port (RFC 9110 §7.2).
    var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The origin, without the proxy and the version.
    struct Origin: Hashable {
        let isSecure: Bool
        let host: String
        let port: Int
    }

    var origin: Origin { Origin(isSecure: isSecure, host: host, port: port) }
}

extension ConnectionKey {
    /// - Throws: ``LoadError/Code/badURL`` for a URL without a host, or the error of a malformed proxy.
    init(_ request: Request, proxies: ProxySelection) throws(LoadError) {
        let url = request.url
        guard let host = url.host, !host.isEmpty, let port = url.effectivePort else {
            throw LoadError(.badURL, message: "\(url.shortDescription) names no host; write one after the two slashes")
        }
        let isAddress = host.first == "["
        self.init(
            isSecure: url.scheme == "https", host: String(isAddress ? host.dropFirst().dropLast() : host), port: port,
            proxy: try proxies.proxy(for: request), version: request.httpVersion)
    }
}

extension ConnectionKey {
    /// Whether the request line has the whole URL, for a proxy that forwards the request (RFC 9112 §3.2.2).
    var usesAbsoluteForm: Bool { !isSecure && proxy?.kind == .http && proxy?.alwaysTunnels == false }

    /// The server, as a peer of TLS.
    var peer: TLSPeer { TLSPeer(host: host, port: port, description: description) }

    /// Whether TLS secures the connection to the origin or to the proxy.
    var isSecuredByTLS: Bool { isSecure || proxy?.isSecure == true }

    /// The peer of the TLS session: the server, or the proxy if only the proxy uses TLS.
    var securedPeer: TLSPeer { isSecure ? peer : proxy?.peer ?? peer }
}

extension ConnectionKey: CustomStringConvertible {
    var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
