// SPDX-License-Identifier: Apache-2.0

/// How one request and its response were transferred over the network, for metrics.
public struct TransferReport: Hashable, Sendable {
    /// The protocol by its ALPN identifier (IANA "TLS ALPN Protocol IDs"): `http/1.1`, `h2`.
    public var networkProtocol: String
    /// Whether the connection had carried another request before.
    public var isReused: Bool
    /// The address that the connection leads to, as `127.0.0.1:80` or `[::1]:80`: that of the proxy, if there is one.
    public var remoteAddress: String?
    /// The proxy, as `http://host:port`, without credentials; `nil` if the connection leads to the origin itself.
    public var proxy: String?
    /// The version of TLS, as `TLSv1.3`; `nil` without TLS.
    public var tlsVersion: String?
    /// Whether TLS resumed the session of an earlier connection, in which the server's certificates were evaluated (RFC
    /// 8446 §2.2).
    public var isTLSResumed = false
    /// The version of TLS to an `https:` proxy, like ``tlsVersion``; `nil` without TLS to a proxy.
    public var proxyTLSVersion: String?
    /// Like ``isTLSResumed``, for TLS to the proxy.
    public var isProxyTLSResumed = false
    /// Bytes of the request, head and body, before encryption. In HTTP/2, those of the body and of the fields as text.
    public var bytesSent: Int64 = 0
    /// Bytes of the response: heads, encoded body and trailers, after decryption. They are counted like those of the
    /// request.
    public var bytesReceived: Int64 = 0

    public init(networkProtocol: String, isReused: Bool = false) {
        self.networkProtocol = networkProtocol
        self.isReused = isReused
    }
}
