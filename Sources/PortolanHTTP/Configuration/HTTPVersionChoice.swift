// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Which version of HTTP a request is sent with, where that is not left to the handler.
///
///     request[HTTPVersionChoice.self] = .http2
///
/// Without it `https:` URLs are loaded with what the server prefers (ALPN, RFC 7301), `http:` ones with HTTP/1.1.
public enum HTTPVersionChoice: String, RequestPropertyValue, RequestPropertyKey, Hashable, Sendable {
    /// HTTP/1.1, even if the server can do more.
    case http1 = "1.1"
    /// HTTP/2 and nothing else: over TLS it has to be agreed on, without TLS the server is taken to understand it (RFC 9113 §3.3).
    case http2 = "2"

    public typealias Value = Self
    public static let name = "org.portolan.http.version"
}
