// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
package import PortolanHTTPSyntax

/// Settings for opening byte connections.
package struct TransportConfiguration: Sendable {
    /// The time limit for opening a connection: DNS, connect, proxy negotiation and TLS handshake. Waiting for the
    /// answer to a challenge does not count.
    package var connectTimeout = Duration.seconds(30)
    package var tls = TLSSettings()
    package var overrides = ConnectionOverrides()
    package var networkServiceType = NetworkServiceType.default
    /// The maximum number of bytes for one read from a socket.
    package var readSize = 512 << 10
    /// The `User-Agent` of CONNECT requests; `nil` sends none.
    package var userAgent: String?
    /// Limits for a proxy's response to CONNECT.
    package var limits = HTTPLimits()

    package init() {}
}

/// Opens byte connections on one event loop: resolves the host, races its addresses (RFC 8305), requests a tunnel from
/// the proxy, and starts TLS. Call it on its event loop only.
package final class ByteConnector: Sendable {
    let configuration: TransportConfiguration
    let contexts: TLSContextCache
    let resolver: DNSResolver
    package let loop: SocketEventLoop

    /// - Parameter contexts: TLS contexts. Connectors on other event loops can share them.
    package init(
        _ configuration: TransportConfiguration, contexts: TLSContextCache, resolver: DNSResolver = .shared, on loop: SocketEventLoop
    ) {
        self.configuration = configuration
        self.contexts = contexts
        self.resolver = resolver
        self.loop = loop
    }

    /// Makes an attempt to open a connection to `endpoint`. Start it with ``ByteConnectionAttempt/start()``.
    ///
    /// - Parameters:
    ///   - challengeHandler: answers the challenges of the TLS handshake with the server. Without one, the
    ///     configuration's defaults apply.
    ///   - didReach: receives each step when it is done.
    ///   - completion: called once, on the event loop, after the attempt was started. The errors are
    ///     ``LoadError/Code/nameNotFound``, ``LoadError/Code/proxyNotFound``, ``LoadError/Code/cannotConnect``,
    ///     ``LoadError/Code/tunnelFailed``, ``LoadError/Code/socksFailed``, ``LoadError/Code/secureConnectionFailed``,
    ///     ``LoadError/Code/timedOut``, ``LoadError/Code/cancelled``, and the errors of certificates and of challenge
    ///     answers.
    package func attempt(
        to endpoint: Endpoint, for challengeHandler: (any ChallengeHandler)?, didReach: @escaping (LoadStep) -> Void = { _ in },
        completion: @escaping (Result<OpenConnection, LoadError>) -> Void
    ) -> ByteConnectionAttempt {
        ByteConnectionAttempt(endpoint, connector: self, challengeHandler: challengeHandler, didReach: didReach, completion: completion)
    }

    /// Starts TLS on an open connection, for protocols that agree on TLS in clear text (STARTTLS).
    ///
    /// All bytes that were written before are sent in clear text first. Call this when the server has agreed. If the
    /// server has sent bytes after its agreement, close the connection instead, because an attacker can have added
    /// them. There is no time limit.
    ///
    /// - Parameters:
    ///   - peer: the server that the certificate must name.
    ///   - protocols: the protocols to offer by ALPN (RFC 7301), the preferred one first; empty for no offer.
    ///   - challengeHandler: answers the challenges. Without one, the configuration's defaults apply.
    ///   - completion: called once, on the event loop, unless the handshake is cancelled. It must call
    ///     ``SocketConnection/setReceiver(_:)``, or close the connection if the handshake failed.
    /// - Returns: the handshake, for cancelling it.
    package func startTLS(
        on transport: SocketConnection, with peer: TLSPeer, offering protocols: [String] = [],
        for challengeHandler: (any ChallengeHandler)? = nil,
        completion: @escaping (TLSHandshake.Outcome) -> Void
    ) -> TLSHandshake {
        transport.pause()
        let handshake = TLSHandshake(
            peer, contexts: contexts, offering: protocols, for: challengeHandler, on: loop, didChangeChallenge: { _ in },
            completion: completion)
        handshake.start(on: transport)
        return handshake
    }
}
