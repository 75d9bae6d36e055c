// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// Trust in a server: by default, and from the delegate's answer to a challenge.
@Suite(.timeLimit(.minutes(10))) struct ServerTrustTests {
    /// A bad certificate of a server, and phrases of the error's message.
    static let badCertificates: [(name: String, phrases: [String])] = [
        ("expired", ["expired on 2021-02-02", "clock"]),
        ("future", ["not valid before 2040-03-03"]),
        ("misnamed", ["'127.0.0.1' is not trusted", "it is for 'other.test', 'www.other.test', '192.0.2.1'"]),
        ("nameless", ["it is for no host", "the subject 'localhost' is not used"]),
        ("self", ["it is self-signed", "trust roots"]),
        ("unknown", ["its issuer, 'Unknown Authority', is not known"]),
        ("incomplete", ["its issuer, 'Test Intermediate', is not known"]),
        ("expired-misnamed", ["expired on 2021-02-02", "it is for 'other.test'"]),
        ("client-only", ["not meant for servers"]),
    ]

    @Test(arguments: ["good", "below"])
    func validChainIsTrustedByDefault(name: String) async throws {
        let server = try await SecureServer(name)
        let outcome = try await SecureLoaderFixture().load(server.url)
        #expect(outcome.text == "hello")
        #expect(outcome.challengeCount == 1)
        #expect(outcome.task.metrics.transfers.map(\.tlsVersion) == ["TLSv1.3"])
        #expect(server.count(.connected) == 1)
        try await server.stop()
    }

    @Test(arguments: badCertificates)
    func aBadCertificateFailsByDefault(name: String, phrases: [String]) async throws {
        let server = try await SecureServer(name)
        for answer in [ChallengeAnswer.performDefault, .continueWithoutCredential, .use(.password(user: "u", password: "p"))] {
            let outcome = try await SecureLoaderFixture().load(server.url, answering: answer)
            #expect(outcome.code == .certificateNotTrusted)
            for phrase in phrases { #expect(outcome.text.contains(phrase)) }
            #expect(outcome.challengeCount == 1)
        }
        #expect(server.count(.requestBegan) == 0)
        try await server.stop()
    }

    @Test(arguments: badCertificates)
    func delegateMayTrustABadCertificate(name: String, phrases: [String]) async throws {
        let server = try await SecureServer(name)
        let chain = try certificates().der(name)
        let outcome = try await SecureLoaderFixture().load(server.url) { challenge in
            #expect(challenge.serverChain?.first == chain)
            #expect(challenge.protectionSpace.host == "127.0.0.1")
            #expect(challenge.protectionSpace.port == server.port)
            for phrase in phrases { #expect(challenge.previousError?.message.contains(phrase) ?? false) }
            challenge.answer(.use(.serverTrust))
        }
        #expect(outcome.text == "hello")
        try await server.stop()
    }

    @Test(arguments: ["good"] + badCertificates.map(\.name))
    func delegateMayRejectAnyCertificate(name: String) async throws {
        let server = try await SecureServer(name)
        let rejected = try await SecureLoaderFixture().load(server.url, answering: .rejectProtectionSpace)
        #expect(rejected.code == .secureConnectionFailed)
        #expect(rejected.text.contains("this program's own check rejected the certificate"))
        let cancelled = try await SecureLoaderFixture().load(server.url, answering: .cancel)
        #expect(cancelled.code == .authenticationCancelled)
        #expect(server.count(.requestBegan) == 0)
        try await server.stop()
    }

    @Test func challengeOfAnUntrustedServerHasTheWholeChain() async throws {
        let server = try await SecureServer("below")
        let certificates = try certificates()
        let chains = Mutex<[[[UInt8]]]>([])
        let fixture = try SecureLoaderFixture { $0.tls.trustRoots = .only([.file(path: certificates.path("stranger.pem"))]) }
        let outcome = try await fixture.load(server.url) { challenge in
            chains.withLock { $0.append(challenge.serverChain ?? []) }
            challenge.answer(.performDefault)
        }
        #expect(outcome.text.contains("the last issuer in its chain, 'Test Authority', is not known"))
        #expect(chains.withLock { $0 } == [[try certificates.der("below"), try certificates.der("below", 1)]])
        try await server.stop()
    }

    @Test func withoutVerificationTheDelegateStillDecides() async throws {
        let server = try await SecureServer("self")
        let fixture = try SecureLoaderFixture { $0.tls.verification = .none }
        let outcome = try await fixture.load(server.url) { challenge in
            #expect(challenge.previousError == nil)
            challenge.answer(.performDefault)
        }
        #expect(outcome.text == "hello")
        #expect(server.count(.connected) == 1)
        #expect(
            try await SecureLoaderFixture { $0.tls.verification = .none }.load(server.url, answering: .rejectProtectionSpace).code != nil)
        try await server.stop()
    }

    @Test func requestIsNotSentBeforeTheTrustDecision() async throws {
        for name in ["good", "self"] {
            let server = try await SecureServer(name)
            let pendingChallenges = PendingChallenges()
            async let outcome = SecureLoaderFixture().load(server.url, pending: pendingChallenges)
            let challenge = try await pendingChallenges.next()
            // A second load runs to its end. If the first load had sent its request, the server would have received it
            // by now.
            _ = try await SecureLoaderFixture().load(server.url, answering: .use(.serverTrust))
            #expect(server.count(.requestBegan) == 1)
            challenge.answer(.use(.serverTrust))
            #expect(try await outcome.text == "hello")
            #expect(server.count(.requestBegan) == 2)
            try await server.stop()
        }
    }

    @Test func trustOfOneLoadDoesNotApplyToAnother() async throws {
        let server = try await SecureServer("self")
        let fixture = try SecureLoaderFixture()
        #expect(try await fixture.load(server.url, answering: .use(.serverTrust)).text == "hello")
        // The connection is open and idle.
        let second = try await fixture.load(server.url)
        #expect(second.code == .certificateNotTrusted)
        #expect(second.text.contains("self-signed"))
        #expect(second.challengeCount == 1)
        #expect(server.count(.requestBegan) == 1)
        try await server.stop()
    }

    @Test func loadsThatTrustTheServerShareItsConnection() async throws {
        let server = try await SecureServer("self")
        let fixture = try SecureLoaderFixture()
        for _ in 1...3 {
            let outcome = try await fixture.load(server.url, answering: .use(.serverTrust))
            #expect(outcome.text == "hello")
            #expect(outcome.challengeCount == 1)
        }
        #expect(server.count(.connected) == 1)
        try await server.stop()
    }

    @Test func eachLoadIsChallengedOnceForAnOpenConnection() async throws {
        let server = try await SecureServer("good")
        let fixture = try SecureLoaderFixture()
        #expect(try await fixture.load(server.url).text == "hello")
        let rejected = try await fixture.load(server.url, answering: .rejectProtectionSpace)
        #expect(rejected.code == .secureConnectionFailed)
        #expect(server.count(.connected) == 1)
        #expect(server.count(.requestBegan) == 1)
        try await server.stop()
    }

    /// Several loads wait for one connection. The first load rejects the server.
    @Test func rejectionFailsOnlyItsOwnLoad() async throws {
        let server = try await SecureServer("good")
        let fixture = try SecureLoaderFixture { $0.connectionLimits.perHost = 1 }
        let pendingChallenges = PendingChallenges()
        async let first = fixture.load(server.url, pending: pendingChallenges)
        let challenge = try await pendingChallenges.next()
        let second = RecordingDelegate()
        fixture.loader.task(for: try Request(server.url), delegate: second).resume()
        challenge.answer(.rejectProtectionSpace)
        #expect(try await first.code == .secureConnectionFailed)
        await second.ended()
        #expect(second.text == "hello")
        try await server.stop()
    }

    @Test func loadCancelledDuringAChallengeLeavesNoConnection() async throws {
        for name in ["good", "self"] {
            let server = try await SecureServer(name)
            let fixture = try SecureLoaderFixture()
            let pendingChallenges = PendingChallenges()
            let delegate = RecordingDelegate(onChallenge: { pendingChallenges.add($0) })
            let task = fixture.loader.task(for: try Request(server.url), delegate: delegate)
            task.resume()
            let challenge = try await pendingChallenges.next()
            task.cancel()
            await delegate.ended()
            #expect(delegate.error?.code == .cancelled)
            try await server.wait(for: .closed)
            challenge.answer(.use(.serverTrust))
            #expect(server.count(.requestBegan) == 0)
            try await server.stop()
        }
    }

    @Test func serverThatClosesDuringAChallengeFailsTheLoad() async throws {
        let server = try await SecureServer("good")
        let pendingChallenges = PendingChallenges()
        async let outcome = SecureLoaderFixture().load(server.url, pending: pendingChallenges)
        let challenge = try await pendingChallenges.next()
        // The handshake is paused during the challenge.
        #expect(server.count(.secured(nil)) == 0)
        try server.closeAll()
        let endedOutcome = try await outcome
        #expect(endedOutcome.code == .secureConnectionFailed)
        #expect(endedOutcome.text.contains("while a challenge waited for a decision"))
        #expect(endedOutcome.delegate.events.contains(.challengeCancelled))
        challenge.answer(.use(.serverTrust))
        try await server.stop()
    }
}
