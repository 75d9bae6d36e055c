// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Answers challenges from the URL's user information, and forwards the other challenges with a proposed credential.
package final class AuthenticationStage: ForwardingClient {
    package let next: any ProtocolClient
    private weak let control: (any LoadTaskControl)?
    private let waiting = Mutex<WaitingChallenge?>(nil)

    package init(control: any LoadTaskControl, next: any ProtocolClient) {
        self.control = control
        self.next = next
    }

    package func didReceive(_ challenge: AuthenticationChallenge) {
        guard let control else { return challenge.answer(.cancel) }
        let isFirst = challenge.previousFailureCount == 0
        let proposed = challenge.proposedCredential ?? URLCredential.of(control.currentRequest.url, for: challenge.protectionSpace)
        if isFirst, let proposed, challenge.proposedCredential == nil { return challenge.answer(.use(proposed)) }
        let passedOn = AuthenticationChallenge(
            protectionSpace: challenge.protectionSpace, proposedCredential: isFirst ? proposed : nil,
            previousFailureCount: challenge.previousFailureCount, previousError: challenge.previousError,
            failureResponse: challenge.failureResponse
        ) { [self] answer in
            guard take(challenge) != nil else { return }  // withdrawn
            self.control?.isAwaitingCaller(false)
            challenge.answer(Self.resolve(answer, for: challenge.protectionSpace, proposed: isFirst ? proposed : nil))
        }
        waiting.withLock { $0 = WaitingChallenge(asked: challenge, passedOn: passedOn) }
        control.isAwaitingCaller(true)
        next.didReceive(passedOn)
    }

    package func didCancel(_ challenge: AuthenticationChallenge) {
        guard let waiting = take(challenge) else { return }
        control?.isAwaitingCaller(false)
        if let passedOn = waiting.passedOn { next.didCancel(passedOn) }
    }

    /// Returns the challenge if it still waits, and removes it.
    private func take(_ challenge: AuthenticationChallenge) -> WaitingChallenge? {
        waiting.withLock { $0?.asked === challenge ? $0.take() : nil }
    }

    /// Resolves the default handling of a password: the proposed credential, or none. The handler has the default for
    /// certificates.
    private static func resolve(_ answer: ChallengeAnswer, for space: ProtectionSpace, proposed: Credential?) -> ChallengeAnswer {
        guard case .performDefault = answer, case .password = space.kind else { return answer }
        return proposed.map { .use($0) } ?? .continueWithout
    }
}

/// The waiting challenge, as the handler sent it and as the caller received it.
private struct WaitingChallenge {
    let asked: AuthenticationChallenge
    /// Weak, because a caller that releases the challenge has answered it.
    weak var passedOn: AuthenticationChallenge?
}

/// The credential in a URL's user information (RFC 3986 §3.2.1). It applies to the URL's own host, and not to a proxy.
enum URLCredential {
    static func of(_ url: URLRecord, for space: ProtectionSpace) -> Credential? {
        guard case .password = space.kind, !space.isProxy, url.hasCredentials else {
            return nil
        }
        guard space.host.isEmpty || space.isOrigin(of: url) else { return nil }
        return .password(user: PercentEncoding.decode(url.username), password: PercentEncoding.decode(url.password))
    }
}
