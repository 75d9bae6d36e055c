// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The version of HTTP for a request.
///
///     request[HTTPVersionChoice.self] = .http2
///
/// Without this property, client and server negotiate the version for `https:` URLs (ALPN, RFC 7301), and `http:` URLs
/// use HTTP/1.1.
public enum HTTPVersionChoice: String, RequestPropertyValue, RequestPropertyKey, Hashable, Sendable {
    /// HTTP/1.1, even if the server supports more.
    case http1 = "1.1"
    /// HTTP/2 only. Over TLS, the load fails if the server does not support it. Without TLS, the client assumes that
    /// the server supports it (RFC 9113 §3.3).
    case http2 = "2"

    public typealias Value = Self
    public static let name = "org.portolan.http.version"
}
