// SPDX-License-Identifier: Apache-2.0

import Portolan
import Testing

@testable import PortolanCLI

@Suite struct ChallengeResponderTests {
    private func challenge(
        _ host: String = "h", port: Int? = nil, failureCount: Int = 0, kind: ProtectionSpace.Kind = .password(scheme: "basic"),
        isProxy: Bool = false, scheme: String = "http"
    ) -> AuthenticationChallenge {
        let space = ProtectionSpace(kind: kind, protocolName: scheme, host: host, port: port, realm: "r", isProxy: isProxy)
        return AuthenticationChallenge(protectionSpace: space, previousFailureCount: failureCount) { _ in }
    }

    @Test func proxyPasswordIsOnlyForProxies() {
        let responder = ChallengeResponder(argument: "u:p:q", for: .proxy)
        #expect(responder.evaluate(challenge("h")) == .notHandled)
        #expect(responder.evaluate(challenge("any", isProxy: true)) == .answered)
        #expect(responder.answer(for: .answered).credential == .password(user: "u", password: "p:q"))
        #expect(ChallengeResponder(argument: "u", for: .proxy).answer(for: .answered).credential == .password(user: "u", password: ""))
    }

    /// A responder with the password of this URL.
    private func responder(for url: String) throws -> ChallengeResponder {
        ChallengeResponder(user: "u", password: "p", for: try URLRecord(parsing: url))
    }

    @Test func passwordIsSentOnlyToTheHostOfTheURL() throws {
        let responder = try responder(for: "http://h/")
        #expect(responder.evaluate(challenge("H", port: 80)) == .answered)
        #expect(responder.evaluate(challenge("other")) == .notHandled)
        #expect(responder.evaluate(challenge("h", port: 81)) == .notHandled)
        #expect(responder.evaluate(challenge(isProxy: true)) == .notHandled)
        #expect(responder.evaluate(challenge(kind: .serverTrust(chain: []))) == .notHandled)
    }

    @Test(
        arguments: [
            ("https://h/", "http", 443, false), ("https://h/", "https", 443, true), ("https://h/", "https", nil, true),
            ("https://h/", "http", nil, false),
            ("http://h/", "https", 80, false), ("http://h:443/", "https", 443, false), ("http://h:8080/", "http", nil, false),
            ("http://H:8080/", "HTTP", 8080, true), ("echo://h/", "echo", nil, true), ("echo://h/", "echo", 80, false),
            ("echo://h:7/", "echo", 7, true), ("echo://h:7/", "echo", nil, false), ("echo://h/", "http", 80, false),
            ("gzip:https://h/x", "https", 443, true), ("gzip:https://h/x", "http", 443, false), ("gzip:https://h/x", "https", 444, false),
            ("a:b:http://h:1/x", "http", 1, true), ("zip:x", "http", 80, true),
        ] as [(String, String, Int?, Bool)])
    func passwordIsSentOnlyToOneSchemeHostAndPort(url: String, scheme: String, port: Int?, isSent: Bool) throws {
        let decision = try responder(for: url).evaluate(challenge(port: port, scheme: scheme))
        #expect(decision == (isSent ? .answered : .notHandled))
    }

    @Test("With --digest, a Basic challenge gets no credential, not even one that the loader proposes")
    func digestOnlyExcludesBasic() {
        let responder = ChallengeResponder(user: "u", password: "p", for: .proxy, by: .digest)
        let decision = responder.evaluate(challenge(isProxy: true))
        #expect(decision == .excluded(reason: "only Digest is allowed"))
        guard case .continueWithoutCredential = responder.answer(for: decision) else {
            Issue.record("the default handling would use a proposed credential")
            return
        }
    }

    @Test func rejectionByAProxyHasTheErrorCodeOfItsConnection() {
        let space = challenge(isProxy: true).protectionSpace
        let error = LoadError(.socksFailed, message: "no")
        let rejection = ChallengeResponder.rejectionError(
            for:
                AuthenticationChallenge(protectionSpace: space, previousFailureCount: 1, previousError: error) { _ in })
        #expect(rejection.code == .socksFailed)
    }

    @Test func rejectedPasswordIsNotSentAgain() throws {
        let responder = try responder(for: "http://h/")
        #expect(responder.evaluate(challenge()) == .answered)
        #expect(responder.evaluate(challenge(failureCount: 1)) == .refused)
    }

    @Test func endlessChallengesAreRefused() throws {
        let responder = try responder(for: "http://h/")
        let decisions = (0..<40).map { _ in responder.evaluate(challenge()) }
        #expect(decisions.first == .answered && decisions.last == .refused)
    }

    @Test func urlWithoutAHostSendsThePasswordOnlyBeforeARedirect() throws {
        let responder = try responder(for: "zip:http://h/a")
        #expect(responder.evaluate(challenge()) == .answered)
        responder.didRedirect()
        #expect(responder.evaluate(challenge("other")) == .notHandled)
    }

    @Test func messageContainsNoSecret() {
        let rejection = ChallengeResponder.rejectionError(for: challenge())
        #expect(rejection.code == .authenticationRequired)
        #expect(rejection.message == "the user name and password were refused by realm 'r' of 'h'; check both")
    }
}

extension ChallengeAnswer {
    fileprivate var credential: Credential? {
        if case .use(let credential) = self { credential } else { nil }
    }
}
