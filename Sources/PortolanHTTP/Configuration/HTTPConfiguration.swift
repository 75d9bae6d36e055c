// SPDX-License-Identifier: Apache-2.0

public import PortolanCoding
import PortolanCore
public import PortolanTransport
public import PortolanHTTPSyntax

/// How `http:` and `https:` loads behave. ``HTTPHandler`` copies the configuration.
public struct HTTPConfiguration: Sendable {
    /// Limits for sizes that a server controls.
    public var messageLimits = HTTPLimits()
    public var connectionLimits = ConnectionLimits()
    public var tls = TLSSettings()
    /// The proxy for each URL. By default the environment decides.
    public var proxies = ProxyPolicy.environment
    /// Whether HTTP/2 is offered to servers over TLS.
    public var allowsHTTP2 = true
    /// Limits for the decoded size of bodies.
    public var decodingLimits = ContentDecodingLimits()
    /// Limits for the heads of parts in `multipart/x-mixed-replace`.
    public var multipartLimits = MultipartLimits()
    /// The `User-Agent` of requests that have none; `nil` sends none (RFC 9110 §10.1.5).
    public var userAgent: String? = "Portolan/\(portolanVersion)"
    /// The `Accept` of requests that have none; `nil` sends none (RFC 9110 §12.5.1).
    public var accept: String? = "*/*"
    /// Whether requests without Accept-Encoding ask for the content codings that Portolan can decode.
    public var sendsAcceptEncoding = true
    public var expectContinue = ExpectContinuePolicy()
    /// How many bytes are read from a socket at once. Large reads make bulk data cheap. Only pages that were filled use
    /// memory.
    package var receiveBufferSize = 512 << 10
    /// How many threads serve connections. All connections of one origin are on one thread. `nil`: one thread for each
    /// processor.
    public var threadCount: Int?

    public init() {}
}

/// How many connections there may be, and how long they may wait or live.
public struct ConnectionLimits: Hashable, Sendable {
    /// Connections to one origin through one proxy. More loads wait in a queue, those of higher priority first.
    public var perHost = 64
    /// Connections in total.
    public var total = 512
    /// How long a load may wait for a connection while the maximum number is in use; `nil`: no limit. This time is not
    /// idle time (`Timeouts.idle`). A load that exceeds the limit fails with `LoadError.Code.timedOut`.
    public var queueTimeout: Duration? = .seconds(300)
    /// How long an unused connection stays open.
    public var idleTimeout = Duration.seconds(60)
    /// How long name resolution, connecting and securing the connection may take together.
    public var connectTimeout = Duration.seconds(30)

    public init() {}
}

/// When a request waits for the server's permission before it sends its body (`Expect: 100-continue`, RFC 9110
/// §10.1.1).
public struct ExpectContinuePolicy: Hashable, Sendable {
    /// Bodies longer than this, in bytes, and bodies of unknown length are announced. `nil`: only if the request itself
    /// says so.
    public var bodySizeThreshold: Int64? = 1 << 20
    /// How long to wait for the server's response before the body is sent anyway.
    public var timeout = Duration.seconds(1)

    public init() {}
}
