// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Opens a tunnel through a proxy to one origin. If the origin has several addresses and the proxy can't reach the
/// first one, the tunnel needs another connection to the proxy for each further address. Use it on its event loop only.
final class ProxyTunnel: @unchecked Sendable {  // … because only code on its event loop uses it
    enum Outcome {
        /// The tunnel is open: bytes that the client writes reach the origin.
        case established
        /// Another attempt, on a new connection to the proxy, can succeed.
        case retry
        case failed(LoadError)
    }

    /// The maximum number of addresses to try for one name.
    private static let maximumAddressCount = 8

    private let endpoint: Endpoint
    private let proxy: Proxy
    private let configuration: TransportConfiguration
    private let resolver: DNSResolver
    private let loop: any EventLoop
    private var query: DNSResolver.Query?
    private var handshake: TunnelHandshake?
    /// The addresses to try next; `nil` before the name was resolved.
    private var remainingAddresses: ArraySlice<IPAddress>?

    init(_ endpoint: Endpoint, through proxy: Proxy, configuration: TransportConfiguration, resolver: DNSResolver, on loop: any EventLoop) {
        self.endpoint = endpoint
        self.proxy = proxy
        self.configuration = configuration
        self.resolver = resolver
        self.loop = loop
    }

    /// Stops resolving the address of the origin.
    func cancel() {
        if let query { _ = resolver.cancel(query) }
        query = nil
    }

    /// - Parameter completion: called once, on the event loop, unless the tunnel is cancelled or released.
    func open(over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void) {
        switch proxy.kind {
        case .http:
            negotiate(over: transport, completion) { [self] () throws(LoadError) in
                try ConnectNegotiation(
                    to: endpoint.authority, through: proxy, userAgent: configuration.userAgent, limits: configuration.limits)
            }
        case .socks5(let lookUp):
            if let address = IPAddress(endpoint.targetHost) { return connect(to: .address(address), over: transport, completion) }
            switch lookUp {
            case .byProxy: connect(to: .name(endpoint.targetHost), over: transport, completion)
            case .local: connectToNextAddress(over: transport, completion)
            }
        }
    }

    private func negotiate(
        over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void,
        _ makeNegotiation: () throws(LoadError) -> any TunnelNegotiation
    ) {
        do throws(LoadError) {
            let handshake = TunnelHandshake(
                try makeNegotiation(), with: proxy, over: transport, allowsEarlyBytes: endpoint.allowsEarlyBytes
            ) { [weak self] result in
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
        if reply.dependsOnAddress, remainingAddresses?.isEmpty == false { return .retry }
        // The message already describes the reply.
        return .failed(error.withoutCause)
    }

    // MARK: SOCKS5

    private func connect(
        to destination: SOCKS5Negotiation.Destination, over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void
    ) {
        negotiate(over: transport, completion) { [self] () throws(LoadError) in
            try SOCKS5Negotiation(to: destination, port: endpoint.targetPort, through: proxy)
        }
    }

    private func connectToNextAddress(over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void) {
        if let next = remainingAddresses?.popFirst() { return connect(to: .address(next), over: transport, completion) }
        let (boundTransport, boundCompletion) = (LoopBound(transport), LoopBound(completion))
        query = resolver.resolve(endpoint.targetHost) { [self] result in
            loop.execute { [self] in didResolve(result, over: boundTransport.value, boundCompletion.value) }
        }
    }

    private func didResolve(
        _ result: DNSResolver.LookUpResult, over transport: SocketConnection, _ completion: @escaping (Outcome) -> Void
    ) {
        guard query != nil else { return }
        query = nil
        switch result {
        case .success(let addresses):
            remainingAddresses = addresses.map(\.ip).prefix(Self.maximumAddressCount)
            guard let first = remainingAddresses?.popFirst() else { return completion(.failed(notFound("it has no address"))) }
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
