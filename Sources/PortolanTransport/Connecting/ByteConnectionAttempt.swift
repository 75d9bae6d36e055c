// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Opens one byte connection: resolves the host, connects, negotiates with the proxy, and starts TLS. Use it on its
/// event loop only.
package final class ByteConnectionAttempt: @unchecked Sendable {  // … because only code on its event loop uses it
    private let endpoint: Endpoint
    private let connector: ByteConnector
    /// Answers the challenges of a handshake.
    private weak var challengeHandler: (any ChallengeHandler)?
    private let didReach: (LoadStep) -> Void
    private var completion: ((Result<OpenConnection, LoadError>) -> Void)?
    private var query: DNSResolver.Query?
    private var race: ConnectionRace?
    /// The open connection. It is closed if the attempt fails.
    private var transport: SocketConnection?
    private var remoteAddress: SocketAddress?
    private var localAddress: SocketAddress?
    private var handshake: TLSHandshake?
    /// The tunnel through the proxy. `nil` before the attempt has requested it.
    private var tunnel: ProxyTunnel?
    /// The TLS properties of the connection to the proxy, if the proxy's URL requires TLS.
    private var proxySecurity: ConnectionSecurity?
    /// Whether the attempt failed because of the challenge handler's answer. An attempt for another load can succeed.
    package private(set) var isRefusedByOwner = false

    private var deadlineTimer: ScheduledTimer?
    /// The end of the time limit, in nanoseconds of the loop's clock.
    private var deadline: UInt64 = 0
    /// The remaining part of the time limit, while the attempt waits for the answer to a challenge.
    private var remainingTime: Duration?
    /// What the attempt is waiting for, for the message of a time-out.
    private var currentStep = ""

    init(
        _ endpoint: Endpoint, connector: ByteConnector, challengeHandler: (any ChallengeHandler)?, didReach: @escaping (LoadStep) -> Void,
        completion: @escaping (Result<OpenConnection, LoadError>) -> Void
    ) {
        var endpoint = endpoint
        if let target = connector.configuration.overrides.target(host: endpoint.targetHost, port: endpoint.targetPort) {
            endpoint.target = target
        }
        self.endpoint = endpoint
        self.connector = connector
        self.challengeHandler = challengeHandler
        self.didReach = didReach
        self.completion = completion
    }

    private var configuration: TransportConfiguration { connector.configuration }
    private var loop: SocketEventLoop { connector.loop }

    package func start() {
        startDeadline(configuration.connectTimeout)
        if let address = endpoint.socketAddress { connect(to: address) } else { resolveFirstHost() }
    }

    /// Completes with ``LoadError/Code/cancelled``, and closes everything that was opened.
    package func cancel() {
        finish(.failure(LoadError(.cancelled, message: "the connection to \(endpoint) is no longer needed")))
    }

    private func fail(_ error: LoadError) { finish(.failure(error)) }

    private func finish(_ result: Result<OpenConnection, LoadError>) {
        guard let completion else { return }
        self.completion = nil
        if let query { _ = connector.resolver.cancel(query) }
        race?.cancel()
        tunnel?.cancel()
        deadlineTimer?.cancel()
        handshake?.cancel()
        if case .failure = result { transport?.close() }
        (query, race, tunnel, deadlineTimer, handshake, transport) = (nil, nil, nil, nil, nil, nil)
        completion(result)
    }

    // MARK: Time

    private func startDeadline(_ time: Duration) {
        deadline = loop.now &+ time.wholeNanoseconds
        deadlineTimer = loop.schedule(after: time) { [weak self] in
            guard let self else { return }
            let limit = configuration.connectTimeout
            fail(
                LoadError(
                    .timedOut, message: "no connection to \(endpoint) within \(limit): \(currentStep) did not answer",
                    remedy: .raiseConnectTimeout
                ))
        }
    }

    /// Pauses or resumes the time limit. The limit is paused while the attempt waits for the answer to a challenge.
    private func setDeadlinePaused(_ isPaused: Bool) {
        if isPaused, let deadlineTimer {
            remainingTime = .nanoseconds(Int64(clamping: deadline > loop.now ? deadline - loop.now : 0))
            deadlineTimer.cancel()
            self.deadlineTimer = nil
        } else if !isPaused, completion != nil, let remainingTime {
            startDeadline(remainingTime)
        }
    }

    // MARK: The socket

    private func resolveFirstHost() {
        resolve(host: endpoint.proxy?.host ?? endpoint.targetHost, port: endpoint.proxy?.port ?? endpoint.targetPort)
    }

    private func resolve(host: String, port: Int) {
        if let addresses = configuration.overrides.addresses(host: host, port: port) {
            currentStep = "\(host) port \(port)"
            return connect(to: addresses.map { SocketAddress($0, port: port) }, host, port)
        }
        if let address = IPAddress(host) {
            currentStep = "\(host) port \(port)"
            return connect(to: [SocketAddress(address, port: port)], host, port)
        }
        currentStep = "the name service"
        query = connector.resolver.resolve(host) { [self] result in
            loop.execute { [self] in didResolve(result, host, port) }
        }
    }

    private func didResolve(_ result: DNSResolver.LookUpResult, _ host: String, _ port: Int) {
        guard completion != nil else { return }
        query = nil
        switch result {
        case .success(let addresses):
            let addresses = addresses.filter { configuration.overrides.addressFamily.allows($0.ip) }
            guard !addresses.isEmpty else { return fail(.hostNotFound(host, nil).attributed(to: endpoint.proxy)) }
            currentStep = "\(host) port \(port)"
            didReach(.domainResolved)
            connect(to: addresses.map { SocketAddress($0.ip, port: port, zone: $0.zone) }, host, port)
        case .failure(let error): fail(.hostNotFound(host, error).attributed(to: endpoint.proxy))
        }
    }

    private func connect(to addresses: [SocketAddress], _ host: String, _ port: Int) {
        // The client can have stopped the load when it received the step.
        guard completion != nil else { return }
        let race = ConnectionRace(to: addresses, on: loop, for: configuration.networkServiceType) { [self] result in
            switch result {
            case .success(let (socket, address)): didConnect(socket, address)
            case .failure(let error): fail(.cannotConnect(to: host, port: port, error).attributed(to: endpoint.proxy))
            }
        }
        self.race = race
        race.start()
    }

    /// Connects to a UNIX socket. While the server has too many waiting connections, tries again.
    private func connect(to address: UNIXSocketAddress) {
        guard completion != nil else { return }
        let name = "'\(DisplayText.line(address.path))'"
        currentStep = "the socket \(name)"
        let socket = Socket.make(AF_UNIX)
        switch socket?.connect(to: address) ?? errno {
        case 0: if let socket { didConnect(socket, nil) }
        case EAGAIN: _ = loop.schedule(after: .milliseconds(10)) { [weak self] in self?.connect(to: address) }
        case let number:
            let code: LoadError.Code = number == EACCES ? .accessDenied : .cannotConnect
            fail(LoadError(code, message: "can't connect to the socket \(name): \(LoadError.text(of: number))"))
        }
    }

    private func didConnect(_ socket: Socket, _ address: SocketAddress?) {
        race = nil
        guard completion != nil else { return socket.close() }
        (remoteAddress, localAddress) = (address, socket.localAddress)
        let transport = SocketConnection(socket, on: loop, readSize: configuration.readSize)
        self.transport = transport
        transport.start(for: ConnectingReceiver(self))
        didReach(.connected)
        guard completion != nil else { return }
        secureProxy(transport)
    }

    fileprivate func transportDidEnd(_ error: SocketError?) {
        fail(.connectionLost(endpoint.peer, error, reportedBy: endpoint.securedPeer))
    }

    // MARK: The proxy

    /// Starts TLS to the proxy itself, if the proxy's URL requires it.
    private func secureProxy(_ transport: SocketConnection) {
        guard let proxy = endpoint.proxy, proxy.isSecure else { return openTunnel(through: transport) }
        currentStep = "the TLS handshake with the proxy \(proxy)"
        startTLS(transport, proxy.peer, offering: ["http/1.1"], for: nil) { [self] outcome in
            switch outcome {
            case .secured(let security):
                proxySecurity = security
                openTunnel(through: transport)
            // This error already names the proxy.
            case .failed(let error): fail(error)
            case .refused(let error): fail(error.attributed(to: proxy))
            }
        }
    }

    /// Requests a tunnel to the origin from the proxy, if there is one.
    private func openTunnel(through transport: SocketConnection) {
        guard let proxy = endpoint.proxy, endpoint.usesTunnel || proxy.kind != .http else { return secureOrigin(transport) }
        currentStep = "the proxy \(proxy)"
        let tunnel = tunnel ?? ProxyTunnel(endpoint, through: proxy, configuration: configuration, resolver: connector.resolver, on: loop)
        self.tunnel = tunnel
        tunnel.open(over: transport) { [self] outcome in
            guard completion != nil else { return }
            switch outcome {
            case .established: secureOrigin(transport)
            case .retry:
                transport.setReceiver(ConnectingReceiver(nil))
                transport.close()
                resolve(host: proxy.host, port: proxy.port)
            case .failed(let error): fail(error)
            }
        }
    }

    // MARK: TLS

    private func secureOrigin(_ transport: SocketConnection) {
        guard let protocols = endpoint.applicationProtocols else { return complete(with: transport, nil) }
        currentStep = "the TLS handshake"
        startTLS(transport, endpoint.peer, offering: protocols, for: challengeHandler) { [self] outcome in
            switch outcome {
            case .secured(let security):
                didReach(.tlsEstablished)
                complete(with: transport, security)
            case .failed(let error): fail(error)
            case .refused(let error):
                isRefusedByOwner = true
                fail(error)
            }
        }
    }

    private func startTLS(
        _ transport: SocketConnection, _ peer: TLSPeer, offering protocols: [String], for challengeHandler: (any ChallengeHandler)?,
        _ completion: @escaping (TLSHandshake.Outcome) -> Void
    ) {
        let handshake = TLSHandshake(
            peer, contexts: connector.contexts, offering: protocols, for: challengeHandler, showsIdentity: !peer.isProxy, on: loop
        ) { [weak self] in
            self?.setDeadlinePaused($0)
        } completion: { [weak self] outcome in
            guard let self, self.completion != nil else { return }
            self.handshake = nil
            completion(outcome)
        }
        self.handshake = handshake
        handshake.start(on: transport)
    }

    // MARK: The end

    /// Completes with the open connection. The attempt no longer uses it.
    private func complete(with transport: SocketConnection, _ security: ConnectionSecurity?) {
        finish(
            .success(
                OpenConnection(
                    transport: transport, remoteAddress: remoteAddress.map { "\($0)" }, localAddress: localAddress.map { "\($0)" },
                    proxySecurity: proxySecurity, security: security)))
    }
}

/// Receives the events of a connection while it is being opened. During that time only handshakes read.
private final class ConnectingReceiver: ByteConnectionReceiver {
    private weak var attempt: ByteConnectionAttempt?
    let isIdle = false

    init(_ attempt: ByteConnectionAttempt?) { self.attempt = attempt }

    func didReceive(_ bytes: borrowing RawSpan) {}
    func transportIsWritable() {}
    func transportDidEnd(_ failure: SocketError?) { attempt?.transportDidEnd(failure) }
}

extension Duration {
    /// The duration in nanoseconds, rounded down; 0 for a negative duration.
    package var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (nanoseconds, overflows) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflows ? .max / 4 : min(nanoseconds, .max / 4) + UInt64(attoseconds / 1_000_000_000)
    }
}
