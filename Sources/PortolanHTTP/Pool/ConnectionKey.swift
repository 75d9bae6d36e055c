// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Identifies the connections that can serve a request: those with the same key.
struct ConnectionKey: Hashable, Sendable {
    let isSecure: Bool
    /// The name of the host without brackets, in lower case and ASCII.
    let host: String
    let port: Int
    /// Includes its credential, sent or to be sent, because connections of different credentials are not shared.
    var proxy: Proxy?
    /// The only acceptable version of HTTP; `nil`: the version that the server prefers.
    var version: Request.HTTPVersion?

    /// The authority as in `Host`: without the scheme's default port (RFC 9110 §7.2).
    var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The origin, whatever the route to it.
    struct Origin: Hashable {
        let isSecure: Bool
        let host: String
        let port: Int
    }

    var origin: Origin { Origin(isSecure: isSecure, host: host, port: port) }
}

extension ConnectionKey {
    /// - Throws: ``LoadError/Code/badURL`` for a URL without a host, or the error of the proxy that the request would
    ///   use.
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
    /// Whether requests name the whole URL, as a proxy that forwards them requires (RFC 9112 §3.2.2).
    var usesAbsoluteForm: Bool { !isSecure && proxy?.kind == .http }

    /// The server for TLS. It is never the proxy.
    var peer: TLSPeer { TLSPeer(host: host, port: port, description: description) }

    /// Whether TLS secures the connection to the origin or to the proxy.
    var isSecuredByTLS: Bool { isSecure || proxy?.isSecure == true }

    /// The peer that speaks TLS: the origin, or else the proxy.
    var securedPeer: TLSPeer { isSecure ? peer : proxy?.peer ?? peer }
}

extension ConnectionKey: CustomStringConvertible {
    var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
