// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Answers a challenge with the user information of the URL, if there is any. Other challenges go to the delegate, with
/// a proposed credential.
extension DelegateClient {
    func didReceive(_ challenge: AuthenticationChallenge) {
        guard let task else { return challenge.answer(.cancel) }
        if let response = challenge.failureResponse { task.loader.updatePolicies(from: response) }
        let isFirst = challenge.previousFailureCount == 0
        let proposed =
            challenge.proposedCredential ?? .inUserInformation(of: task.currentRequest.url, for: challenge.protectionSpace)
        if isFirst, let proposed, challenge.proposedCredential == nil { return challenge.answer(.use(proposed)) }
        let forwarded = AuthenticationChallenge(
            protectionSpace: challenge.protectionSpace, proposedCredential: isFirst ? proposed : nil,
            previousFailureCount: challenge.previousFailureCount, previousError: challenge.previousError,
            failureResponse: challenge.failureResponse
        ) { [self] answer in
            guard closeIfOpen(challenge) != nil else { return }  // cancelled, or replaced by a later challenge
            self.task?.endWaitForCaller()
            challenge.answer(answer.resolved(for: challenge.protectionSpace, proposed: isFirst ? proposed : nil))
        }
        let replaced = openChallenge.withLock { open in
            defer { open = OpenChallenge(received: challenge, forwarded: forwarded) }
            return open != nil
        }
        // If a challenge was open, the load already waits for the caller, and an answer to that challenge has no
        // effect.
        if !replaced { task.beginWaitForCaller() }
        task.resetIdleTimer()
        task.notifyDelegate(.challenge(forwarded))
    }

    func didCancel(_ challenge: AuthenticationChallenge) {
        guard let open = closeIfOpen(challenge), let task else { return }
        task.endWaitForCaller()
        guard let forwarded = open.forwarded else { return }
        task.resetIdleTimer()
        task.notifyDelegate(.challengeCancelled(forwarded))
    }

    /// Closes the challenge, and returns it if it was open.
    private func closeIfOpen(_ challenge: AuthenticationChallenge) -> OpenChallenge? {
        openChallenge.withLock { $0?.received === challenge ? $0.take() : nil }
    }

    /// A challenge that the caller has not answered yet.
    struct OpenChallenge {
        /// The challenge from the handler.
        let received: AuthenticationChallenge
        /// The challenge that the caller received. Weak, because its release by the caller answers it.
        weak var forwarded: AuthenticationChallenge?
    }
}

extension ChallengeAnswer {
    /// Replaces default handling for a password by the proposed credential, or by none. For certificates, the handler
    /// itself performs the default handling.
    fileprivate func resolved(for space: ProtectionSpace, proposed: Credential?) -> ChallengeAnswer {
        guard case .performDefault = self, case .password = space.kind else { return self }
        return proposed.map { .use($0) } ?? .continueWithout
    }
}

extension Credential {
    /// Returns the credential in a URL's user information (RFC 3986 §3.2.1); `nil` for a challenge from a proxy or from
    /// a host other than the URL's.
    static func inUserInformation(of url: URLRecord, for space: ProtectionSpace) -> Credential? {
        guard case .password = space.kind, !space.isProxy, url.hasCredentials else { return nil }
        guard space.host.isEmpty || space.isOrigin(of: url) else { return nil }
        return .password(user: PercentEncoding.decode(url.username), password: PercentEncoding.decode(url.password))
    }
}
