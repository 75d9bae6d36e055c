// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport
@testable import PortolanHTTPSyntax

@Suite("Challenges, and the effect of their answers")
struct AuthenticationDialogueTests {
    private static let peer = AuthenticationDialogue.Peer(protocolName: "http", host: "h.test", port: 80, isProxy: false)
    private let realmA = AuthenticationOffer.basic(realm: "a")
    private let realmB = AuthenticationOffer.basic(realm: "b")
    private let ann = Credential.password(user: "ann", password: "s3cret")

    private static func ask(_ dialogue: inout AuthenticationDialogue, _ offers: [AuthenticationOffer]) throws
        -> AuthenticationDialogue.Challenge
    {
        let challenge = dialogue.challenge(offers)
        return try #require(challenge)
    }

    private func used(_ decision: AuthenticationDialogue.Decision) -> PasswordCredential? {
        if case .use(let credential) = decision { credential } else { nil }
    }

    private func error(_ decision: AuthenticationDialogue.Decision) -> LoadError? {
        if case .fail(let error) = decision { error } else { nil }
    }

    @Test func wrongPasswordIsCountedAndChallengedAgain() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.ask(&dialogue, [realmA])
        #expect(first.failureCount == 0 && first.previousError == nil)
        #expect(
            first.space
                == ProtectionSpace(
                    kind: .password(scheme: "basic"), protocolName: "http", host: "h.test", port: 80, realm: "a", isProxy: false))
        let decision = dialogue.decide(.use(ann), on: first)
        #expect(used(decision) == PasswordCredential(user: "ann", password: "s3cret"))
        let second = try Self.ask(&dialogue, [realmA])
        #expect(second.failureCount == 1)
        #expect(second.previousError?.code == .authenticationRequired)
        let message = second.previousError?.message ?? ""
        #expect(message.contains("'ann'") && message.contains("'h.test'") && !message.contains("s3cret"))
    }

    @Test func credentialSentInAdvanceCountsAsAFailure() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer, sending: PasswordCredential(user: "u", password: "p"))
        let again = try Self.ask(&dialogue, [realmA])
        #expect(again.failureCount == 1)
    }

    @Test func newRealmResetsTheFailureCount() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.ask(&dialogue, [realmA])
        _ = dialogue.decide(.use(ann), on: first)
        let second = try Self.ask(&dialogue, [realmB])
        #expect(second.failureCount == 0 && second.space.realm == "b")
    }

    @Test func answersAreLimitedAcrossRealms() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        for number in 0..<AuthenticationDialogue.credentialLimit {
            let challenge = try Self.ask(&dialogue, [.basic(realm: "\(number)")])
            _ = dialogue.decide(.use(ann), on: challenge)
        }
        let more = dialogue.challenge([.basic(realm: "more")])
        #expect(more == nil)
    }

    @Test func rejectedSpaceLeadsToTheNextAndThenFails() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.ask(&dialogue, [realmA, realmB])
        guard case .ask(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else {
            Issue.record("no challenge for the second realm")
            return
        }
        #expect(second.space.realm == "b" && second.failureCount == 0)
        let decision = dialogue.decide(.rejectProtectionSpace, on: second)
        #expect(error(decision)?.code == .authenticationRequired)
    }

    @Test func rejectedSpaceIsNotChallengedAgain() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.ask(&dialogue, [realmA, realmB])
        guard case .ask(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else { return }
        _ = dialogue.decide(.use(ann), on: second)
        let again = try Self.ask(&dialogue, [realmA, realmB])
        #expect(again.space.realm == "b")
    }

    @Test func continuingWithoutACredentialGivesUp() throws {
        for answer in [ChallengeAnswer.continueWithout, .performDefault] {
            var dialogue = AuthenticationDialogue(with: Self.peer)
            let challenge = try Self.ask(&dialogue, [realmA])
            guard case .giveUp = dialogue.decide(answer, on: challenge) else {
                Issue.record("\(answer)")
                continue
            }
        }
    }

    @Test func unusableCredentialsFail() throws {
        let answers: [(ChallengeAnswer, LoadError.Code)] = [
            (.cancel, .authenticationCancelled), (.use(.serverTrust), .authenticationRequired),
            (.use(.certificate(chain: [], privateKey: [])), .authenticationRequired),
            (.use(.password(user: "a:b", password: "")), .authenticationRequired),
        ]
        for (answer, code) in answers {
            var dialogue = AuthenticationDialogue(with: Self.peer)
            let challenge = try Self.ask(&dialogue, [realmA])
            let decision = dialogue.decide(answer, on: challenge)
            #expect(error(decision)?.code == code)
        }
    }

    @Test func unsupportedSchemesMakeNoChallenge() {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let challenge = dialogue.challenge([])
        #expect(challenge == nil)
        #expect(AuthenticationOffer(HTTPChallenge(scheme: "digest")) == nil)
    }
}
