// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Opens a route through a proxy to one origin. If the name has several addresses and the proxy can't reach the first
/// one, it uses further connections to the proxy, one after the other. Runs on one event loop.
final class ProxyTunnel: @unchecked Sendable {  // … because it is touched on its event loop only
    enum Outcome {
        /// Bytes that are written to the transport reach the origin.
        case established
        /// Another try, on a new connection to the proxy, may succeed.
        case again
        case failed(LoadError)
    }

    /// The maximum number of addresses to try for one name.
    private static let mostAddresses = 8

    private let endpoint: Endpoint
    private let proxy: Proxy
    private let configuration: TransportConfiguration
    private let names: DNSResolver
    private let loop: any EventLoop
    private var query: DNSResolver.Query?
    private var handshake: TunnelHandshake?
    /// The addresses that remain to be tried, once a name has been looked up.
    private var addresses: ArraySlice<IPAddress>?

    init(_ endpoint: Endpoint, through proxy: Proxy, configuration: TransportConfiguration, names: DNSResolver, on loop: any EventLoop) {
        self.endpoint = endpoint
        self.proxy = proxy
        self.configuration = configuration
        self.names = names
        self.loop = loop
    }

    /// Stops waiting for the address of the origin.
    func cancel() {
        if let query { _ = names.withdraw(query) }
        query = nil
    }

    /// - Parameter completion: called once, on the event loop, unless the tunnel is cancelled.
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
        guard let reply = error.underlyingError as? SOCKS5Reply else { return .failed(error) }
        if reply.isOfAddress, addresses?.isEmpty == false { return .again }
        // The message already describes the reply.
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
        let (boundTransport, boundCompletion) = (LoopBound(transport), LoopBound(completion))
        query = names.find(endpoint.peer.host) { [self] answer in
            loop.execute { [self] in didFind(answer, over: boundTransport.value, boundCompletion.value) }
        }
    }

    private func didFind(
        _ answer: DNSResolver.Answer, over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void
    ) {
        guard query != nil else { return }
        query = nil
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
                "host '\(endpoint.peer.host)' was not found: \(reason); check its spelling, or let the proxy find it (socks5h instead of socks5)"
        )
    }
}

extension LoadError {
    fileprivate var withoutCause: LoadError {
        var error = self
        error.underlyingError = nil
        return error
    }
}
