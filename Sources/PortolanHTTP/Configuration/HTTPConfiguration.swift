// SPDX-License-Identifier: Apache-2.0

public import PortolanCoding
import PortolanCore
public import PortolanTransport
public import PortolanHTTPSyntax

/// How `http:` and `https:` loads behave. ``HTTPHandler`` copies the configuration.
public struct HTTPConfiguration: Sendable {
    /// Limits for the parts of a response other than its body.
    public var messageLimits = HTTPLimits()
    public var connectionLimits = ConnectionLimits()
    public var tls = TLSSettings()
    /// The proxy for each URL. By default the environment variables select it.
    public var proxies = ProxyPolicy.environment
    /// Where connections go instead of to the host and the port of the URL.
    public var connectionOverrides = ConnectionOverrides()
    /// The kind of traffic on the connections.
    public var networkServiceType = NetworkServiceType.default
    /// Whether the client offers HTTP/2 over TLS.
    public var allowsHTTP2 = true
    /// Limits for the decoded size of bodies.
    public var decodingLimits = ContentDecodingLimits()
    /// Limits for the heads of the parts of `multipart/x-mixed-replace` bodies.
    public var multipartLimits = MultipartLimits()
    /// The `User-Agent` of requests that have none; `nil` sends none (RFC 9110 §10.1.5).
    public var userAgent: String? = "Portolan/\(portolanVersion)"
    /// The `Accept` of requests that have none; `nil` sends none (RFC 9110 §12.5.1).
    public var accept: String? = "*/*"
    /// Whether requests without Accept-Encoding ask for the content codings that Portolan can decode.
    public var sendsAcceptEncoding = true
    public var expectContinue = ExpectContinuePolicy()
    /// The maximum number of bytes in one read from a socket. Large reads make downloads faster. Only memory pages that
    /// were filled use memory.
    package var receiveBufferSize = 512 << 10
    /// The maximum number of threads for connections. All connections of one origin use the same thread. `nil`, and any
    /// number above the number of processors, means one thread for each processor.
    public var threadCount: Int?

    public init() {}
}

/// Limits for the number of connections, and time limits for opening, waiting and idling.
public struct ConnectionLimits: Hashable, Sendable {
    /// The maximum number of connections to one origin through one proxy. Further loads wait in a queue, sorted by
    /// priority.
    public var perHost = 64
    /// The maximum number of all connections of the handler.
    public var total = 512
    /// How long a load waits for a connection while the maximum number is in use. After this time, the load fails with
    /// `LoadError.Code.timedOut`. `nil` means no limit. The wait does not count as idle time (`Timeouts.idle`).
    public var queueTimeout: Duration? = .seconds(300)
    /// How long an unused connection stays open.
    public var idleTimeout = Duration.seconds(60)
    /// The time limit for opening a connection: DNS, connect, proxy and TLS handshake together.
    public var connectTimeout = Duration.seconds(30)

    public init() {}
}

/// When a request asks the server before it sends its body (`Expect: 100-continue`, RFC 9110 §10.1.1).
public struct ExpectContinuePolicy: Hashable, Sendable {
    /// Requests with a body of more bytes than this, or of unknown length, send the expectation. `nil` means that only
    /// requests with their own `Expect` field send it.
    public var bodySizeThreshold: Int64? = 1 << 20
    /// How long the client waits for the server's response. Then it sends the body.
    public var timeout = Duration.seconds(1)

    public init() {}
}
