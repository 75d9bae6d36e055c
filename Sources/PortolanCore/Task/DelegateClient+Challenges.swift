// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// Answers a challenge with the user information of the URL, if there is any. Forwards other challenges to the
/// delegate, with a proposed credential from the storage or the netrc file.
extension DelegateClient {
    func didReceive(_ challenge: AuthenticationChallenge) {
        guard let task else { return challenge.answer(.cancel) }
        if let response = challenge.failureResponse { task.loader.updatePolicies(from: response, of: task) }
        let wasOpen = openChallenge.withLock { open in
            defer { open = OpenChallenge(received: challenge, forwarded: nil) }
            return open != nil
        }
        // If a challenge was open, the load already waits for the caller, and an answer to that challenge has no
        // effect.
        if !wasOpen { task.beginWaitForCaller() }
        proposeCredential(for: challenge, of: task)
    }

    private func proposeCredential(for challenge: AuthenticationChallenge, of task: LoadTask) {
        guard case .password = challenge.protectionSpace.kind else {
            return forward(challenge, proposing: challenge.proposedCredential, of: task)
        }
        updateCredentials(by: challenge, of: task)
        let space = challenge.protectionSpace
        let own = Credential.inUserInformation(of: task.currentRequest.url, for: space)
        if challenge.proposedCredential == nil, let own, !task.wasRefused(own, for: space) {
            guard let problem = own.problem(in: space) else { return answer(challenge, .use(own), of: task, from: "the URL's credential") }
            task.loader.logAccess("the URL's password for \(QuotedText(space.host)) not sent: \(problem)", of: task)
        }
        var candidates: [(credential: Credential?, source: CredentialSource)] = [
            (challenge.proposedCredential, .storage), (task.loader.configuration.credentials?.defaultCredential(for: space), .storage),
        ]
        if let netrc = task.loader.configuration.netrc {
            let (first, ofPort) = (netrc.credential(for: space), netrc.credential(for: space, mustNamePort: true))
            if first != ofPort { candidates.append((first, .netrc)) }
            candidates.append((ofPort, .netrcEntryOfPort))
        }
        for case (let credential?, let source) in candidates {
            guard let problem = task.problem(with: credential, from: source, for: space) else {
                return forward(challenge, proposing: credential, of: task, from: source)
            }
            task.loader.logAccess(
                "\(source == .storage ? "stored" : "netrc") password for \(QuotedText(space.host)) not sent: \(problem)", of: task)
        }
        forward(challenge, proposing: nil, of: task)
    }

    /// - Parameter source: where the proposed credential comes from.
    private func forward(
        _ challenge: AuthenticationChallenge, proposing proposed: Credential?, of task: LoadTask, from source: CredentialSource? = nil
    ) {
        let forwarded = AuthenticationChallenge(
            protectionSpace: challenge.protectionSpace, proposedCredential: proposed,
            previousFailureCount: challenge.previousFailureCount, previousError: challenge.previousError,
            failureResponse: challenge.failureResponse
        ) { [self] answer in
            let isProposed = if case .performDefault = answer { true } else { false }
            let answer = answer.resolved(for: challenge.protectionSpace, proposed: proposed)
            guard let task = self.task else {
                closeIfOpen(challenge)?.received.answer(answer)
                return
            }
            self.answer(challenge, answer, of: task, from: (isProposed ? source?.phrase : nil) ?? "a credential")
        }
        openChallenge.withLock { open in
            if open?.received === challenge { open?.forwarded = forwarded }
        }
        task.resetIdleTimer()
        task.notifyDelegate(.challenge(forwarded))
    }

    /// Answers a challenge, unless it was cancelled or replaced by a later one.
    ///
    /// - Parameter source: a phrase for the credential, for the log.
    private func answer(
        _ challenge: AuthenticationChallenge, _ answer: ChallengeAnswer, of task: LoadTask, from source: @autoclosure () -> String
    ) {
        guard closeIfOpen(challenge) != nil else { return }
        if case .use(let credential) = answer, case .password(let scheme) = challenge.protectionSpace.kind {
            // Without a response, the challenge came before the request was sent.
            task.loader.logAccess(
                "responds to the \(scheme) challenge of \(QuotedText(challenge.protectionSpace.host)) with \(source())", of: task,
                isForNextRequest: challenge.failureResponse != nil)
            task.credentialAttempts.withLock { $0.recordSending(of: credential, for: challenge.protectionSpace) }
            hasUndecidedCredential.store(true, ordering: .relaxed)
            // A credential that is not stored is for this load only: for redirects and other challenges in its space.
            let stored = credential.persistence == .none ? nil : task.loader.configuration.credentials?.authenticatedSpaces
            challenge.authenticatedSpaces?.content = stored ?? task.credentialAttempts.withLock { $0.makeAuthenticatedSpaces() }
        }
        task.endWaitForCaller()
        challenge.answer(answer)
    }

    func didCancel(_ challenge: AuthenticationChallenge) {
        guard let open = closeIfOpen(challenge), let task else { return }
        cancel(open, of: task)
    }

    /// The attempt has failed, and another one follows: an answer to its challenge has no effect any more.
    func cancelOpenChallenge(of task: LoadTask) {
        if let open = openChallenge.withLock({ $0.take() }) { cancel(open, of: task) }
    }

    private func cancel(_ open: OpenChallenge, of task: LoadTask) {
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
        /// The challenge that the caller received. Weak, because the challenge is answered when the caller releases it.
        weak var forwarded: AuthenticationChallenge?
    }
}

// MARK: Results of credentials

extension DelegateClient {
    /// Removes from the storage the credentials that a challenge refuses, and stores the credentials that the challenge
    /// accepts.
    private func updateCredentials(by challenge: AuthenticationChallenge, of task: LoadTask) {
        let (refused, accepted) = task.credentialAttempts.withLock { attempts in
            attempts.receiveChallenge(for: challenge.protectionSpace, refusing: challenge.refusedCredential)
        }
        task.loader.configuration.credentials?.applyResults(refused: refused, accepted: accepted)
    }

    /// Removes and stores credentials in the same way for a response that is delivered, or that redirects.
    func updateCredentials(by response: Response, of task: LoadTask) {
        guard hasUndecidedCredential.load(ordering: .relaxed) else { return }
        hasUndecidedCredential.store(false, ordering: .relaxed)
        let (refused, accepted) = task.credentialAttempts.withLock { $0.receiveResponse(status: response.status?.code) }
        task.loader.configuration.credentials?.applyResults(refused: refused, accepted: accepted)
    }
}

/// Where a proposed credential comes from.
private enum CredentialSource {
    /// The storage, or the handler.
    case storage
    case netrc
    /// An entry of the netrc file that names the port.
    case netrcEntryOfPort

    var phrase: String { self == .storage ? "a stored credential" : "the credential of the netrc file" }
}

extension LoadTask {
    fileprivate func wasRefused(_ credential: Credential, for space: ProtectionSpace) -> Bool {
        credentialAttempts.withLock { $0.wasRefused(credential, for: space) }
    }

    /// Why a credential is not proposed to a space; `nil` if it is.
    fileprivate func problem(with credential: Credential, from source: CredentialSource, for space: ProtectionSpace) -> String? {
        if wasRefused(credential, for: space) { return "the \(space.isProxy ? "proxy" : "server") has refused it before" }
        if let problem = credential.problem(in: space) { return problem }
        // `try?` because a space that is not the origin of a URL, such as a plugin's space, has no redirects over HTTP.
        guard source != .storage,
            let url = try? URLRecord(parsing: "\(space.protocolName)://\(space.host)\(space.port.map { ":\($0)" } ?? "")/")
        else { return nil }
        return credentialAttempts.withLock { attempts in
            attempts.netrcOrigins.visit(originalRequest.url)
            return attempts.netrcOrigins.problem(with: url, isForPort: source == .netrcEntryOfPort)
        }
    }
}

extension CredentialStorage {
    /// Removes refused credentials. Stores accepted credentials whose persistence is not `.none`, each as the default
    /// of its space.
    fileprivate func applyResults(refused: [CredentialAttempts.Attempt], accepted: [CredentialAttempts.Attempt]) {
        for attempt in refused { removeRefused(attempt.credential, for: attempt.space) }
        for attempt in accepted where attempt.credential.persistence != .none && !contains(attempt.credential, for: attempt.space) {
            setDefaultCredential(attempt.credential, for: attempt.space)
        }
    }
}

extension ChallengeAnswer {
    /// Replaces the default handling of a password by an explicit answer: the proposed credential, or none. For
    /// certificates, the handler performs the default handling.
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

extension NetrcFile {
    /// Returns the credential for the server of a space; `nil` for a proxy.
    fileprivate func credential(for space: ProtectionSpace, mustNamePort: Bool = false) -> Credential? {
        guard !space.isProxy, !space.host.isEmpty else { return nil }
        return credential(forHost: space.host, port: space.canonical.port, mustNamePort: mustNamePort)
    }
}
