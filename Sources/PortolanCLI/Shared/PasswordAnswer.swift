// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Answers questions for a user name and password with the ones that were given for a URL, or for proxies.
///
/// Those for a URL go to its scheme, host and port alone; in `zip:http://h/x` those of `http://h/x`. Where no host is named at all, whoever asks
/// first gets them, unless a redirect came before. Once they were wrong, they are not sent to that protection space again.
final class PasswordAnswer: Sendable {
    enum Verdict: Equatable {
        case answered
        /// Not a question for these credentials; default handling goes on.
        case leftAlone
        /// The credentials were wrong.
        case refused
    }

    private struct State {
        /// How often each space got them.
        var answers: [ProtectionSpace: Int] = [:]
        var hasRedirected = false
    }

    /// One load may come to a space again after redirects; a handler that forgets that it has asked must come to an end.
    private static let answerLimit = 32

    /// Who gets them.
    enum Audience {
        case origin(URLRecord)
        /// Whichever proxy asks: it was chosen by the same user.
        case proxy
    }

    private let credential: Credential
    private let audience: Audience
    private let state = Mutex(State())

    init(user: String, password: String, for audience: Audience) {
        credential = .password(user: user, password: password)
        self.audience = audience
    }

    convenience init(user: String, password: String, for url: URLRecord) {
        self.init(user: user, password: password, for: .origin(url))
    }

    /// - Parameter argument: `user:password`; without a colon the password is empty.
    convenience init(argument: String, for audience: Audience) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(user: String(parts[0]), password: parts.count > 1 ? String(parts[1]) : "", for: audience)
    }

    func noteRedirect() {
        state.withLock { $0.hasRedirected = true }
    }

    /// Decides; the caller then answers the challenge with ``answer(for:)``.
    func judge(_ challenge: AuthenticationChallenge) -> Verdict {
        let space = challenge.protectionSpace
        return state.withLock { state in
            guard case .password = space.kind, isMeant(for: space, state) else { return .leftAlone }
            let earlier = state.answers[space, default: 0]
            guard earlier == 0 || (challenge.previousFailureCount == 0 && earlier < Self.answerLimit) else { return .refused }
            state.answers[space] = earlier + 1
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
        // A handler that has no host to name speaks of the URL that it serves.
        guard !space.host.isEmpty, let server = Self.server(of: url) else { return !state.hasRedirected }
        return space.isOrigin(of: server)
    }

    /// The URL that names a server: this one, or the one that lies in it; `nil` where none does.
    private static func server(of url: URLRecord) -> URLRecord? {
        var url = url
        while url.host?.isEmpty ?? true {
            // `try?` because what is no URL names no server.
            guard let inner = try? URLRecord(parsing: String(url.schemeSpecificPart)) else { return nil }
            url = inner
        }
        return url
    }

    /// What to say when the credentials were wrong.
    static func refusal(_ challenge: AuthenticationChallenge) -> LoadError {
        let space = challenge.protectionSpace
        let place = [space.realm.map { "realm '\($0)'" }, space.host.isEmpty ? nil : "'\(space.host)'"].compactMap { $0 }
        return LoadError(
            challenge.previousError?.code ?? .authenticationRequired,
            message: "the user name and password were refused\(place.isEmpty ? "" : " by " + place.joined(separator: " of ")); check both")
    }
}

extension [PasswordAnswer] {
    func noteRedirect() {
        for password in self { password.noteRedirect() }
    }

    /// The word of the first that the challenge is for.
    func judge(_ challenge: AuthenticationChallenge) -> (verdict: PasswordAnswer.Verdict, answer: ChallengeAnswer) {
        for password in self {
            let verdict = password.judge(challenge)
            if verdict != .leftAlone { return (verdict, password.answer(for: verdict)) }
        }
        return (.leftAlone, .performDefault)
    }
}
