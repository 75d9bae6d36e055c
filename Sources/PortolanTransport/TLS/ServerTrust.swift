// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What is known of the server at the other end of a secure connection, and who has looked at it. On the connection's event loop.
///
/// No load sends a byte over a connection whose server it was not asked about: the one for which the connection was opened is asked during the
/// handshake, every other one when it is given the connection. So what one load accepts against the verdict binds no other.
package final class ServerTrust {
    /// What the server showed, in this handshake or in the one of the session that was resumed.
    package let evidence: ServerTrustEvaluation
    /// The load that was asked while the connection was opened.
    private weak var judge: AnyObject?
    /// Whether the load that was asked gave its own client certificate: then no other may use the connection.
    package let isPersonal: Bool

    init(_ evidence: ServerTrustEvaluation, judge: AnyObject?, isPersonal: Bool) {
        self.evidence = evidence
        self.judge = judge
        self.isPersonal = isPersonal
    }

    package func wasEvaluated(by load: AnyObject) -> Bool { judge === load }

    /// What an answer means: `nil` where the server is trusted, else why the load ends.
    package static func refusal(_ answer: ChallengeAnswer, verdict: LoadError?, peer: TLSPeer) -> LoadError? {
        switch answer {
        case .use(.serverTrust): nil
        case .use, .performDefault, .continueWithout: verdict
        case .rejectProtectionSpace:
            LoadError(
                .secureConnectionFailed,
                message: "the certificate of \(peer.quotedHost) was rejected by this program's own check", cause: verdict)
        case .cancel:
            LoadError(
                .authenticationCancelled,
                message: "the question whether \(peer.quotedHost) is trusted was answered with cancel", cause: verdict)
        }
    }

    package static func question(
        _ peer: TLSPeer, _ evidence: ServerTrustEvaluation, answer: @escaping @Sendable (ChallengeAnswer) -> Void
    ) -> AuthenticationChallenge {
        let space = ProtectionSpace(
            kind: .serverTrust(chain: evidence.chain), protocolName: peer.protocolName, host: peer.host, port: peer.port)
        return AuthenticationChallenge(protectionSpace: space, previousError: evidence.verdict, reply: answer)
    }
}
