// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension Request {
    /// A version of HTTP that a request requires.
    public enum HTTPVersion: String, Hashable, Sendable {
        /// HTTP/1.0, for a server that does not understand HTTP/1.1. The connection is not used again unless the
        /// response allows it. A body of unknown length cannot be sent.
        case http1_0 = "1.0"
        /// HTTP/1.1, even if the server supports more.
        case http1 = "1.1"
        /// HTTP/2 only. Over TLS it must be negotiated. Without TLS the server is assumed to support it (RFC 9113
        /// §3.3).
        case http2 = "2"
    }

    private static let httpVersionName = "org.portolan.http.version"

    /// The version of HTTP to use. `nil`, the default, means HTTP/1.1 for `http:` URLs, and the version that the server
    /// prefers for `https:` URLs (ALPN, RFC 7301).
    public var httpVersion: HTTPVersion? {
        get {
            guard case .text(let text) = properties[Self.httpVersionName] else { return nil }
            return HTTPVersion(rawValue: text)
        }
        set { properties[Self.httpVersionName] = newValue.map { .text($0.rawValue) } }
    }
}
