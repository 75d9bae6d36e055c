// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
package import PortolanHTTPSyntax

/// How byte connections are opened.
package struct TransportConfiguration: Sendable {
    /// How long it may take to find the name, connect, ask the proxy and make the connection secure. Waiting for an answer to a challenge does not count.
    package var connectTimeout = Duration.seconds(30)
    package var tls = TLSSettings()
    /// How many bytes are read from a socket at once.
    package var readSize = 512 << 10
    /// What CONNECT says of the client; `nil`: nothing.
    package var userAgent: String?
    /// Limits of a proxy's answer to CONNECT.
    package var limits = HTTPLimits()

    package init() {}
}

/// Opens byte connections on one event loop: finds the host's addresses, races them (RFC 8305), asks the proxy for a tunnel, and starts TLS.
/// In the turns of its loop.
package final class ByteConnector: Sendable {
    let configuration: TransportConfiguration
    let contexts: TLSContextCache
    let names: DNSResolver
    package let loop: SocketEventLoop

    /// - Parameter contexts: TLS contexts, which connectors on other loops may share.
    package init(_ configuration: TransportConfiguration, contexts: TLSContextCache, names: DNSResolver = .shared, on loop: SocketEventLoop)
    {
        self.configuration = configuration
        self.contexts = contexts
        self.names = names
        self.loop = loop
    }

    /// A connection to `endpoint`, which is opened when the attempt is started.
    ///
    /// - Parameters:
    ///   - challengeHandler: answers the challenges of the TLS handshake with the server; the configuration's defaults hold where there is none.
    ///   - didReach: reports each step when it is done.
    ///   - completion: called once, in a turn, after the attempt was started. It may fail with ``LoadError/Code/nameNotFound``,
    ///     ``LoadError/Code/proxyNotFound``, ``LoadError/Code/cannotConnect``, ``LoadError/Code/tunnelFailed``, ``LoadError/Code/socksFailed``,
    ///     ``LoadError/Code/secureConnectionFailed``, ``LoadError/Code/timedOut``, ``LoadError/Code/cancelled`` and with what is wrong with
    ///     certificates and answers.
    package func attempt(
        to endpoint: Endpoint, for challengeHandler: (any ChallengeHandler)?, didReach: @escaping (LoadStep) -> Void = { _ in },
        completion: @escaping (Result<OpenConnection, LoadError>) -> Void
    ) -> ByteConnectionAttempt {
        ByteConnectionAttempt(endpoint, connector: self, challengeHandler: challengeHandler, didReach: didReach, completion: completion)
    }

    /// Starts TLS on an open connection, as protocols do that agree on it in clear (STARTTLS).
    ///
    /// What was written before leaves in clear first. Nothing is read in between: the caller calls this when the server has agreed and has sent
    /// nothing behind that, for such bytes could be anybody's. There is no time limit.
    ///
    /// - Parameters:
    ///   - peer: whose name the certificate has to carry.
    ///   - protocols: to offer by ALPN (RFC 7301), the best first; none: no offer is made.
    ///   - challengeHandler: answers the challenges; the configuration's defaults hold where there is none.
    ///   - completion: called once, in a turn, unless the handshake is cancelled. Then call ``SocketConnection/hand(to:)``, or close the connection
    ///     where it failed.
    /// - Returns: the handshake, by which it can be cancelled.
    package func startTLS(
        on transport: SocketConnection, with peer: TLSPeer, offering protocols: [String] = [],
        for challengeHandler: (any ChallengeHandler)? = nil,
        completion: @escaping (TLSHandshake.Outcome) -> Void
    ) -> TLSHandshake {
        transport.pause()
        let handshake = TLSHandshake(
            peer, contexts: contexts, offering: protocols, for: challengeHandler, on: loop, isAsking: { _ in }, completion: completion)
        handshake.start(on: transport)
        return handshake
    }
}
