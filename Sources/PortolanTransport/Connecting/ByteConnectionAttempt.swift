// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Opens one byte connection: resolves the host, connects, negotiates with the proxy, and starts TLS. Runs on its event
/// loop only.
package final class ByteConnectionAttempt: @unchecked Sendable {  // … because it is touched on its event loop only
    private let endpoint: Endpoint
    private let connector: ByteConnector
    /// Answers the challenges of a handshake.
    private weak var challengeHandler: (any ChallengeHandler)?
    private let didReach: (LoadStep) -> Void
    private var completion: ((Result<OpenConnection, LoadError>) -> Void)?
    private var query: DNSResolver.Query?
    private var race: ConnectionRace?
    /// The open transport. It is closed if the attempt fails.
    private var transport: SocketConnection?
    private var remoteAddress: SocketAddress?
    private var handshake: TLSHandshake?
    /// The tunnel through the proxy, once the attempt has requested it.
    private var tunnel: ProxyTunnel?
    /// The security of TLS to the proxy, if the proxy's URL requires TLS.
    private var proxySecurity: ConnectionSecurity?
    /// Whether the answer of the challenge handler made the attempt fail. Such a failure says nothing about other
    /// attempts.
    package private(set) var failsOwnerOnly = false

    private var deadline: ScheduledTimer?
    private var end: UInt64 = 0
    /// The remaining part of the time limit while a challenge waits for its answer.
    private var timeLeft: Duration?
    /// The current step of the attempt, for the message of a time-out.
    private var step = ""

    init(
        _ endpoint: Endpoint, connector: ByteConnector, challengeHandler: (any ChallengeHandler)?, didReach: @escaping (LoadStep) -> Void,
        completion: @escaping (Result<OpenConnection, LoadError>) -> Void
    ) {
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
        openFirst()
    }

    /// Completes with ``LoadError/Code/cancelled``, and closes everything that was opened.
    package func cancel() {
        finish(.failure(LoadError(.cancelled, message: "the connection to \(endpoint) is no longer needed")))
    }

    private func fail(_ error: LoadError) { finish(.failure(error)) }

    private func finish(_ result: Result<OpenConnection, LoadError>) {
        guard let completion else { return }
        self.completion = nil
        if let query { _ = connector.names.withdraw(query) }
        race?.cancel()
        tunnel?.cancel()
        deadline?.cancel()
        handshake?.cancel()
        if case .failure = result { transport?.close() }
        (query, race, tunnel, deadline, handshake, transport) = (nil, nil, nil, nil, nil, nil)
        completion(result)
    }

    // MARK: Time

    private func startDeadline(_ time: Duration) {
        end = loop.now &+ time.wholeNanoseconds
        deadline = loop.schedule(after: time) { [weak self] in
            guard let self else { return }
            let limit = configuration.connectTimeout
            fail(
                LoadError(
                    .timedOut, message: "no connection to \(endpoint) within \(limit): \(step) did not answer", remedy: .raiseConnectTimeout
                ))
        }
    }

    /// The time that the answer to a challenge takes does not count against the limit.
    private func pauseDeadline(_ isAsking: Bool) {
        if isAsking, let deadline {
            timeLeft = .nanoseconds(Int64(clamping: end > loop.now ? end - loop.now : 0))
            deadline.cancel()
            self.deadline = nil
        } else if !isAsking, completion != nil, let timeLeft {
            startDeadline(timeLeft)
        }
    }

    // MARK: The socket

    private func openFirst() {
        open(host: endpoint.proxy?.host ?? endpoint.peer.host, port: endpoint.proxy?.port ?? endpoint.peer.port)
    }

    private func open(host: String, port: Int) {
        if let address = IPAddress(host) {
            step = "\(host) port \(port)"
            return connect(to: [SocketAddress(address, port: port)], host, port)
        }
        step = "the name service"
        query = connector.names.find(host) { [self] answer in
            loop.execute { [self] in didFind(answer, host, port) }
        }
    }

    private func didFind(_ answer: DNSResolver.Answer, _ host: String, _ port: Int) {
        guard completion != nil else { return }
        query = nil
        switch answer {
        case .success(let addresses):
            guard !addresses.isEmpty else { return fail(.notFound(host, nil).of(endpoint.proxy)) }
            step = "\(host) port \(port)"
            didReach(.domainResolved)
            connect(to: addresses.map { SocketAddress($0.ip, port: port, zone: $0.zone) }, host, port)
        case .failure(let error): fail(.notFound(host, error).of(endpoint.proxy))
        }
    }

    private func connect(to addresses: [SocketAddress], _ host: String, _ port: Int) {
        // The client may have stopped the load when it received the step.
        guard completion != nil else { return }
        let race = ConnectionRace(to: addresses, on: loop) { [self] result in
            switch result {
            case .success(let (socket, address)): didConnect(socket, address)
            case .failure(let error): fail(.connecting(to: host, port: port, error).of(endpoint.proxy))
            }
        }
        self.race = race
        race.start()
    }

    private func didConnect(_ socket: Socket, _ address: SocketAddress) {
        race = nil
        guard completion != nil else { return socket.close() }
        remoteAddress = address
        let transport = SocketConnection(socket, on: loop, readSize: configuration.readSize)
        self.transport = transport
        transport.start(for: ConnectingReceiver(self))
        didReach(.connected)
        guard completion != nil else { return }
        secureProxy(transport)
    }

    fileprivate func transportDidEnd(_ error: SocketError?) {
        fail(.cutOff(endpoint.peer, error, saidBy: endpoint.securedPeer))
    }

    // MARK: The proxy

    /// Starts TLS to the proxy itself, if the proxy's URL requires it.
    private func secureProxy(_ transport: SocketConnection) {
        guard let proxy = endpoint.proxy, proxy.isSecure else { return openTunnel(through: transport) }
        step = "the TLS handshake with the proxy \(proxy)"
        secure(transport, proxy.peer, offering: ["http/1.1"], for: nil) { [self] outcome in
            switch outcome {
            case .secured(let security):
                proxySecurity = security
                openTunnel(through: transport)
            // The first error already names the proxy.
            case .failed(let error): fail(error)
            case .refused(let error): fail(error.of(proxy))
            }
        }
    }

    /// Requests a route to the origin from the proxy, if there is one.
    private func openTunnel(through transport: SocketConnection) {
        guard let proxy = endpoint.proxy, endpoint.usesTunnel || proxy.kind != .http else { return secureOrigin(transport) }
        step = "the proxy \(proxy)"
        let tunnel = tunnel ?? ProxyTunnel(endpoint, through: proxy, configuration: configuration, names: connector.names, on: loop)
        self.tunnel = tunnel
        tunnel.open(over: transport) { [self] outcome in
            guard completion != nil else { return }
            switch outcome {
            case .established: secureOrigin(transport)
            case .again:
                transport.hand(to: ConnectingReceiver(nil))
                transport.close()
                open(host: proxy.host, port: proxy.port)
            case .failed(let error): fail(error)
            }
        }
    }

    // MARK: TLS

    private func secureOrigin(_ transport: SocketConnection) {
        guard let protocols = endpoint.applicationProtocols else { return hand(over: transport, nil) }
        step = "the TLS handshake"
        secure(transport, endpoint.peer, offering: protocols, for: challengeHandler) { [self] outcome in
            switch outcome {
            case .secured(let security):
                didReach(.tlsEstablished)
                hand(over: transport, security)
            case .failed(let error): fail(error)
            case .refused(let error):
                failsOwnerOnly = true
                fail(error)
            }
        }
    }

    private func secure(
        _ transport: SocketConnection, _ peer: TLSPeer, offering protocols: [String], for owner: (any ChallengeHandler)?,
        _ completion: @escaping (TLSHandshake.Outcome) -> Void
    ) {
        let handshake = TLSHandshake(
            peer, contexts: connector.contexts, offering: protocols, for: owner, showsIdentity: !peer.isProxy, on: loop
        ) { [weak self] in
            self?.pauseDeadline($0)
        } completion: { [weak self] outcome in
            guard let self, self.completion != nil else { return }
            self.handshake = nil
            completion(outcome)
        }
        self.handshake = handshake
        handshake.start(on: transport)
    }

    // MARK: The end

    /// Passes the transport to the owner. The attempt no longer uses it.
    private func hand(over transport: SocketConnection, _ security: ConnectionSecurity?) {
        let address = remoteAddress.map { "\($0)" }
        finish(.success(OpenConnection(transport: transport, remoteAddress: address, proxySecurity: proxySecurity, security: security)))
    }
}

/// Receives the events of a transport before a connection owns it. During that time only handshakes read.
private final class ConnectingReceiver: ByteConnectionReceiver {
    private weak var attempt: ByteConnectionAttempt?
    let isIdle = false

    init(_ attempt: ByteConnectionAttempt?) { self.attempt = attempt }

    func didReceive(_ bytes: borrowing RawSpan) {}
    func transportIsWritable() {}
    func transportDidEnd(_ failure: SocketError?) { attempt?.transportDidEnd(failure) }
}

extension Duration {
    /// 0 for a negative duration.
    package var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (nanoseconds, overflows) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflows ? .max / 4 : min(nanoseconds, .max / 4) + UInt64(attoseconds / 1_000_000_000)
    }
}
