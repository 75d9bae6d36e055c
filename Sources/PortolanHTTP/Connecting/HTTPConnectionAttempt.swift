// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A connection on its way: finds the host's addresses, connects, asks proxies, and makes it secure. In the turns of its loop only.
final class HTTPConnectionAttempt: @unchecked Sendable {  // … because it is touched in the turns of its loop only
    private let key: ConnectionKey
    private let connector: HTTPConnector
    /// Answers the challenges of a handshake.
    private weak var respondent: (any ChallengeRespondent)?
    private let didReach: (LoadStep) -> Void
    private var completion: ((Result<OpenConnection, LoadError>) -> Void)?
    private var question: NameService.Question?
    private var race: ConnectionRace?
    /// What was opened, and is closed if the attempt fails.
    private var transport: SocketTransport?
    private var remoteAddress: SocketAddress?
    private var handshake: TLSHandshake?
    /// Through the proxy, once it was asked.
    private var tunnel: ProxyTunnel?
    /// How the proxy was made secure, where it was.
    private var proxyTLS: (version: String?, isResumed: Bool)?
    private(set) var failsOwnerOnly = false

    private var deadline: LoadAlarm?
    private var end: UInt64 = 0
    /// How much of the time limit is left while a challenge waits for its answer.
    private var timeLeft: Duration?
    /// What the attempt waits for, for the message of a time-out.
    private var step = ""

    init(
        _ key: ConnectionKey, connector: HTTPConnector, respondent: (any ChallengeRespondent)?, didReach: @escaping (LoadStep) -> Void,
        completion: @escaping (Result<OpenConnection, LoadError>) -> Void
    ) {
        self.key = key
        self.connector = connector
        self.respondent = respondent
        self.didReach = didReach
        self.completion = completion
    }

    private var configuration: HTTPConfiguration { connector.configuration }
    private var loop: SocketLoop { connector.loop }

    func start() {
        startDeadline(configuration.connections.connectTimeout)
        openFirst()
    }

    func cancel() {
        finish(.failure(LoadError(.cancelled, message: "the connection to \(key) is no longer needed")))
    }

    private func fail(_ error: LoadError) { finish(.failure(error)) }

    private func finish(_ result: Result<OpenConnection, LoadError>) {
        guard let completion else { return }
        self.completion = nil
        if let question { _ = connector.names.withdraw(question) }
        race?.cancel()
        tunnel?.cancel()
        deadline?.cancel()
        handshake?.cancel()
        if case .failure = result { transport?.close() }
        (question, race, tunnel, deadline, handshake, transport) = (nil, nil, nil, nil, nil, nil)
        completion(result)
    }

    // MARK: Time

    private func startDeadline(_ time: Duration) {
        end = loop.now &+ time.wholeNanoseconds
        deadline = loop.schedule(after: time) { [weak self] in
            guard let self else { return }
            let limit = configuration.connections.connectTimeout
            fail(
                LoadError(
                    .timedOut, message: "no connection to \(key) within \(limit): \(step) did not answer", remedy: .raiseConnectTimeout))
        }
    }

    /// The time that an answer takes is not the network's.
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
        open(host: key.proxy?.host ?? key.host, port: key.proxy?.port ?? key.port)
    }

    private func open(host: String, port: Int) {
        if let address = IPAddress(host) {
            step = "\(host) port \(port)"
            return connect(to: [SocketAddress(address, port: port)], host, port)
        }
        step = "the name service"
        question = connector.names.find(host) { [self] answer in
            loop.execute { [self] in didFind(answer, host, port) }
        }
    }

    private func didFind(_ answer: NameService.Answer, _ host: String, _ port: Int) {
        guard completion != nil else { return }
        question = nil
        switch answer {
        case .success(let addresses):
            guard !addresses.isEmpty else { return fail(.notFound(host, nil).of(key.proxy)) }
            step = "\(host) port \(port)"
            didReach(.nameFound)
            connect(to: addresses.map { SocketAddress($0.ip, port: port, zone: $0.zone) }, host, port)
        case .failure(let error): fail(.notFound(host, error).of(key.proxy))
        }
    }

    private func connect(to addresses: [SocketAddress], _ host: String, _ port: Int) {
        // The client may have stopped the load as it heard how far it is.
        guard completion != nil else { return }
        let race = ConnectionRace(to: addresses, on: loop) { [self] result in
            switch result {
            case .success(let (socket, address)): didConnect(socket, address)
            case .failure(let error): fail(.connecting(to: host, port: port, error).of(key.proxy))
            }
        }
        self.race = race
        race.start()
    }

    private func didConnect(_ socket: Socket, _ address: SocketAddress) {
        race = nil
        guard completion != nil else { return socket.close() }
        remoteAddress = address
        let transport = SocketTransport(socket, on: loop, readSize: configuration.receiveBufferSize)
        self.transport = transport
        transport.start(for: ConnectingReceiver(self))
        didReach(.connected)
        guard completion != nil else { return }
        secureProxy(transport)
    }

    fileprivate func transportDidEnd(_ error: SocketError?) {
        fail(.cutOff(key, error))
    }

    // MARK: The proxy

    /// TLS to the proxy itself, where its URL says so.
    private func secureProxy(_ transport: SocketTransport) {
        guard let proxy = key.proxy, proxy.isSecure else { return openTunnel(through: transport) }
        step = "the TLS handshake with the proxy \(proxy)"
        secure(transport, proxy.peer, offering: .http1, for: nil) { [self] outcome in
            switch outcome {
            case .secured(_, let version, let isResumed, _):
                proxyTLS = (version, isResumed)
                openTunnel(through: transport)
            // The first says itself whose handshake it was.
            case .failed(let error): fail(error)
            case .refused(let error): fail(error.of(proxy))
            }
        }
    }

    /// Asks the proxy, where there is one, for a way to the origin.
    private func openTunnel(through transport: SocketTransport) {
        guard let proxy = key.proxy, !key.usesAbsoluteForm else { return secureOrigin(transport) }
        step = "the proxy \(proxy)"
        let tunnel = tunnel ?? ProxyTunnel(key, through: proxy, configuration: configuration, names: connector.names, on: loop)
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

    private func secureOrigin(_ transport: SocketTransport) {
        guard key.isSecure else {
            return hand(over: transport, report(protocol: key.version == .http2 ? "h2c" : "http/1.1"), trust: nil)
        }
        step = "the TLS handshake"
        secure(transport, key.peer, offering: key.version, for: respondent) { [self] outcome in
            switch outcome {
            case .secured(let negotiatedProtocol, let version, let isResumed, let trust):
                didReach(.secured)
                guard completion != nil else { return }
                guard key.version != .http2 || negotiatedProtocol == "h2" else {
                    return fail(LoadError(.cannotConnect, message: "\(key) does not offer HTTP/2", remedy: .useHTTP1))
                }
                var report = report(protocol: negotiatedProtocol ?? "http/1.1")
                report.tlsVersion = version
                report.isTLSResumed = isResumed
                hand(over: transport, report, trust: trust)
            case .failed(let error): fail(error)
            case .refused(let error):
                failsOwnerOnly = true
                fail(error)
            }
        }
    }

    private func secure(
        _ transport: SocketTransport, _ peer: TLSPeer, offering version: HTTPVersionChoice?, for owner: (any ChallengeRespondent)?,
        _ completion: @escaping (TLSHandshake.Outcome) -> Void
    ) {
        let (boundTransport, boundOwner, boundCompletion) = (TurnBound(transport), TurnBound(owner), TurnBound(completion))
        connector.secured.context(for: version) { [self] result in
            let proceed: @Sendable () -> Void = { [self] in
                secure(boundTransport.value, peer, result, for: boundOwner.value, boundCompletion.value)
            }
            if loop.isInTurn { proceed() } else { loop.execute(proceed) }
        }
    }

    private func secure(
        _ transport: SocketTransport, _ peer: TLSPeer, _ context: Result<TLSContext, LoadError>, for owner: (any ChallengeRespondent)?,
        _ completion: @escaping (TLSHandshake.Outcome) -> Void
    ) {
        guard self.completion != nil else { return }
        do throws(LoadError) {
            let handshake = TLSHandshake(
                peer, configuration.tls, context: try context.get(), for: owner, showsIdentity: !peer.isProxy, on: loop
            ) { [weak self] in
                self?.pauseDeadline($0)
            } completion: { [weak self] outcome in
                guard let self, self.completion != nil else { return }
                self.handshake = nil
                completion(outcome)
            }
            self.handshake = handshake
            try handshake.start(on: transport)
        } catch {
            fail(error)
        }
    }

    // MARK: The end

    private func report(protocol name: String) -> TransferReport {
        var report = TransferReport(networkProtocol: name)
        report.proxy = key.proxy.map { "\($0)" }
        report.proxyTLSVersion = proxyTLS?.version
        report.isProxyTLSResumed = proxyTLS?.isResumed == true
        report.remoteAddress = remoteAddress.map { "\($0)" }
        return report
    }

    /// The transport is no longer the attempt's.
    private func hand(over transport: SocketTransport, _ report: TransferReport, trust: ServerTrust?) {
        finish(.success(OpenConnection(transport: transport, report: report, trust: trust)))
    }
}

/// A connection that an attempt has opened, with what is known of it. The first to take its bytes calls ``SocketTransport/hand(to:)``.
struct OpenConnection {
    let transport: SocketTransport
    let report: TransferReport
    /// Which server is at its other end; `nil` where it is not secure.
    let trust: ServerTrust?
}

/// Takes what a transport reports before a connection has it. Nothing is read then but by handshakes.
private final class ConnectingReceiver: ByteReceiver {
    private weak var attempt: HTTPConnectionAttempt?
    let isIdle = false

    init(_ attempt: HTTPConnectionAttempt?) { self.attempt = attempt }

    func didReceive(_ bytes: borrowing RawSpan) {}
    func transportIsWritable() {}
    func transportDidEnd(_ failure: SocketError?) { attempt?.transportDidEnd(failure) }
}

extension Duration {
    /// 0 for what is negative.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (nanoseconds, overflows) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflows ? .max / 4 : min(nanoseconds, .max / 4) + UInt64(attoseconds / 1_000_000_000)
    }
}
