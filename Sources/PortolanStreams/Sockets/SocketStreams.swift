// SPDX-License-Identifier: Apache-2.0

public import PortolanTransport
public import PortolanCore

/// A connection as two streams: to a server, or accepted by a ``SocketListener``.
///
///     let socket = SocketStreams(toHost: "example.org", port: 443, configuration: .tls)
///     socket.input.open()
///     socket.output.open()
///     try socket.output.write(all: Array("HEAD / HTTP/1.0\r\nHost: example.org\r\n\r\n".utf8))
///     let answer = try socket.input.read(atMost: 4096)
///
/// The connection is made when one of the streams is opened. ``ByteOutputStream/close()`` sends the rest of the bytes
/// and then closes the sending direction, so that the peer sees the end; bytes from the peer can still be read. The
/// connection is closed when both streams are. If an open output is released without `close()`, or its task is
/// cancelled, the connection is reset. A UNIX socket in clear text has no reset, so its peer can't tell.
public struct SocketStreams: Sendable {
    public let input: ByteInputStream
    public let output: ByteOutputStream
    private let link: SocketLink

    /// Streams to a server that listens on a TCP port.
    ///
    /// The streams fail with `LoadError.Code.nameNotFound`, `LoadError.Code.cannotConnect`,
    /// `LoadError.Code.timedOut`, the codes of proxies, or `LoadError.Code.secureConnectionFailed` and the codes of
    /// certificates; and with `LoadError.Code.connectionLost` if the connection ends without the end of the bytes.
    ///
    /// - Parameters:
    ///   - host: a name, or an IP address without brackets.
    ///   - port: 1 to 65535.
    ///   - configuration: the settings of TLS, the proxy, the buffers and others.
    public init(toHost host: String, port: Int, configuration: SocketConfiguration = SocketConfiguration()) {
        self.init(SocketLink(to: .host(host, port: port), configuration))
    }

    /// Streams to a server that listens on a UNIX socket (unix(7)). The proxy of the configuration is not used.
    ///
    /// The streams fail as those of ``init(toHost:port:configuration:)``, and with `LoadError.Code.badURL` for a path
    /// of over 107 bytes, or `LoadError.Code.accessDenied`.
    public init(toPath path: String, configuration: SocketConfiguration = SocketConfiguration()) {
        self.init(SocketLink(to: .path(path), configuration))
    }

    init(_ link: SocketLink) {
        self.link = link
        (input, output) = (ByteInputStream(SocketSource(link)), ByteOutputStream(SocketSink(link)))
    }

    /// Starts TLS on the connection, for protocols that agree on TLS in clear text (STARTTLS).
    ///
    /// Call it when both sides have agreed, and no thread reads or writes. Bytes that were written before are sent in
    /// clear text. Bytes that were received, but not read, are taken for the beginning of the peer's handshake: clear
    /// text that an attacker has added there makes the handshake fail (RFC 3207 §6). Until the handshake ends, reads
    /// wait, and writes wait when the buffer is full. If the connection is still being opened, TLS starts afterwards.
    ///
    /// A connection to a server uses the TLS settings of ``SocketConfiguration``, and an accepted connection those of
    /// the listener.
    ///
    /// - Parameter completion: called once, on any thread, possibly before this function returns: with `nil`, or with
    ///   the error. After an error of the handshake, both streams have failed with it. Errors of the call itself are
    ///   `LoadError.Code.badRequest` if TLS is already in use or has no settings, and
    ///   `LoadError.Code.connectionLost` if the connection is not open, or one direction has ended.
    public func startTLS(completion: @escaping @Sendable (LoadError?) -> Void = { _ in }) {
        link.startTLS { [weak input] error in
            // The peer's handshake may have been reported as bytes, which nobody has read.
            if error == nil { input?.reportAgain() }
            completion(error)
        }
    }

    /// As ``startTLS(completion:)``, and waits for the end of the handshake.
    ///
    /// - Throws: the error with which `completion` would be called.
    public func startTLS() async throws(LoadError) {
        if let error = await withCheckedContinuation({ continuation in startTLS { continuation.resume(returning: $0) } }) { throw error }
    }
}

/// Settings of ``SocketStreams``. Those that have a ``StreamPropertyKey`` can also be set as a property of one of the
/// streams, for both, before the first of them is opened.
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
    /// The name that the server's certificate must have. `nil` for the host, or for `localhost` with a UNIX socket.
    public var serverName: String?
    /// The proxy: SOCKS5, or HTTP with CONNECT. The environment is not read by default.
    public var proxy = ProxyPolicy.direct
    /// The time limit for DNS, connecting, the proxy and TLS together, and for the handshake of
    /// ``SocketStreams/startTLS(completion:)``.
    public var connectTimeout = Duration.seconds(30)
    public var networkServiceType = NetworkServiceType.default
    /// The number of bytes in each direction that wait for the program or the network; at most about twice as many.
    public var bufferSize = 64 << 10
    /// Answers the challenges of TLS: whether to trust the server, and with which certificate to answer. Called on an
    /// event loop, so do not block. `nil` for default handling.
    public var onChallenge: (@Sendable (AuthenticationChallenge) -> Void)?
}

/// The protection of a connection.
public enum SocketSecurityLevel: Sendable, Hashable {
    /// Clear text.
    case none
    /// TLS with one version.
    case only(TLSSettings.Version)
    /// TLS with the best version that both sides support.
    case negotiated
}

extension StreamPropertyKey<SocketSecurityLevel> {
    /// Whether TLS starts as soon as the connection is made, and with which version. Later,
    /// ``SocketStreams/startTLS(completion:)`` starts TLS.
    public static var securityLevel: Self { Self("org.portolan.stream.security-level") }
}

extension StreamPropertyKey<TLSSettings> {
    public static var tlsSettings: Self { Self("org.portolan.stream.tls-settings") }
}

extension StreamPropertyKey<ProxyPolicy> {
    /// The proxy, such as `.proxy("socks5://user:password@h:1080")`.
    public static var proxy: Self { Self("org.portolan.stream.proxy") }
}

extension StreamPropertyKey<NetworkServiceType> {
    public static var networkServiceType: Self { Self("org.portolan.stream.network-service-type") }
}

extension StreamPropertyKey<String> {
    /// The name or address of the server, as it was given, or the address of an accepted client.
    public static var remoteHost: Self { Self("org.portolan.stream.remote-host", isReadOnly: true) }
    /// The path of the server's UNIX socket.
    public static var remotePath: Self { Self("org.portolan.stream.remote-path", isReadOnly: true) }
    /// The version of TLS in use, such as `TLSv1.3`; `nil` without TLS.
    public static var tlsVersion: Self { Self("org.portolan.stream.tls-version", isReadOnly: true) }
    /// The protocol that the server has chosen by ALPN (RFC 7301).
    public static var applicationProtocol: Self { Self("org.portolan.stream.application-protocol", isReadOnly: true) }
}

extension StreamPropertyKey<Int> {
    public static var remotePort: Self { Self("org.portolan.stream.remote-port", isReadOnly: true) }
}

extension StreamPropertyKey<[ServerCertificate]> {
    /// The certificates that the peer has shown, its own first. A server sees those of a client if it requests them.
    public static var peerCertificates: Self { Self("org.portolan.stream.peer-certificates", isReadOnly: true) }
}

extension StreamPropertyKey<LoadError> {
    /// Why default handling does not trust the server, although the program does; `nil` if it trusts the server.
    public static var peerTrustError: Self { Self("org.portolan.stream.peer-trust-error", isReadOnly: true) }
}
