// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

extension BufferedConnection {
    /// How to make a connection to a server.
    package struct Route: Sendable {
        package var endpoint: Endpoint
        package var configuration: TransportConfiguration
        package var contexts: TLSContextCache
        /// Answers the challenges of TLS. Called on the event loop. `nil` for default handling.
        package var onChallenge: (@Sendable (AuthenticationChallenge) -> Void)?
        /// Receives each step when it is done. Called on the event loop.
        package var onStep: (@Sendable (LoadStep) -> Void)?

        package init(
            to endpoint: Endpoint, _ configuration: TransportConfiguration, contexts: TLSContextCache,
            onChallenge: (@Sendable (AuthenticationChallenge) -> Void)? = nil, onStep: (@Sendable (LoadStep) -> Void)? = nil
        ) {
            (self.endpoint, self.configuration, self.contexts) = (endpoint, configuration, contexts)
            (self.onChallenge, self.onStep) = (onChallenge, onStep)
        }
    }

    /// This side of a TLS handshake.
    package enum TLSRole: Sendable {
        /// - Parameters:
        ///   - peer: the server that the certificate must name.
        ///   - protocols: the protocols to offer by ALPN (RFC 7301), the preferred one first.
        ///   - onChallenge: as for ``Route/onChallenge``.
        ///   - timeLimit: for the handshake, including the answers to challenges.
        case client(
            peer: TLSPeer, contexts: TLSContextCache, protocols: [String], onChallenge: (@Sendable (AuthenticationChallenge) -> Void)?,
            timeLimit: Duration)
        case server(TLSServerContext)
    }

    /// The result of ``write(_:whenReady:)``.
    package enum Write: Sendable {
        /// The number of accepted bytes: at least one, if there were any.
        case wrote(Int)
        /// No bytes are accepted at the moment.
        case wait
        case failed(LoadError)
    }
}

extension BufferedConnection.TLSRole {
    var timeLimit: Duration {
        switch self {
        case .client(_, _, _, _, let timeLimit): timeLimit
        case .server(let context): context.settings.handshakeTimeout
        }
    }
}

/// Receives the events during a handshake, in which only the handshake reads.
final class OpeningReceiver: ByteConnectionReceiver {
    let isIdle = false

    func didReceive(_ bytes: borrowing RawSpan) {}
    func transportIsWritable() {}
    func transportDidEnd(_ failure: SocketError?) {}
}

final class ClosureChallengeHandler: ChallengeHandler {
    private let handle: @Sendable (AuthenticationChallenge) -> Void

    init(_ handle: @escaping @Sendable (AuthenticationChallenge) -> Void) { self.handle = handle }

    func handleChallenge(_ challenge: AuthenticationChallenge) { handle(challenge) }
    func cancelChallenge(_ challenge: AuthenticationChallenge) {}
}
