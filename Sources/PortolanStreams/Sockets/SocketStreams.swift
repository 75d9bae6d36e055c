// SPDX-License-Identifier: Apache-2.0

public import PortolanTransport
public import PortolanCore

/// A connection to a server as two streams. It is made when one of them is opened.
///
///     let socket = SocketStreams(toHost: "example.org", port: 443, configuration: .tls)
///     socket.input.open()
///     socket.output.open()
///     try socket.output.write(all: Array("HEAD / HTTP/1.0\r\nHost: example.org\r\n\r\n".utf8))
///     let answer = try socket.input.read(atMost: 4096)
///
/// ``ByteOutputStream/close()`` sends the rest of the bytes and then closes the sending direction, so that the server
/// sees the end; bytes from the server can still be read. The connection is closed when both streams are. If an open
/// output is released without `close()`, or its task is cancelled, the connection is reset.
public struct SocketStreams: Sendable {
    public let input: ByteInputStream
    public let output: ByteOutputStream

    /// Streams to a server that listens on a TCP port.
    ///
    /// The streams fail with ``LoadError/Code/nameNotFound``, ``LoadError/Code/cannotConnect``,
    /// ``LoadError/Code/timedOut``, the codes of proxies, or ``LoadError/Code/secureConnectionFailed`` and the codes of
    /// certificates; and with ``LoadError/Code/connectionLost`` if the connection ends without the end of the bytes.
    ///
    /// - Parameters:
    ///   - host: a name, or an IP address without brackets.
    ///   - port: 1 to 65535.
    public init(toHost host: String, port: Int, configuration: SocketConfiguration = SocketConfiguration()) {
        let link = SocketLink(host: host, port: port, configuration)
        (input, output) = (ByteInputStream(SocketSource(link)), ByteOutputStream(SocketSink(link)))
    }
}

/// Settings of ``SocketStreams``.
public struct SocketConfiguration: Sendable {
    /// A connection without TLS, and without a proxy.
    public init() {}

    /// A connection with TLS, whose server certificate is verified.
    public static var tls: Self {
        var configuration = Self()
        configuration.isSecure = true
        return configuration
    }

    /// Whether TLS starts as soon as the connection is made.
    public var isSecure = false
    public var tls = TLSSettings() {
        didSet { contexts = TLSContextCache(tls) }
    }
    /// Copies of a configuration share the contexts, because making one reads files.
    private(set) var contexts = Self.defaultContexts
    private static let defaultContexts = TLSContextCache(TLSSettings())
    /// The protocols to offer by ALPN (RFC 7301), the preferred one first.
    public var applicationProtocols: [String] = []
    /// The proxy: SOCKS5, or HTTP with CONNECT. The environment is not read by default.
    public var proxy = ProxyPolicy.direct
    /// The time limit for DNS, connecting, the proxy and TLS together.
    public var connectTimeout = Duration.seconds(30)
    public var networkServiceType = NetworkServiceType.default
    /// The number of bytes in each direction that wait for the program or the network; at most about twice as many.
    public var bufferSize = 64 << 10
    /// Answers the challenges of TLS: whether to trust the server, and with which certificate to answer. Called on an
    /// event loop, so do not block. `nil` for default handling.
    public var onChallenge: (@Sendable (AuthenticationChallenge) -> Void)?
}

extension StreamPropertyKey<String> {
    /// The name or address of the server, as it was given.
    public static var remoteHost: Self { Self("org.portolan.stream.remote-host", isReadOnly: true) }
    /// The version of TLS in use, such as `TLSv1.3`; `nil` without TLS.
    public static var tlsVersion: Self { Self("org.portolan.stream.tls-version", isReadOnly: true) }
    /// The protocol that the server has chosen by ALPN (RFC 7301).
    public static var applicationProtocol: Self { Self("org.portolan.stream.application-protocol", isReadOnly: true) }
}

extension StreamPropertyKey<Int> {
    public static var remotePort: Self { Self("org.portolan.stream.remote-port", isReadOnly: true) }
}

extension StreamPropertyKey<[ServerCertificate]> {
    /// The certificates that the server has shown, its own first.
    public static var serverCertificates: Self { Self("org.portolan.stream.server-certificates", isReadOnly: true) }
}
