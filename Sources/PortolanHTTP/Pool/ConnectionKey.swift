// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Which connections can serve a request: those with the same key.
struct ConnectionKey: Hashable, Sendable {
    let isSecure: Bool
    /// The host to name, without brackets: lower case, ASCII.
    let host: String
    let port: Int
    /// With what was sent, or is to be sent, to it: connections of different credentials are not shared.
    var proxy: Proxy?
    /// The only version of HTTP that will do; `nil`: what the server prefers.
    var version: HTTPVersionChoice?

    /// The authority as `Host` says it: without the scheme's default port (RFC 9110 §7.2).
    var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The same origin, whatever the way to it.
    struct Origin: Hashable {
        let isSecure: Bool
        let host: String
        let port: Int
    }

    var origin: Origin { Origin(isSecure: isSecure, host: host, port: port) }
}

extension ConnectionKey {
    /// - Throws: ``LoadError/Code/badURL`` for a URL without a host, or what is wrong with the proxy that the request would go through.
    init(_ request: Request, proxies: ProxySelection) throws(LoadError) {
        let url = request.url
        guard let host = url.host, !host.isEmpty, let port = url.effectivePort else {
            throw LoadError(.badURL, message: "\(url.shortDescription) names no host; write one behind the two slashes")
        }
        let isAddress = host.first == "["
        self.init(
            isSecure: url.scheme == "https", host: String(isAddress ? host.dropFirst().dropLast() : host), port: port,
            proxy: try proxies.proxy(for: request), version: request[HTTPVersionChoice.self])
    }
}

extension ConnectionKey {
    /// Whether requests name the whole URL, as a proxy that forwards them needs it (RFC 9112 §3.2.2).
    var usesAbsoluteForm: Bool { !isSecure && proxy?.kind == .http }

    /// The server for TLS: never the proxy.
    var peer: TLSPeer { TLSPeer(host: host, port: port, description: description) }

    /// Whether any of the way is.
    var isSecuredByTLS: Bool { isSecure || proxy?.isSecure == true }

    /// Who speaks TLS at the other end: the proxy where the origin does not.
    var securedPeer: TLSPeer { isSecure ? peer : proxy?.peer ?? peer }
}

extension ConnectionKey: CustomStringConvertible {
    var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
