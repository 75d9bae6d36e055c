// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport
@testable import PortolanHTTPSyntax

@Suite("What an authentication dialogue decides after challenges and answers")
struct AuthenticationDialogueTests {
    private static let peer = AuthenticationDialogue.Peer(protocolName: "http", host: "h.test", port: 80, isProxy: false)
    private let basicA = AuthenticationOffer.basic(realm: "a")
    private let basicB = AuthenticationOffer.basic(realm: "b")
    private let ann = Credential.password(user: "ann", password: "s3cret")

    /// The challenge that the dialogue sends to the delegate for these offers. Throws if the dialogue sends none.
    private static func challenge(_ dialogue: inout AuthenticationDialogue, _ offers: [AuthenticationOffer]) throws
        -> AuthenticationDialogue.Challenge
    {
        let decision = dialogue.receiveChallenge(offering: offers)
        guard case .sendChallenge(let challenge)? = decision else { throw UnexpectedDecision() }
        return challenge
    }

    private func usedCredential(_ decision: AuthenticationDialogue.Decision) -> PasswordCredential? {
        if case .use(let authorization) = decision { authorization.credential } else { nil }
    }

    private func error(_ decision: AuthenticationDialogue.Decision) -> LoadError? {
        if case .fail(let error) = decision { error } else { nil }
    }

    @Test func wrongPasswordIsCountedAndChallengedAgain() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.challenge(&dialogue, [basicA])
        #expect(first.failureCount == 0 && first.previousError == nil)
        #expect(
            first.space
                == ProtectionSpace(
                    kind: .password(scheme: "basic"), protocolName: "http", host: "h.test", port: 80, realm: "a", isProxy: false))
        let decision = dialogue.decide(.use(ann), on: first)
        #expect(usedCredential(decision) == PasswordCredential(user: "ann", password: "s3cret"))
        let second = try Self.challenge(&dialogue, [basicA])
        #expect(second.failureCount == 1)
        #expect(second.previousError?.code == .authenticationRequired)
        let message = second.previousError?.message ?? ""
        #expect(message.contains("'ann'") && message.contains("'h.test'") && !message.contains("s3cret"))
    }

    @Test func credentialSentInAdvanceCountsAsAFailure() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer, sending: PasswordCredential(user: "u", password: "p"))
        let again = try Self.challenge(&dialogue, [basicA])
        #expect(again.failureCount == 1)
    }

    @Test func newRealmResetsTheFailureCount() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.challenge(&dialogue, [basicA])
        _ = dialogue.decide(.use(ann), on: first)
        let second = try Self.challenge(&dialogue, [basicB])
        #expect(second.failureCount == 0 && second.space.realm == "b")
    }

    @Test func answersAreLimitedAcrossRealms() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        for number in 0..<AuthenticationDialogue.credentialLimit {
            let challenge = try Self.challenge(&dialogue, [.basic(realm: "\(number)")])
            _ = dialogue.decide(.use(ann), on: challenge)
        }
        let more = dialogue.receiveChallenge(offering: [.basic(realm: "more")])
        #expect(more == nil)
    }

    @Test func rejectedSpaceLeadsToAChallengeForTheNextSpaceAndThenFails() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.challenge(&dialogue, [basicA, basicB])
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
        let first = try Self.challenge(&dialogue, [basicA, basicB])
        guard case .sendChallenge(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else { return }
        _ = dialogue.decide(.use(ann), on: second)
        let again = try Self.challenge(&dialogue, [basicA, basicB])
        #expect(again.space.realm == "b")
    }

    @Test func continuingWithoutACredentialSendsNoFurtherRequest() throws {
        for answer in [ChallengeAnswer.continueWithoutCredential, .performDefault] {
            var dialogue = AuthenticationDialogue(with: Self.peer)
            let challenge = try Self.challenge(&dialogue, [basicA])
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
            let challenge = try Self.challenge(&dialogue, [basicA])
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

    private struct UnexpectedDecision: Error {}

    /// Whether the dialogue sends no challenge and no credential, so that the load delivers the 401 or 407.
    private func deliversTheResponse(_ decision: AuthenticationDialogue.Decision?) -> Bool { decision == nil }

    private static func digest(_ parameters: String) -> AuthenticationOffer? {
        HTTPChallenge.parse(Array("Digest realm=\"r\", \(parameters)".utf8).span).first.flatMap(AuthenticationOffer.init)
    }

    @Test func staleNonceIsReplacedWithoutAnotherChallenge() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let oldOffer = try #require(Self.digest("nonce=1"))
        let newOffer = try #require(Self.digest("nonce=2, stale=TRUE"))
        _ = dialogue.decide(.use(ann), on: try Self.challenge(&dialogue, [oldOffer]))
        guard case .use(let authorization)? = dialogue.receiveChallenge(offering: [newOffer]) else { throw UnexpectedDecision() }
        #expect(authorization.offer == newOffer && authorization.credential == PasswordCredential(ann))
        // A 401 without `stale` means that the password is wrong.
        #expect(try Self.challenge(&dialogue, [try #require(Self.digest("nonce=3"))]).failureCount == 1)
    }

    @Test func numberOfStaleNoncesIsLimited() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        _ = dialogue.decide(.use(ann), on: try Self.challenge(&dialogue, [try #require(Self.digest("nonce=0"))]))
        var count = 0
        while case .use? = dialogue.receiveChallenge(offering: [try #require(Self.digest("nonce=\(count), stale=true"))]) { count += 1 }
        #expect(count == AuthenticationDialogue.credentialLimit - 1)
    }

    @Test func staleNonceBeforeACredentialMakesAChallenge() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        #expect(try Self.challenge(&dialogue, [try #require(Self.digest("nonce=1, stale=true"))]).failureCount == 0)
    }

    /// An attacker who responds in place of the server must not get the password by Basic.
    @Test func weakerSchemeIsNotUsedAfterAStrongOne() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let strong = try #require(Self.digest("nonce=1, algorithm=SHA-256"))
        _ = dialogue.decide(.use(ann), on: try Self.challenge(&dialogue, [strong, basicA]))
        #expect(deliversTheResponse(dialogue.receiveChallenge(offering: [basicA])))
        #expect(deliversTheResponse(dialogue.receiveChallenge(offering: [try #require(Self.digest("nonce=1"))])))
    }

    @Test func rejectedDigestMovesOnToBasic() throws {
        var dialogue = AuthenticationDialogue(with: Self.peer)
        let first = try Self.challenge(&dialogue, [try #require(Self.digest("nonce=1")), basicA])
        #expect(first.space.kind == .password(scheme: "digest") && first.space.realm == "r")
        guard case .sendChallenge(let second) = dialogue.decide(.rejectProtectionSpace, on: first) else { throw UnexpectedDecision() }
        #expect(second.space.kind == .password(scheme: "basic"))
    }

    @Test("A credential of an earlier load is sent again once if the server has another nonce, and then counts as refused")
    func reusedCredentialIsSentOnceMoreForANewNonce() throws {
        let (oldOffer, newOffer) = (try #require(Self.digest("nonce=1")), try #require(Self.digest("nonce=2")))
        let credential = PasswordCredential(user: "ann", password: "s3cret")
        var dialogue = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: oldOffer))
        guard case .use(let authorization)? = dialogue.receiveChallenge(offering: [newOffer]) else { throw UnexpectedDecision() }
        #expect(authorization.offer == newOffer)
        let refused = try Self.challenge(&dialogue, [try #require(Self.digest("nonce=3"))])
        #expect(refused.failureCount == 1 && refused.refusedCredential == credential)
        var same = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: oldOffer))
        #expect(try Self.challenge(&same, [oldOffer]).refusedCredential == credential)
        var basic = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: basicA))
        #expect(try Self.challenge(&basic, [basicA]).refusedCredential == credential)
        var other = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: basicA))
        let challenge = try Self.challenge(&other, [basicB])
        #expect(challenge.failureCount == 0 && challenge.refusedCredential == nil)
        var weaker = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: oldOffer))
        #expect(deliversTheResponse(weaker.receiveChallenge(offering: [.basic(realm: "r")])))
    }

    /// Digest in one realm of a server says nothing about another realm, unless the load itself has answered by Digest.
    @Test func weakerSchemeOfAnotherRealmIsAnsweredInAnotherLoad() throws {
        let digest = try #require(Self.digest("nonce=1"))
        let credential = PasswordCredential(user: "ann", password: "s3cret")
        var dialogue = AuthenticationDialogue(with: Self.peer, reusing: Authorization(credential, for: digest))
        let challenge = try Self.challenge(&dialogue, [basicA])
        #expect(challenge.failureCount == 0 && challenge.refusedCredential == nil)
        var same = AuthenticationDialogue(with: Self.peer)
        _ = same.decide(.use(ann), on: try Self.challenge(&same, [digest]))
        #expect(deliversTheResponse(same.receiveChallenge(offering: [basicA])))
    }

    /// If the peer asks for Digest, a Basic credential that was sent in advance does not count as a wrong password.
    @Test func credentialSentInAdvanceIsUsedForDigest() throws {
        let digest = try #require(Self.digest("nonce=1"))
        var dialogue = AuthenticationDialogue(with: Self.peer, sending: PasswordCredential(ann))
        guard case .use(let authorization)? = dialogue.receiveChallenge(offering: [digest]) else { throw UnexpectedDecision() }
        #expect(authorization.offer == digest)
        #expect(try Self.challenge(&dialogue, [digest]).failureCount == 1)
        var refused = AuthenticationDialogue(with: Self.peer, sending: PasswordCredential(ann))
        #expect(try Self.challenge(&refused, [digest, basicA]).failureCount == 1)
    }
}
