// SPDX-License-Identifier: Apache-2.0

/// What went over the wire for one request and its answer, and how: for metrics.
public struct TransferReport: Hashable, Sendable {
    /// The protocol by its ALPN identifier (IANA "TLS ALPN Protocol IDs"): `http/1.1`, `h2`.
    public var networkProtocol: String
    /// Whether the connection had carried another request before.
    public var isReused: Bool
    /// The address that the connection leads to, as `127.0.0.1:80` or `[::1]:80`: a proxy's, where there is one.
    public var remoteAddress: String?
    /// The proxy, as `http://host:port`, without credentials; `nil` where the connection leads to the origin itself.
    public var proxy: String?
    /// The version of TLS, as `TLSv1.3`; `nil` where there is none.
    public var tlsVersion: String?
    /// Whether TLS resumed the session of an earlier connection, in which the server's certificates were judged (RFC 8446 §2.2).
    public var isTLSResumed = false
    /// The version of TLS to an `https:` proxy, as ``tlsVersion``; `nil` where there is none.
    public var proxyTLSVersion: String?
    /// As ``isTLSResumed``, of TLS to the proxy.
    public var isProxyTLSResumed = false
    /// Bytes of the request, head and body, before encryption; in HTTP/2 those of the body and of the fields as text.
    public var bytesSent: Int64 = 0
    /// Bytes of the answer, heads, body as it was coded, and trailers, before decryption; counted as the request's are.
    public var bytesReceived: Int64 = 0

    public init(networkProtocol: String, isReused: Bool = false) {
        self.networkProtocol = networkProtocol
        self.isReused = isReused
    }
}
