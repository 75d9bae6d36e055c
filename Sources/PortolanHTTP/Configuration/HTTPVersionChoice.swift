// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The version of HTTP for a request, if the handler is not to choose it.
///
///     request[HTTPVersionChoice.self] = .http2
///
/// Without it, `https:` URLs are loaded with the version that the server prefers (ALPN, RFC 7301), and `http:` URLs
/// with HTTP/1.1.
public enum HTTPVersionChoice: String, RequestPropertyValue, RequestPropertyKey, Hashable, Sendable {
    /// HTTP/1.1, even if the server supports more.
    case http1 = "1.1"
    /// HTTP/2 only. Over TLS it must be negotiated. Without TLS the server is assumed to support it (RFC 9113 §3.3).
    case http2 = "2"

    public typealias Value = Self
    public static let name = "org.portolan.http.version"
}
