// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Responds to password challenges with the credentials for a URL or for proxies.
///
/// Credentials for a URL go only to its scheme, host and port; for `zip:http://h/x`, to those of `http://h/x`. If the
/// URL names no host, they go to the first challenge, unless a redirect came before. After a rejection, they are not
/// sent to that protection space again.
final class PasswordAnswer: Sendable {
    enum Verdict: Equatable {
        case answered
        /// The challenge is not for these credentials; default handling continues.
        case leftAlone
        /// The credentials were wrong.
        case refused
    }

    private struct State {
        /// How many times each space got the credentials.
        var answers: [ProtectionSpace: Int] = [:]
        var hasRedirected = false
        /// The secure URL of the audience, if HSTS led there.
        var upgrade: URLRecord?
        /// The peers that were answered by Digest, without scheme and realm. None of them gets the password by Basic.
        var digestPeers: Set<ProtectionSpace> = []
    }

    /// The most times that one space gets the credentials. A load may return to a space after redirects, but the loop
    /// must end for a handler that does not count failures.
    private static let answerLimit = 32

    /// The peers that get the credentials.
    enum Audience {
        case origin(URLRecord)
        /// Any proxy that sends a challenge: the same user chose it.
        case proxy
    }

    /// When credentials are sent, as in curl.
    enum Method: Equatable {
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
    private let state = Mutex(State())

    init(user: String, password: String, for audience: Audience, by method: Method = .any) {
        credential = .password(user: user, password: password)
        (self.audience, self.method) = (audience, method)
    }

    convenience init(user: String, password: String, for url: URLRecord) {
        self.init(user: user, password: password, for: .origin(url))
    }

    /// - Parameter argument: `user:password`; without a colon the password is empty.
    convenience init(argument: String, for audience: Audience, by method: Method = .any) {
        let (user, password) = Self.parts(of: argument)
        self.init(user: user, password: password, for: audience, by: method)
    }

    static func parts(of argument: String) -> (user: String, password: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }

    /// - Parameters:
    ///   - url: where the redirect leads.
    ///   - isUpgrade: whether the loader itself redirects, because the host wants secure connections only (HSTS).
    func noteRedirect(to url: URLRecord? = nil, isUpgrade: Bool = false) {
        state.withLock { state in
            if isUpgrade, !state.hasRedirected { state.upgrade = url } else { state.hasRedirected = true }
        }
    }

    /// Decides how to respond; the caller then answers the challenge with ``answer(for:)``.
    func evaluate(_ challenge: AuthenticationChallenge) -> Verdict {
        let space = challenge.protectionSpace
        return state.withLock { state in
            guard case .password(let scheme) = space.kind, isMeant(for: space, state) else { return .leftAlone }
            if scheme == "basic", method == .digest || state.digestPeers.contains(space.peer) { return .leftAlone }
            let earlier = state.answers[space, default: 0]
            // It was sent with the request.
            if method == .basic, earlier == 0, challenge.previousFailureCount > 0 { return .refused }
            guard earlier == 0 || (challenge.previousFailureCount == 0 && earlier < Self.answerLimit) else { return .refused }
            state.answers[space] = earlier + 1
            if scheme == "digest" { state.digestPeers.insert(space.peer) }
            return .answered
        }
    }

    func answer(for verdict: Verdict) -> ChallengeAnswer {
        switch verdict {
        case .answered: .use(credential)
        case .leftAlone: .performDefault
        case .refused: .cancel
        }
    }

    private func isMeant(for space: ProtectionSpace, _ state: State) -> Bool {
        guard case .origin(let url) = audience else { return space.isProxy }
        guard !space.isProxy else { return false }
        // A handler without a host name means the URL that it serves.
        guard !space.host.isEmpty, let server = Self.server(of: url) else { return !state.hasRedirected }
        if space.isOrigin(of: server) { return true }
        guard let upgrade = state.upgrade, server.scheme == "http", upgrade.scheme == "https" else { return false }
        // The same server over TLS, and no other, even if a server claims that it is an upgrade.
        return upgrade.host == server.host && upgrade.port == server.port && space.isOrigin(of: upgrade)
    }

    /// Returns the URL that names a server: this one, or the one nested in it; `nil` if neither does.
    private static func server(of url: URLRecord) -> URLRecord? {
        var url = url
        while url.host?.isEmpty ?? true {
            // `try?` because an invalid URL names no server.
            guard let inner = try? URLRecord(parsing: String(url.schemeSpecificPart)) else { return nil }
            url = inner
        }
        return url
    }

    /// Returns the error for wrong credentials.
    static func refusal(_ challenge: AuthenticationChallenge) -> LoadError {
        let space = challenge.protectionSpace
        let place = [space.realm.map { "realm '\($0)'" }, space.host.isEmpty ? nil : "'\(space.host)'"].compactMap { $0 }
        return LoadError(
            challenge.previousError?.code ?? .authenticationRequired,
            message: "the user name and password were refused\(place.isEmpty ? "" : " by " + place.joined(separator: " of ")); check both")
    }
}

extension ProtectionSpace {
    /// The server or the proxy, whatever it asks for.
    fileprivate var peer: ProtectionSpace {
        ProtectionSpace(kind: .password(scheme: ""), protocolName: protocolName, host: host, port: port, isProxy: isProxy)
    }
}

extension [PasswordAnswer] {
    func noteRedirect(to url: URLRecord, _ response: Response) {
        for password in self { password.noteRedirect(to: url, isUpgrade: response.field("Non-Authoritative-Reason") == "HSTS") }
    }

    /// Returns the decision of the first element that the challenge is for.
    func evaluate(_ challenge: AuthenticationChallenge) -> (verdict: PasswordAnswer.Verdict, answer: ChallengeAnswer) {
        for password in self {
            let verdict = password.evaluate(challenge)
            if verdict != .leftAlone { return (verdict, password.answer(for: verdict)) }
        }
        return (.leftAlone, .performDefault)
    }
}
