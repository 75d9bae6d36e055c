// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport
import Synchronization

/// The connection that the two streams of ``SocketStreams`` share, and the settings with which it is made.
final class SocketLink: Sendable {
    enum Destination: Sendable {
        case host(String, port: Int)
        case path(String)
        /// - Parameter tls: for ``startTLS(_:)``
        case accepted(host: String?, port: Int?, tls: TLSServerContext?, isSecure: Bool)
    }

    private let destination: Destination
    let connection: BufferedConnection
    private let configuration: Mutex<SocketConfiguration>
    /// Whether the connection was opened, so that the settings are in use.
    private let isOpened = Atomic(false)

    init(to destination: Destination, _ configuration: SocketConfiguration) {
        self.destination = destination
        self.configuration = Mutex(configuration)
        connection = BufferedConnection(to: destination.name, bufferSize: configuration.bufferSize)
    }

    /// A connection that was accepted.
    ///
    /// - Parameter isSecure: whether TLS starts when the connection is opened.
    init(accepting socket: AcceptedSocket, tls: TLSServerContext?, isSecure: Bool, bufferSize: Int) {
        destination = .accepted(host: socket.remoteHost, port: socket.remotePort, tls: tls, isSecure: isSecure)
        configuration = Mutex(SocketConfiguration())
        connection = BufferedConnection(accepting: socket, tls: isSecure ? tls : nil, bufferSize: bufferSize)
    }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        let configuration = configuration.withLock { configuration in
            isOpened.store(true, ordering: .relaxed)
            return configuration
        }
        connection.open({ () throws(LoadError) in try self.route(configuration) }, completion: completion)
    }

    private func route(_ configuration: SocketConfiguration) throws(LoadError) -> BufferedConnection.Route? {
        var transport = TransportConfiguration()
        transport.connectTimeout = configuration.connectTimeout
        transport.tls = configuration.tls
        transport.networkServiceType = configuration.networkServiceType
        guard var endpoint = try destination.endpoint(configuration) else { return nil }
        if configuration.isSecure { endpoint.applicationProtocols = configuration.applicationProtocols }
        return BufferedConnection.Route(
            to: endpoint, transport, contexts: configuration.contexts, onChallenge: configuration.onChallenge)
    }

    /// Starts TLS on the open connection.
    func startTLS(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        do throws(LoadError) { connection.startTLS(try tlsRole(), completion: completion) } catch { completion(error) }
    }

    private func tlsRole() throws(LoadError) -> BufferedConnection.TLSRole {
        if case .accepted(_, _, let context, _) = destination {
            guard let context else { throw LoadError(.badRequest, message: "TLS can't start, because the listener has no TLS settings") }
            return .server(context)
        }
        let configuration = configuration.withLock { $0 }
        guard let endpoint = try destination.endpoint(configuration) else {
            throw LoadError(.badRequest, message: "TLS can't start without the name of the server")
        }
        return .client(
            peer: endpoint.peer, contexts: configuration.contexts, protocols: configuration.applicationProtocols,
            onChallenge: configuration.onChallenge, timeLimit: configuration.connectTimeout)
    }

    // MARK: Properties

    func property(_ name: String) -> (any Sendable)? {
        let tls = connection.tlsProperties
        return switch name {
        case StreamPropertyKey<String>.remoteHost.name: destination.host
        case StreamPropertyKey<Int>.remotePort.name: destination.port
        case StreamPropertyKey<String>.remotePath.name: destination.path
        case StreamPropertyKey<String>.tlsVersion.name: tls?.version
        case StreamPropertyKey<String>.applicationProtocol.name: tls?.applicationProtocol
        case StreamPropertyKey<[ServerCertificate]>.peerCertificates.name: tls?.peerCertificates
        case StreamPropertyKey<LoadError>.peerTrustError.name: tls?.trustError
        case StreamPropertyKey<SocketSecurityLevel>.securityLevel.name: securityLevel(isSecure: tls != nil)
        case StreamPropertyKey<TLSSettings>.tlsSettings.name where !destination.isAccepted: configuration.withLock { $0.tls }
        case StreamPropertyKey<ProxyPolicy>.proxy.name where !destination.isAccepted: configuration.withLock { $0.proxy }
        case StreamPropertyKey<NetworkServiceType>.networkServiceType.name where !destination.isAccepted:
            configuration.withLock { $0.networkServiceType }
        default: nil
        }
    }

    private func securityLevel(isSecure: Bool) -> SocketSecurityLevel {
        if case .accepted(_, _, let context, let isSecureFromStart) = destination {
            guard let settings = context?.settings, isSecure || isSecureFromStart else { return .none }
            return settings.minimumVersion == settings.maximumVersion ? .only(settings.minimumVersion) : .negotiated
        }
        return configuration.withLock { configuration in
            guard configuration.isSecure || isSecure else { return .none }
            return configuration.tls.minimumVersion == configuration.tls.maximumVersion
                ? .only(configuration.tls.minimumVersion) : .negotiated
        }
    }

    /// Settings can be changed until the connection is opened.
    func setProperty(_ value: any Sendable, for name: String) -> Bool {
        configuration.withLock { configuration in
            guard !isOpened.load(ordering: .relaxed), !destination.isAccepted else { return false }
            switch (name, value) {
            case (StreamPropertyKey<SocketSecurityLevel>.securityLevel.name, let level as SocketSecurityLevel):
                configuration.isSecure = level != .none
                switch level {
                case .none: break
                case .only(let version): (configuration.tls.minimumVersion, configuration.tls.maximumVersion) = (version, version)
                case .negotiated:
                    let settings = TLSSettings()
                    (configuration.tls.minimumVersion, configuration.tls.maximumVersion) = (
                        settings.minimumVersion, settings.maximumVersion
                    )
                }
            case (StreamPropertyKey<TLSSettings>.tlsSettings.name, let tls as TLSSettings): configuration.tls = tls
            case (StreamPropertyKey<ProxyPolicy>.proxy.name, let proxy as ProxyPolicy): configuration.proxy = proxy
            case (StreamPropertyKey<NetworkServiceType>.networkServiceType.name, let service as NetworkServiceType):
                configuration.networkServiceType = service
            default: return false
            }
            return true
        }
    }
}

extension SocketLink.Destination {
    fileprivate var name: String {
        switch self {
        case .host(let host, let port): "\(host) port \(port)"
        case .path(let path): "the socket '\(path)'"
        case .accepted(let host, let port, _, _): host.map { "\($0) port \(port ?? 0)" } ?? "a client"
        }
    }

    fileprivate var host: String? {
        switch self {
        case .host(let host, _): host
        case .path: nil
        case .accepted(let host, _, _, _): host
        }
    }

    fileprivate var port: Int? {
        switch self {
        case .host(_, let port): port
        case .path: nil
        case .accepted(_, let port, _, _): port
        }
    }

    fileprivate var path: String? { if case .path(let path) = self { path } else { nil } }
    fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }

    /// - Returns: `nil` for an accepted connection.
    fileprivate func endpoint(_ configuration: SocketConfiguration) throws(LoadError) -> Endpoint? {
        switch self {
        case .accepted: return nil
        case .path(let path):
            let name = try Self.serverName(configuration.serverName ?? "localhost", port: 1).name
            var endpoint = Endpoint(
                TLSPeer(host: name, port: 0, description: "the socket '\(DisplayText.line(path))'", protocolName: "tls"))
            endpoint.socketAddress = try UNIXSocketAddress(path)
            return endpoint
        case .host(let host, let port):
            guard 1...65535 ~= port else { throw LoadError(.badURL, message: "port \(port) is not in 1 to 65535") }
            let (name, request) = try Self.serverName(host, port: port)
            let proxy = try ProxySelection(configuration.proxy).proxy(for: request)
            let certificateName = try configuration.serverName.map { name throws(LoadError) in try Self.serverName(name, port: port).name }
            let peer = TLSPeer(
                host: certificateName ?? name, port: port, description: "\(Self.bracketed(name)):\(port)", protocolName: "tls")
            var endpoint = Endpoint(peer, through: proxy)
            endpoint.mayServerSendFirst = true
            endpoint.target = ConnectionOverrides.Target(host: name, port: port)
            return endpoint
        }
    }

    private static func bracketed(_ host: String) -> String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    /// Parses the host as in a URL, so that nothing else gets into a proxy's request.
    private static func serverName(_ host: String, port: Int) throws(LoadError) -> (name: String, request: Request) {
        let request = try Request("https://\(bracketed(host)):\(port)/")
        guard let parsed = request.url.host, !host.contains(where: { "@/?#\\".contains($0) }) else {
            throw LoadError(.badURL, message: "'\(host)' is not a host")
        }
        return (parsed.hasPrefix("[") ? String(parsed.dropFirst().dropLast()) : String(parsed), request)
    }
}

// MARK: The streams

final class SocketSource: ByteSource {
    private let link: SocketLink

    init(_ link: SocketLink) { self.link = link }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { link.open(completion) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        link.connection.read(into: &buffer, whenReady: whenReady)
    }

    func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool { link.connection.withReceivedBytes(body) }
    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? { link.connection.peek(whenReady: whenReady) }
    func close() { link.connection.closeReading() }
    func property(_ name: String) -> (any Sendable)? { link.property(name) }
    func setProperty(_ value: any Sendable, for name: String) -> Bool { link.setProperty(value, for: name) }
}

final class SocketSink: ByteSink {
    private let link: SocketLink
    private let wasOpened = Atomic(false)

    init(_ link: SocketLink) { self.link = link }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        wasOpened.store(true, ordering: .relaxed)
        link.open(completion)
    }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        switch link.connection.write(bytes, whenReady: whenReady) {
        case .wrote(let count): .wrote(count)
        case .wait: .wait
        case .failed(let error): .failed(error)
        }
    }

    func finish() -> LoadError? {
        // A stream that was never opened does not close the sending direction.
        if wasOpened.load(ordering: .relaxed) { link.connection.finishWriting() }
        return nil
    }

    func close() { link.connection.closeWriting(wasOpen: wasOpened.load(ordering: .relaxed)) }
    func property(_ name: String) -> (any Sendable)? { link.property(name) }
    func setProperty(_ value: any Sendable, for name: String) -> Bool { link.setProperty(value, for: name) }
}
