// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The evidence about the server of a secure connection, and the load that evaluated it. On the connection's event
/// loop.
///
/// A load sends bytes over a connection only if it was asked about its server. The load that opens the connection is
/// asked during the handshake. Every other load is asked when it receives the connection. If one load accepts the
/// server against the verdict, no other load is bound by that.
package final class ServerTrust {
    /// The evidence from this handshake, or from the handshake of the session that was resumed.
    package let evidence: ServerTrustEvaluation
    /// The load that was asked while the connection was opened.
    private weak var judge: AnyObject?
    /// Whether that load supplied its own client certificate. Then no other load may use the connection.
    package let isPersonal: Bool

    init(_ evidence: ServerTrustEvaluation, judge: AnyObject?, isPersonal: Bool) {
        self.evidence = evidence
        self.judge = judge
        self.isPersonal = isPersonal
    }

    package func wasEvaluated(by load: AnyObject) -> Bool { judge === load }

    /// The meaning of an answer: `nil` if the server is trusted, otherwise the error that ends the load.
    package static func refusal(_ answer: ChallengeAnswer, verdict: LoadError?, peer: TLSPeer) -> LoadError? {
        switch answer {
        case .use(.serverTrust): nil
        case .use, .performDefault, .continueWithoutCredential: verdict
        case .rejectProtectionSpace:
            LoadError(
                .secureConnectionFailed,
                message: "this program's own check rejected the certificate of \(peer.quotedHost)", underlyingError: verdict)
        case .cancel:
            LoadError(
                .authenticationCancelled,
                message: "the challenge for trust in \(peer.quotedHost) was cancelled", underlyingError: verdict)
        }
    }

    package static func challenge(
        _ peer: TLSPeer, _ evidence: ServerTrustEvaluation, answer: @escaping @Sendable (ChallengeAnswer) -> Void
    ) -> AuthenticationChallenge {
        let space = ProtectionSpace(
            kind: .serverTrust(chain: evidence.chain), protocolName: peer.protocolName, host: peer.host, port: peer.port)
        return AuthenticationChallenge(protectionSpace: space, previousError: evidence.verdict, reply: answer)
    }
}
