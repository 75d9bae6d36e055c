// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import PortolanCore

/// A channel on its way: finds the name, connects, and makes it secure. On its connector's event loop.
final class HTTPConnectionAttempt: @unchecked Sendable {  // … because it is touched on its event loop only
    private let key: ConnectionKey
    private let connector: HTTPConnector
    /// Answers the questions of a handshake.
    private weak var respondent: (any ChallengeRespondent)?
    private let didReach: (LoadStep) -> Void
    private var completion: ((Result<OpenChannel, LoadError>) -> Void)?
    /// What was opened and may have to be closed.
    private var channels: [any Channel] = []
    /// What looks for the host's address, or has.
    private var resolver: NameResolver?
    private var deadline: Scheduled<Void>?
    private var endOfTime = NIODeadline.distantFuture
    /// How much of the time limit is left while a question waits for its answer.
    private var timeLeft: TimeAmount?
    private var handshake: TLSHandshake?
    /// How the next handshake is made.
    private var style: TLSHandshake.Style
    private(set) var failsOwnerOnly = false
    /// Whether the connection is opened once more; what was told of it is not told again.
    private var isRepeated = false
    /// What the attempt waits for, for the message of a time-out.
    private var step = ""
    /// Through the proxy, once it was asked.
    private var way: ProxyTunnel?

    init(
        _ key: ConnectionKey, connector: HTTPConnector, respondent: (any ChallengeRespondent)?, didReach: @escaping (LoadStep) -> Void,
        completion: @escaping (Result<OpenChannel, LoadError>) -> Void
    ) {
        self.key = key
        self.connector = connector
        self.respondent = respondent
        self.didReach = didReach
        self.completion = completion
        style = connector.configuration.tls.verification == .none ? .inspecting(isDistrusted: false) : .verifying
    }

    private var configuration: HTTPConfiguration { connector.configuration }
    private var eventLoop: any EventLoop { connector.eventLoop }

    func start() {
        startDeadline(TimeAmount(configuration.connections.connectTimeout))
        openFirst()
    }

    private func startDeadline(_ time: TimeAmount) {
        endOfTime = eventLoop.now + time
        deadline = eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            guard let self else { return }
            let limit = configuration.connections.connectTimeout
            finish(
                .failure(
                    LoadError(
                        .timedOut,
                        message: "no connection to \(key) within \(limit): \(step) did not answer", remedy: .raiseConnectTimeout)))
        }
    }

    /// The time that an answer takes is not the network's.
    private func whileAsking(_ isAsking: Bool) {
        if isAsking, let deadline {
            timeLeft = max(endOfTime - eventLoop.now, .zero)
            deadline.cancel()
            self.deadline = nil
        } else if !isAsking, completion != nil, let timeLeft {
            startDeadline(timeLeft)
        }
    }

    private func openFirst() {
        open(host: key.proxy?.host ?? key.host, port: key.proxy?.port ?? key.port)
    }

    func cancel() {
        finish(.failure(LoadError(.cancelled, message: "the connection to \(key) is no longer needed")))
    }

    private func finish(_ result: Result<OpenChannel, LoadError>) {
        guard let completion else { return }
        self.completion = nil
        resolver?.cancelQueries()
        resolver = nil
        way?.cancel()
        way = nil
        deadline?.cancel()
        handshake?.cancel()
        handshake = nil
        if case .failure = result {
            for channel in channels { channel.close(promise: nil) }
        }
        channels = []
        completion(result)
    }

    private func open(host: String, port: Int) {
        let address = try? SocketAddress(ipAddress: host, port: port)  // `try?` because what is no address is a name
        step = address == nil ? "the name service" : "\(host) port \(port)"
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(configuration.connections.connectTimeout))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.autoRead, value: !key.isPlain)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: configuration.receiveBufferSize))
            .channelInitializer { [self] channel in
                guard completion != nil else { return channel.close() }
                channels.append(channel)
                channel.keepFromChildren()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
        let connected =
            if let address {
                bootstrap.connect(to: address)
            } else {
                bootstrap.resolver(makeResolver { [self] in didFind(host, port) }).connect(host: host, port: port)
            }
        connected.whenComplete { [self] result in
            switch result {
            case .success(let channel): didConnect(channel)
            case .failure(let error): finish(.failure(LoadError.connecting(to: host, port: port, error).of(key.proxy)))
            }
        }
    }

    private func makeResolver(whenFound: @escaping @Sendable () -> Void) -> NameResolver {
        let resolver = NameResolver(connector.names, on: eventLoop, whenFound: whenFound)
        self.resolver = resolver
        return resolver
    }

    private func didFind(_ host: String, _ port: Int) {
        step = "\(host) port \(port)"
        if !isRepeated { didReach(.nameFound) }
    }

    private func didConnect(_ channel: any Channel) {
        guard completion != nil else { return channel.close(promise: nil) }
        channels = [channel]
        if !isRepeated { didReach(.connected) }
        tunnel(through: channel)
    }

    /// Asks the proxy, where there is one, for a way to the origin.
    private func tunnel(through channel: any Channel) {
        guard let proxy = key.proxy, !key.usesAbsoluteForm else { return secure(channel) }
        step = "the proxy \(proxy)"
        let way = way ?? ProxyTunnel(key, through: proxy, configuration: configuration, names: connector.names)
        self.way = way
        way.open(channel) { [self] outcome in
            guard completion != nil else { return }
            switch outcome {
            case .established: secure(channel)
            case .again:
                channel.close(promise: nil)
                open(host: proxy.host, port: proxy.port)
            case .failed(let error): finish(.failure(error))
            }
        }
    }

    private func secure(_ channel: any Channel) {
        guard key.isSecure else {
            return hand(over: channel, report: report(of: channel, protocol: key.version == .http2 ? "h2c" : "http/1.1"), trust: nil)
        }
        step = "the TLS handshake"
        connector.secured.shared(for: key.version, on: eventLoop).whenComplete { [self] result in
            guard completion != nil else { return }
            do { try secure(channel, with: try result.get()) } catch { finish(.failure(.securing(key.peer, error))) }
        }
    }

    private func secure(_ channel: any Channel, with shared: SecureContexts.Shared) throws {
        let handshake = TLSHandshake(key.peer, style, shared: shared, for: respondent, on: eventLoop) { [weak self] in
            self?.whileAsking($0)
        } completion: { [weak self] in
            self?.didSecure(channel, $0)
        }
        self.handshake = handshake
        try handshake.start(on: channel)
    }

    private func didSecure(_ channel: any Channel, _ outcome: TLSHandshake.Outcome) {
        let handshake = handshake
        self.handshake = nil
        switch outcome {
        case .secured(let negotiatedProtocol, let version, let trust):
            guard completion != nil else { return }
            didReach(.secured)
            guard key.version != .http2 || negotiatedProtocol == "h2" else {
                return finish(.failure(LoadError(.cannotConnect, message: "\(key) does not offer HTTP/2", remedy: .useHTTP1)))
            }
            var report = report(of: channel, protocol: negotiatedProtocol ?? "http/1.1")
            report.tlsVersion = version
            hand(over: channel, report: report, trust: trust)
            handshake?.leave()
        case .distrusted:
            // On a new connection the server shows its chain again, to be looked at.
            style = .inspecting(isDistrusted: true)
            isRepeated = true
            way = nil
            for channel in channels { channel.close(promise: nil) }
            openFirst()
        case .failed(let error): finish(.failure(error))
        case .refused(let error):
            failsOwnerOnly = true
            finish(.failure(error))
        }
    }

    private func report(of channel: any Channel, protocol name: String) -> TransferReport {
        var report = TransferReport(networkProtocol: name)
        report.proxy = key.proxy.map { "\($0)" }
        report.remoteAddress = channel.remoteAddress.flatMap { address in
            address.ipAddress.map { "\($0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0):\(address.port ?? 0)" }
        }
        return report
    }

    /// The channel is no longer the attempt's.
    private func hand(over channel: any Channel, report: TransferReport, trust: ServerTrust?) {
        guard channel.isActive else {
            return finish(.failure(LoadError(.cannotConnect, message: "\(key) closed the connection at once; try again")))
        }
        finish(.success(OpenChannel(channel: channel, report: report, trust: trust)))
    }
}

/// A channel that an attempt has opened, with what is known of it.
struct OpenChannel {
    let channel: any Channel
    let report: TransferReport
    /// Which server is at its other end; `nil` where it is not secure.
    let trust: ServerTrust?
}
