// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Makes the way through a proxy to one origin: over a connection to the proxy, or over one after the other where a name has several
/// addresses and the proxy can't reach the first. In the turns of one loop.
final class ProxyTunnel: @unchecked Sendable {  // … because it is touched in the turns of its loop only
    enum Outcome {
        /// What is written to the transport reaches the origin.
        case established
        /// Another try is worth while, on a new connection to the proxy.
        case again
        case failed(LoadError)
    }

    /// More addresses of a name than these are not tried.
    private static let mostAddresses = 8

    private let endpoint: Endpoint
    private let proxy: Proxy
    private let configuration: TransportConfiguration
    private let names: DNSResolver
    private let loop: any EventLoop
    private var question: DNSResolver.Question?
    private var handshake: TunnelHandshake?
    /// What is left to try, once a name has been looked up.
    private var addresses: ArraySlice<IPAddress>?

    init(_ endpoint: Endpoint, through proxy: Proxy, configuration: TransportConfiguration, names: DNSResolver, on loop: any EventLoop) {
        self.endpoint = endpoint
        self.proxy = proxy
        self.configuration = configuration
        self.names = names
        self.loop = loop
    }

    /// Nobody waits for the address of the origin any more.
    func cancel() {
        if let question { _ = names.withdraw(question) }
        question = nil
    }

    /// - Parameter completion: called once, in a turn, unless it is cancelled.
    func open(over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void) {
        switch proxy.kind {
        case .http:
            negotiate(over: transport, completion) { [self] () throws(LoadError) in
                try ConnectNegotiation(
                    to: endpoint.authority, through: proxy, userAgent: configuration.userAgent, limits: configuration.limits)
            }
        case .socks5(let lookUp):
            if let address = IPAddress(endpoint.peer.host) { return connect(to: .address(address), over: transport, completion) }
            switch lookUp {
            case .byProxy: connect(to: .name(endpoint.peer.host), over: transport, completion)
            case .local: connectToNextAddress(over: transport, completion)
            }
        }
    }

    private func negotiate(
        over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void, _ make: () throws(LoadError) -> any TunnelNegotiation
    ) {
        do throws(LoadError) {
            let handshake = TunnelHandshake(try make(), with: proxy, over: transport) { [weak self] result in
                guard let self else { return }
                self.handshake = nil
                switch result {
                case .success: completion(.established)
                case .failure(let error): completion(outcome(of: error))
                }
            }
            self.handshake = handshake
            handshake.start()
        } catch {
            completion(.failed(error))
        }
    }

    private func outcome(of error: LoadError) -> Outcome {
        guard let reply = error.cause as? SOCKS5Reply else { return .failed(error) }
        if reply.isOfAddress, addresses?.isEmpty == false { return .again }
        // The message says what the reply does.
        return .failed(error.withoutCause)
    }

    // MARK: SOCKS5

    private func connect(
        to destination: SOCKS5Negotiation.Destination, over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void
    ) {
        negotiate(over: transport, completion) { [self] () throws(LoadError) in
            try SOCKS5Negotiation(to: destination, port: endpoint.peer.port, through: proxy)
        }
    }

    private func connectToNextAddress(over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void) {
        if let next = addresses?.popFirst() { return connect(to: .address(next), over: transport, completion) }
        let (boundTransport, boundCompletion) = (TurnBound(transport), TurnBound(completion))
        question = names.find(endpoint.peer.host) { [self] answer in
            loop.execute { [self] in didFind(answer, over: boundTransport.value, boundCompletion.value) }
        }
    }

    private func didFind(
        _ answer: DNSResolver.Answer, over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void
    ) {
        guard question != nil else { return }
        question = nil
        switch answer {
        case .success(let found):
            addresses = found.map(\.ip).prefix(Self.mostAddresses)
            guard let first = addresses?.popFirst() else { return completion(.failed(notFound("it has no address"))) }
            connect(to: .address(first), over: transport, completion)
        case .failure(let error): completion(.failed(notFound((error as? LoadError)?.message ?? "\(error)")))
        }
    }

    private func notFound(_ reason: String) -> LoadError {
        LoadError(
            .socksFailed,
            message:
                "host '\(endpoint.peer.host)' was not found: \(reason); check its spelling, or have the proxy find it (socks5h in place of socks5)"
        )
    }
}

extension LoadError {
    fileprivate var withoutCause: LoadError {
        var error = self
        error.cause = nil
        return error
    }
}
