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
        let decision = dialogue.receiveChallenge(offering: offers)
        guard case .sendChallenge(let challenge)? = decision else { throw Unasked() }
        return challenge
    }

    private func used(_ decision: AuthenticationDialogue.Decision) -> PasswordCredential? {
        if case .use(let authorization) = decision { authorization.credential } else { nil }
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
        let more = dialogue.receiveChallenge(offering: [.basic(realm: "more")])
        #expect(more == nil)
    }

    @Test func rejectedSpaceLeadsToTheNextAndThenFails() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.ask(&dialogue, [realmA, realmB])
        guard case .sendChallenge(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else {
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
        guard case .sendChallenge(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else { return }
        _ = dialogue.decide(.use(ann), on: second)
        let again = try Self.ask(&dialogue, [realmA, realmB])
        #expect(again.space.realm == "b")
    }

    @Test func continuingWithoutACredentialGivesUp() throws {
        for answer in [ChallengeAnswer.continueWithoutCredential, .performDefault] {
            var dialogue = AuthenticationDialogue(with: Self.peer)
            let challenge = try Self.ask(&dialogue, [realmA])
            guard case .continueWithoutCredential = dialogue.decide(answer, on: challenge) else {
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
        let challenge = dialogue.receiveChallenge(offering: [])
        #expect(challenge == nil)
        #expect(AuthenticationOffer(HTTPChallenge(scheme: "digest")) == nil)
    }

    private struct Unasked: Error {}

    private func isGivenUp(_ decision: AuthenticationDialogue.Decision?) -> Bool { decision == nil }

    private static func digest(_ parameters: String) -> AuthenticationOffer? {
        HTTPChallenge.parse(Array("Digest realm=\"r\", \(parameters)".utf8).span).first.flatMap(AuthenticationOffer.init)
    }

    @Test func staleNonceIsRenewedWithoutAskingAgain() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let old = try #require(Self.digest("nonce=1"))
        let fresh = try #require(Self.digest("nonce=2, stale=TRUE"))
        _ = dialogue.decide(.use(ann), on: try Self.ask(&dialogue, [old]))
        guard case .use(let authorization)? = dialogue.receiveChallenge(offering: [fresh]) else { throw Unasked() }
        #expect(authorization.offer == fresh && authorization.credential == PasswordCredential(ann))
        // A nonce that is refused for another reason is a wrong password.
        #expect(try Self.ask(&dialogue, [try #require(Self.digest("nonce=3"))]).failureCount == 1)
    }

    @Test func peerThatAlwaysWantsAnotherNonceIsGivenUp() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        _ = dialogue.decide(.use(ann), on: try Self.ask(&dialogue, [try #require(Self.digest("nonce=0"))]))
        var count = 0
        while case .use? = dialogue.receiveChallenge(offering: [try #require(Self.digest("nonce=\(count), stale=true"))]) { count += 1 }
        #expect(count == AuthenticationDialogue.credentialLimit - 1)
    }

    @Test func staleNonceBeforeACredentialAsks() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        #expect(try Self.ask(&dialogue, [try #require(Self.digest("nonce=1, stale=true"))]).failureCount == 0)
    }

    /// Somebody who can answer in the server's place must not get the password by Basic.
    @Test func weakerSchemeIsNotUsedAfterAStrongOne() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let strong = try #require(Self.digest("nonce=1, algorithm=SHA-256"))
        _ = dialogue.decide(.use(ann), on: try Self.ask(&dialogue, [strong, realmA]))
        #expect(isGivenUp(dialogue.receiveChallenge(offering: [realmA])))
        #expect(isGivenUp(dialogue.receiveChallenge(offering: [try #require(Self.digest("nonce=1"))])))
    }

    @Test func rejectedDigestMovesOnToBasic() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.ask(&dialogue, [try #require(Self.digest("nonce=1")), realmA])
        #expect(first.space.kind == .password(scheme: "digest") && first.space.realm == "r")
        guard case .sendChallenge(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else { throw Unasked() }
        #expect(second.space.kind == .password(scheme: "basic"))
    }

    @Test("A credential of an earlier load is sent again once if the server has another nonce, and then counts as refused")
    func reusedCredential() throws {
        let (old, fresh) = (try #require(Self.digest("nonce=1")), try #require(Self.digest("nonce=2")))
        let credential = PasswordCredential(user: "ann", password: "s3cret")
        var dialogue = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: old))
        guard case .use(let authorization)? = dialogue.receiveChallenge(offering: [fresh]) else { throw Unasked() }
        #expect(authorization.offer == fresh)
        let refused = try Self.ask(&dialogue, [try #require(Self.digest("nonce=3"))])
        #expect(refused.failureCount == 1 && refused.refusedCredential == credential)
        var same = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: old))
        #expect(try Self.ask(&same, [old]).refusedCredential == credential)
        var basic = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: realmA))
        #expect(try Self.ask(&basic, [realmA]).refusedCredential == credential)
        var other = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: realmA))
        let challenge = try Self.ask(&other, [realmB])
        #expect(challenge.failureCount == 0 && challenge.refusedCredential == nil)
        var weaker = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: old))
        #expect(isGivenUp(weaker.receiveChallenge(offering: [realmA])))
    }

    /// Basic, sent unasked, is no wrong password where the peer wants Digest.
    @Test func credentialSentInAdvanceIsUsedForDigest() throws {
        let digest = try #require(Self.digest("nonce=1"))
        var dialogue = AuthenticationDialogue(with: Self.peer, sending: PasswordCredential(ann))
        guard case .use(let authorization)? = dialogue.receiveChallenge(offering: [digest]) else { throw Unasked() }
        #expect(authorization.offer == digest)
        #expect(try Self.ask(&dialogue, [digest]).failureCount == 1)
        var refused = AuthenticationDialogue(with: Self.peer, sending: PasswordCredential(ann))
        #expect(try Self.ask(&refused, [digest, realmA]).failureCount == 1)
    }
}
