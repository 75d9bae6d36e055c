// SPDX-License-Identifier: Apache-2.0

public import PortolanCoding
import PortolanCore
public import PortolanTransport
public import PortolanHTTPSyntax

/// How `http:` and `https:` loads behave; given to ``HTTPHandler`` and copied there.
public struct HTTPConfiguration: Sendable {
    /// Sizes that a server controls.
    public var limits = HTTPLimits()
    public var connections = ConnectionLimits()
    public var tls = TLSSettings()
    /// Through which proxy each URL is loaded; by default what the environment says.
    public var proxies = ProxyPolicy.environment
    /// Whether HTTP/2 is offered to servers over TLS.
    public var allowsHTTP2 = true
    /// How far coded bodies may swell.
    public var decoding = ContentDecodingLimits()
    /// Of the heads of parts, in `multipart/x-mixed-replace`.
    public var parts = MultipartLimits()
    /// The `User-Agent` of requests that have none; `nil` sends none (RFC 9110 §10.1.5).
    public var userAgent: String? = "Portolan/\(portolanVersion)"
    /// The `Accept` of requests that have none; `nil` sends none (RFC 9110 §12.5.1).
    public var accept: String? = "*/*"
    /// Whether requests that name no content codings ask for those that can be undone.
    public var asksForContentCodings = true
    public var expectation = ExpectationPolicy()
    /// How many bytes are asked of a socket at once. Large ones make bulk data cheap; only pages that were filled take memory.
    public var receiveBufferSize = 512 << 10
    /// How many threads serve connections; all connections of one origin are on one of them. `nil`: one for each processor.
    public var threadCount: Int?

    public init() {}
}

/// How many connections there may be, and for how long.
public struct ConnectionLimits: Hashable, Sendable {
    /// To one origin through one proxy; more loads wait in turn, those of higher priority first.
    public var perHost = 64
    /// In all.
    public var total = 512
    /// How long a load may wait for a connection, while as many are in use as there may be; `nil`: as long as it takes. This time is not idle time
    /// (`Timeouts.idle`); a load that meets the limit fails with `LoadError.Code.timedOut`.
    public var queueTimeout: Duration? = .seconds(300)
    /// After how long an unused connection is closed.
    public var idleTimeout = Duration.seconds(60)
    /// How long it may take to find the name, connect and make the connection secure.
    public var connectTimeout = Duration.seconds(30)

    public init() {}
}

/// When a request asks the server before it sends its body (`Expect: 100-continue`, RFC 9110 §10.1.1).
public struct ExpectationPolicy: Hashable, Sendable {
    /// Bodies longer than this, in bytes, and those of unknown length are announced; `nil`: only where the request says so itself.
    public var threshold: Int64? = 1 << 20
    /// How long to wait for the server's word before the body is sent anyway.
    public var wait = Duration.seconds(1)

    public init() {}
}
