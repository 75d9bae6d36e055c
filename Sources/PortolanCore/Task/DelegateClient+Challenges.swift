// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Answers challenges from the URL's user information, and passes the other ones to the delegate, with a proposed
/// credential.
extension DelegateClient {
    func didReceive(_ challenge: AuthenticationChallenge) {
        guard let task else { return challenge.answer(.cancel) }
        if let response = challenge.failureResponse { task.loader.note(response) }
        let isFirst = challenge.previousFailureCount == 0
        let proposed =
            challenge.proposedCredential ?? .inUserInformation(of: task.currentRequest.url, for: challenge.protectionSpace)
        if isFirst, let proposed, challenge.proposedCredential == nil { return challenge.answer(.use(proposed)) }
        let passedOn = AuthenticationChallenge(
            protectionSpace: challenge.protectionSpace, proposedCredential: isFirst ? proposed : nil,
            previousFailureCount: challenge.previousFailureCount, previousError: challenge.previousError,
            failureResponse: challenge.failureResponse
        ) { [self] answer in
            guard takeOpen(challenge) != nil else { return }  // withdrawn
            self.task?.endWaitForCaller()
            challenge.answer(answer.resolved(for: challenge.protectionSpace, proposed: isFirst ? proposed : nil))
        }
        let replaced = openChallenge.withLock { open in
            defer { open = OpenChallenge(received: challenge, passedOn: passedOn) }
            return open != nil
        }
        // An answer to the earlier challenge no longer counts.
        if !replaced { task.beginWaitForCaller() }
        task.resetIdleTimer()
        task.notifyDelegate(.challenge(passedOn))
    }

    func didCancel(_ challenge: AuthenticationChallenge) {
        guard let open = takeOpen(challenge), let task else { return }
        task.endWaitForCaller()
        guard let passedOn = open.passedOn else { return }
        task.resetIdleTimer()
        task.notifyDelegate(.challengeWithdrawn(passedOn))
    }

    /// Returns the challenge if it is still open, and closes it.
    private func takeOpen(_ challenge: AuthenticationChallenge) -> OpenChallenge? {
        openChallenge.withLock { $0?.received === challenge ? $0.take() : nil }
    }

    /// A challenge that the caller has not answered yet.
    struct OpenChallenge {
        /// As the handler sent it.
        let received: AuthenticationChallenge
        /// As the caller received it. Weak, because a caller that releases the challenge has answered it.
        weak var passedOn: AuthenticationChallenge?
    }
}

extension ChallengeAnswer {
    /// Resolves the default handling of a password: the proposed credential, or none. The handler has the default for
    /// certificates.
    fileprivate func resolved(for space: ProtectionSpace, proposed: Credential?) -> ChallengeAnswer {
        guard case .performDefault = self, case .password = space.kind else { return self }
        return proposed.map { .use($0) } ?? .continueWithoutCredential
    }
}

extension Credential {
    /// Returns the credential in a URL's user information (RFC 3986 §3.2.1). It applies to the URL's own host, and not
    /// to a proxy.
    static func inUserInformation(of url: URLRecord, for space: ProtectionSpace) -> Credential? {
        guard case .password = space.kind, !space.isProxy, url.hasCredentials else { return nil }
        guard space.host.isEmpty || space.isOrigin(of: url) else { return nil }
        return .password(user: PercentEncoding.decode(url.username), password: PercentEncoding.decode(url.password))
    }
}
