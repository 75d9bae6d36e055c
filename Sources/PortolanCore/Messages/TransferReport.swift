// SPDX-License-Identifier: Apache-2.0

/// How one request and its response were transferred over the network, for metrics.
public struct TransferReport: Hashable, Sendable {
    /// The ALPN identifier of the protocol: `http/1.1`, `h2` (IANA "TLS ALPN Protocol IDs").
    public var networkProtocol: String
    /// Whether the connection had carried another request before.
    public var isReused: Bool
    /// The address of the server or, if there is one, of the proxy: `127.0.0.1:80` or `[::1]:80`.
    public var remoteAddress: String?
    /// The address of this end of the connection, such as `127.0.0.1:40960`.
    public var localAddress: String?
    /// The proxy, without credentials: `http://host:port`; `nil` without a proxy.
    public var proxy: String?
    /// The version of TLS, such as `TLSv1.3`; `nil` without TLS.
    public var tlsVersion: String?
    /// Whether TLS resumed the session of an earlier connection (RFC 8446 §2.2). The server's certificate was evaluated
    /// in that connection.
    public var isTLSResumed = false
    /// The version of TLS to an `https:` proxy; `nil` without such a proxy.
    public var proxyTLSVersion: String?
    /// Whether TLS to the proxy resumed an earlier session.
    public var isProxyTLSResumed = false
    /// The size of the request in bytes, before encryption: request line, fields and body. In HTTP/2, the fields count
    /// without header compression.
    public var bytesSent: Int64 = 0
    /// The size of the responses in bytes, after decryption: status lines, fields, encoded body and trailers. In
    /// HTTP/2, the fields count without header compression.
    public var bytesReceived: Int64 = 0

    public init(networkProtocol: String, isReused: Bool = false) {
        self.networkProtocol = networkProtocol
        self.isReused = isReused
    }
}
