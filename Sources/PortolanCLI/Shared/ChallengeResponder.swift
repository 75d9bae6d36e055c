// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Responds to password challenges with the credentials for a URL or for proxies.
///
/// Only the server with the scheme, host and port of the URL gets the credentials. For `zip:http://h/x`, that is the
/// server of `http://h/x`. If the URL or the challenge has no host, a challenge gets the credentials only before a
/// redirect. A protection space that has rejected the credentials does not get them again.
final class ChallengeResponder: Sendable {
    enum Decision: Equatable {
        /// The challenge gets the credentials.
        case answered
        /// The challenge is not for these credentials. The default handling continues, and has no credential either.
        case notHandled
        /// The challenge is not for these credentials. The default handling sends the credential that the loader
        /// proposes: a stored one, or one of the netrc file.
        case proposed
        /// The challenge is for these credentials, but must not get them. The load continues without them.
        case excluded(reason: String)
        /// The server has rejected the credentials, so the challenge is cancelled.
        case refused
    }

    private struct State {
        /// How many times each protection space got the credentials.
        var answerCounts: [ProtectionSpace: Int] = [:]
        var hasRedirected = false
        /// The `https:` URL of the server, if HSTS has replaced the `http:` URL.
        var upgradedURL: URLRecord?
        /// The peers that got a Digest response, without scheme and realm. They never get the password by Basic.
        var digestPeers: Set<ProtectionSpace> = []
    }

    /// How many times one protection space gets the credentials. A redirect can lead back to a space, so one time is
    /// too few. The limit ends the loop of a handler that does not count failures.
    private static let answerLimit = 32

    /// The peers that get the credentials.
    enum Audience {
        case origin(URLRecord)
        /// Any proxy that sends a challenge, because the user chose the proxy, too.
        case proxy
    }

    /// When credentials are sent, as in curl.
    enum Method: Equatable {
        /// Never, because `-H` gives the field `Authorization` instead.
        case never
        /// With the first request over HTTP, by Basic.
        case basic
        /// After a challenge, by the strongest scheme.
        case any
        /// After a challenge, by Digest only.
        case digest
    }

    private let credential: Credential
    private let audience: Audience
    private let method: Method
    /// Where the credentials come from, for example an option. `nil` if reports do not name the source.
    let source: String?
    private let state = Mutex(State())

    init(user: String, password: String, for audience: Audience, by method: Method = .any, from source: String? = nil) {
        credential = .password(user: user, password: password)
        (self.audience, self.method, self.source) = (audience, method, source)
    }

    convenience init(user: String, password: String, for url: URLRecord) {
        self.init(user: user, password: password, for: .origin(url))
    }

    /// - Parameter argument: `user:password`; without a colon the password is empty.
    convenience init(argument: String, for audience: Audience, by method: Method = .any, from source: String? = nil) {
        let (user, password) = Self.parts(of: argument)
        self.init(user: user, password: password, for: audience, by: method, from: source)
    }

    /// Returns why an argument is not `user:password`, or why Basic cannot send it with the first request; `nil` if it
    /// can be used.
    static func problem(with argument: String, sentBy method: Method) -> String? {
        guard argument.contains(":") else { return "write user:password" }
        let (user, password) = parts(of: argument)
        return method == .basic ? Credential.problemWithBasic(user: user, password: password) : nil
    }

    static func parts(of argument: String) -> (user: String, password: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }

    /// - Parameters:
    ///   - url: the target of the redirect.
    ///   - upgradesToHTTPS: whether the loader makes the redirect, because of HSTS (RFC 6797).
    func didRedirect(to url: URLRecord? = nil, upgradesToHTTPS: Bool = false) {
        state.withLock { state in
            if upgradesToHTTPS, !state.hasRedirected { state.upgradedURL = url } else { state.hasRedirected = true }
        }
    }

    /// Decides how to respond. The caller then answers the challenge with ``answer(for:)``.
    func evaluate(_ challenge: AuthenticationChallenge) -> Decision {
        let space = challenge.protectionSpace
        return state.withLock { state in
            guard case .password(let scheme) = space.kind, isIntended(for: space, state) else { return .notHandled }
            if method == .never { return .excluded(reason: "-H sends the field Authorization instead") }
            if scheme == "basic", method == .digest { return .excluded(reason: "only Digest is allowed") }
            if scheme == "basic", state.digestPeers.contains(space.peer) { return .excluded(reason: "Digest was used before") }
            if let problem = credential.problem(in: space) { return .excluded(reason: problem) }
            let earlierAnswerCount = state.answerCounts[space, default: 0]
            // The request already had these credentials.
            if method == .basic, earlierAnswerCount == 0, challenge.previousFailureCount > 0 { return .refused }
            guard earlierAnswerCount == 0 || (challenge.previousFailureCount == 0 && earlierAnswerCount < Self.answerLimit) else {
                return .refused
            }
            state.answerCounts[space] = earlierAnswerCount + 1
            if scheme == "digest" { state.digestPeers.insert(space.peer) }
            return .answered
        }
    }

    /// Whether the credentials are for the server or the proxy of this space.
    func isIntended(for space: ProtectionSpace) -> Bool { state.withLock { isIntended(for: space, $0) } }

    func answer(for decision: Decision) -> ChallengeAnswer {
        switch decision {
        case .answered: .use(credential)
        case .notHandled, .proposed: .performDefault
        case .excluded: .continueWithoutCredential
        case .refused: .cancel
        }
    }

    private func isIntended(for space: ProtectionSpace, _ state: State) -> Bool {
        guard case .origin(let url) = audience else { return space.isProxy }
        guard !space.isProxy else { return false }
        // A challenge without a host is for the URL that the handler loads.
        guard !space.host.isEmpty, let server = Self.server(of: url) else { return !state.hasRedirected }
        if space.isOrigin(of: server) { return true }
        guard let upgrade = state.upgradedURL, server.scheme == "http", upgrade.scheme == "https" else { return false }
        // After an upgrade, only the same server over TLS gets the credentials, because a server can forge the field
        // that marks an upgrade.
        return upgrade.host == server.host && upgrade.port == server.port && space.isOrigin(of: upgrade)
    }

    /// Returns the URL with a host: this one, or the URL in it, as in `zip:http://h/x`; `nil` if neither has a host.
    private static func server(of url: URLRecord) -> URLRecord? {
        var url = url
        while url.host?.isEmpty ?? true {
            // `try?` because an invalid URL has no host.
            guard let nested = try? URLRecord(parsing: String(url.schemeSpecificPart)) else { return nil }
            url = nested
        }
        return url
    }

    /// Returns the error for rejected credentials.
    static func rejectionError(for challenge: AuthenticationChallenge) -> LoadError {
        let space = challenge.protectionSpace
        let place = [space.realm.map { "realm '\($0)'" }, space.host.isEmpty ? nil : "'\(space.host)'"].compactMap { $0 }
        return LoadError(
            challenge.previousError?.code ?? .authenticationRequired,
            message: "the user name and password were refused\(place.isEmpty ? "" : " by " + place.joined(separator: " of ")); check both")
    }
}

extension ProtectionSpace {
    /// The server or the proxy, without the scheme and the realm of the challenge.
    fileprivate var peer: ProtectionSpace {
        ProtectionSpace(kind: .password(scheme: ""), protocolName: protocolName, host: host, port: port, isProxy: isProxy)
    }
}

extension [ChallengeResponder] {
    func didRedirect(to url: URLRecord, _ response: Response) {
        for responder in self { responder.didRedirect(to: url, upgradesToHTTPS: response.isHSTSUpgrade) }
    }

    /// The source of the first element whose credentials are for the space.
    func source(for space: ProtectionSpace) -> String? { first { $0.isIntended(for: space) }?.source }

    /// Returns the decision of the first element whose credentials are for the challenge.
    func evaluate(_ challenge: AuthenticationChallenge) -> (decision: ChallengeResponder.Decision, answer: ChallengeAnswer) {
        for responder in self {
            let decision = responder.evaluate(challenge)
            if decision != .notHandled { return (decision, responder.answer(for: decision)) }
        }
        return (challenge.proposedCredential == nil ? .notHandled : .proposed, .performDefault)
    }
}

extension Response {
    /// Whether the loader itself redirects an `http:` URL to `https:` (RFC 6797). A server can send this field, too.
    var isHSTSUpgrade: Bool { field("Non-Authoritative-Reason") == "HSTS" }
}
