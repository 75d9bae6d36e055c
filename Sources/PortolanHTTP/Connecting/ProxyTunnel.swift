// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import PortolanCore

/// Makes the way through a proxy to one origin: over a connection to the proxy, or over one after the other where a name has several
/// addresses and the proxy can't reach the first. On one event loop.
final class ProxyTunnel: @unchecked Sendable {  // … because it is touched on its event loop only
    enum Outcome {
        /// What is written to the channel reaches the origin.
        case established
        /// Another try is worth while, on a new connection to the proxy.
        case again
        case failed(LoadError)
    }

    /// More addresses of a name than these are not tried.
    private static let mostAddresses = 8

    private let key: ConnectionKey
    private let proxy: Proxy
    private let configuration: HTTPConfiguration
    private let names: NameService
    private var resolver: NameResolver?
    /// What is left to try, once a name has been looked up.
    private var addresses: ArraySlice<IPAddress>?

    init(_ key: ConnectionKey, through proxy: Proxy, configuration: HTTPConfiguration, names: NameService) {
        self.key = key
        self.proxy = proxy
        self.configuration = configuration
        self.names = names
    }

    /// Nobody waits for the address of the origin any more.
    func cancel() { resolver?.cancelQueries() }

    /// - Parameter completion: called once, on the event loop of the channel.
    func open(_ channel: any Channel, _ completion: @escaping (Outcome) -> Void) {
        switch proxy.kind {
        case .http:
            negotiate(over: channel, completion) { [self] () throws(LoadError) in
                try ConnectNegotiation(
                    to: key.authorityWithPort, through: proxy, userAgent: configuration.userAgent, limits: configuration.limits)
            }
        case .socks5(let lookUp):
            if let address = IPAddress(key.host) { return connect(to: .address(address), over: channel, completion) }
            switch lookUp {
            case .byProxy: connect(to: .name(key.host), over: channel, completion)
            case .local: connectToNextAddress(over: channel, completion)
            }
        }
    }

    private func negotiate(
        over channel: any Channel, _ completion: @escaping (Outcome) -> Void, _ make: () throws(LoadError) -> any TunnelNegotiation
    ) {
        do {
            let handshake = TunnelHandshake(try make(), with: proxy) { [self] result in
                switch result {
                case .success: completion(.established)
                case .failure(let error): completion(outcome(of: error))
                }
            }
            try channel.pipeline.syncOperations.addHandler(handshake)
        } catch {
            completion(.failed(.negotiating(with: proxy, error)))
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
        to destination: SOCKS5Negotiation.Destination, over channel: any Channel, _ completion: @escaping (Outcome) -> Void
    ) {
        negotiate(over: channel, completion) { [self] () throws(LoadError) in
            try SOCKS5Negotiation(to: destination, port: key.port, through: proxy)
        }
    }

    private func connectToNextAddress(over channel: any Channel, _ completion: @escaping (Outcome) -> Void) {
        if let next = addresses?.popFirst() { return connect(to: .address(next), over: channel, completion) }
        let resolver = NameResolver(names, on: channel.eventLoop)
        self.resolver = resolver
        let ipv6 = resolver.initiateAAAAQuery(host: key.host, port: key.port)
        ipv6.and(resolver.initiateAQuery(host: key.host, port: key.port)).assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let (ipv6, ipv4)):
                addresses = (ipv6 + ipv4).compactMap { $0.ipAddress.flatMap { IPAddress($0) } }.prefix(Self.mostAddresses)
                guard let first = addresses?.popFirst() else { return completion(.failed(notFound("it has no address"))) }
                connect(to: .address(first), over: channel, completion)
            case .failure(let error): completion(.failed(notFound((error as? LoadError)?.message ?? "\(error)")))
            }
        }
    }

    private func notFound(_ reason: String) -> LoadError {
        LoadError(
            .socksFailed,
            message:
                "host '\(key.host)' was not found: \(reason); check its spelling, or have the proxy find it (socks5h in place of socks5)")
    }
}

extension LoadError {
    fileprivate var withoutCause: LoadError {
        var error = self
        error.cause = nil
        return error
    }
}

extension ConnectionKey {
    /// Host and port, the scheme's default port too (RFC 9110 §9.3.6).
    fileprivate var authorityWithPort: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
