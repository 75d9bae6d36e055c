// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The evaluation of the server of a secure connection, and the load that decided on it. Use it on the connection's
/// event loop.
///
/// Each load decides for itself whether it trusts the server. The load that opens the connection receives the challenge
/// during the handshake. Every other load receives its own challenge before it uses the connection. If one load accepts
/// a server that is not trusted by default, this does not affect other loads.
package final class ServerTrust {
    /// The evaluation in this handshake, or in the original handshake of a resumed session.
    package let evaluation: ServerTrustEvaluation
    /// The load that received the challenge during the handshake.
    private weak var evaluatingLoad: AnyObject?
    /// Whether that load supplied a client certificate. Then no other load can use the connection.
    package let usesClientCertificate: Bool

    init(_ evaluation: ServerTrustEvaluation, evaluatingLoad: AnyObject?, usesClientCertificate: Bool) {
        self.evaluation = evaluation
        self.evaluatingLoad = evaluatingLoad
        self.usesClientCertificate = usesClientCertificate
    }

    package func wasEvaluated(by load: AnyObject) -> Bool { evaluatingLoad === load }

    /// The error with which the load fails after this answer; `nil` if the answer trusts the server.
    ///
    /// - Parameter error: the error of default handling; `nil` if default handling trusts the server.
    package static func refusal(_ answer: ChallengeAnswer, error: LoadError?, peer: TLSPeer) -> LoadError? {
        switch answer {
        case .use(.serverTrust): nil
        case .use, .performDefault, .continueWithoutCredential: error
        case .rejectProtectionSpace:
            LoadError(
                .secureConnectionFailed,
                message: "this program's own check rejected the certificate of \(peer.quotedHost)", underlyingError: error)
        case .cancel:
            LoadError(
                .authenticationCancelled,
                message: "the challenge for trust in \(peer.quotedHost) was cancelled", underlyingError: error)
        }
    }

    package static func challenge(
        _ peer: TLSPeer, _ evaluation: ServerTrustEvaluation, answer: @escaping @Sendable (ChallengeAnswer) -> Void
    ) -> AuthenticationChallenge {
        let space = ProtectionSpace(
            kind: .serverTrust(chain: evaluation.chain), protocolName: peer.protocolName, host: peer.host, port: peer.port)
        return AuthenticationChallenge(protectionSpace: space, previousError: evaluation.error, reply: answer)
    }
}
