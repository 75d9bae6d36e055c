// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct ChallengeTests {
    /// A handler that sends up to three challenges, until the password is "open sesame". The body of its response says
    /// how the last challenge was answered.
    private static func challengingHandler(kind: ProtectionSpace.Kind = .password(scheme: "basic")) -> ManualHandler {
        ManualHandler { load in sendChallenge(load, kind, failureCount: 0) }
    }

    private static func sendChallenge(_ load: ManualLoad, _ kind: ProtectionSpace.Kind, failureCount: Int) {
        let space = ProtectionSpace(kind: kind, protocolName: "x", host: load.request.url.host.map(String.init) ?? "")
        load.client.didReceive(
            AuthenticationChallenge(protectionSpace: space, previousFailureCount: failureCount) { answer in
                switch answer {
                case .use(.password(_, "open sesame", _)): respond(load, "in")
                case .use where failureCount < 2: sendChallenge(load, kind, failureCount: failureCount + 1)
                case .use: load.client.didFail(with: LoadError(.authenticationRequired, message: "wrong"))
                case .continueWithoutCredential: respond(load, "without")
                case .performDefault: respond(load, "default")
                case .rejectProtectionSpace: respond(load, "rejected")
                case .cancel: load.client.didFail(with: LoadError(.authenticationCancelled, message: "cancelled"))
                }
            })
    }

    private static func respond(_ load: ManualLoad, _ text: String) {
        load.respond()
        load.deliver(text)
        load.finish()
    }

    /// Loads the URL with a delegate that gives `answer` to each challenge, or releases the challenge if it is `nil`.
    private static func load(_ url: String, kind: ProtectionSpace.Kind = .password(scheme: "basic"), answer: ChallengeAnswer?) throws
        -> RecordingDelegate
    {
        let delegate = RecordingDelegate(onChallenge: { challenge in answer.map { challenge.answer($0) } })
        loader(challengingHandler(kind: kind)).task(for: try Request(url), delegate: delegate).resume()
        return delegate
    }

    @Test func eachChallengeAnswerReachesTheHandler() throws {
        let answers: [(ChallengeAnswer, String)] = [
            (.use(.password(user: "u", password: "open sesame")), "in"), (.continueWithoutCredential, "without"),
            (.performDefault, "without"), (.rejectProtectionSpace, "rejected"),
        ]
        for (answer, expectedText) in answers { #expect(try Self.load("x://h/", answer: answer).text == expectedText) }
        #expect(try Self.load("x://h/", answer: .cancel).events.last == .failed(.authenticationCancelled))
    }

    @Test func challengeReleasedWithoutAnAnswerGetsDefaultHandling() throws {
        #expect(try Self.load("x://h/", answer: nil).text == "without")
    }

    @Test func defaultHandlingOfServerTrustReachesTheHandler() throws {
        #expect(try Self.load("x://h/", kind: .serverTrust(chain: []), answer: .performDefault).text == "default")
    }

    @Test func userInfoOfTheURLIsUsedBeforeTheDelegateIsChallenged() throws {
        let delegate = try Self.load("x://me:open%20sesame@h/", answer: .cancel)
        #expect(delegate.text == "in")
        #expect(!delegate.events.contains(.challenge))
    }

    @Test func wrongPasswordInTheURLChallengesTheDelegate() throws {
        let delegate = try Self.load("x://me:wrong@h/", answer: .use(.password(user: "me", password: "open sesame")))
        #expect(delegate.events.filter { $0 == .challenge }.count == 1)
        #expect(delegate.text == "in")
    }

    @Test func userInfoOfTheURLIsNotUsedForProxiesOrOtherHosts() throws {
        let url = try URLRecord(parsing: "x://me:pw@h/")
        var space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h")
        #expect(Credential.inUserInformation(of: url, for: space) == .password(user: "me", password: "pw"))
        space.isProxy = true
        #expect(Credential.inUserInformation(of: url, for: space) == nil)
        space.isProxy = false
        space.host = "other"
        #expect(Credential.inUserInformation(of: url, for: space) == nil)
    }

    /// The load of a plugin can send a challenge for a server that is not the server of its URL.
    @Test(
        arguments: [
            ("https://u:p@h/", "https", 443, true), ("https://u:p@h/", "https", nil, true), ("https://u:p@h/", "http", 443, false),
            ("http://u:p@h/", "http", 8080, false), ("http://u:p@h:8080/", "http", nil, false), ("x://u:p@h/", "x", nil, true),
            ("x://u:p@h/", "x", 7, false), ("x://u:p@h:7/", "x", nil, false), ("x://u:p@h:7/", "X", 7, true),
            ("x://u:p@h/", "y", nil, false),
        ] as [(String, String, Int?, Bool)])
    func userInfoIsUsedOnlyForTheSchemeHostAndPortOfItsURL(url: String, scheme: String, port: Int?, isExpected: Bool) throws {
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: scheme, host: "h", port: port)
        #expect((Credential.inUserInformation(of: try URLRecord(parsing: url), for: space) != nil) == isExpected)
    }

    @Test func wrongPasswordRaisesThePreviousFailureCount() throws {
        let counts = Mutex<[Int]>([])
        let delegate = RecordingDelegate(onChallenge: { challenge in
            counts.withLock { $0.append(challenge.previousFailureCount) }
            challenge.answer(.use(.password(user: "u", password: "no")))
        })
        loader(Self.challengingHandler()).task(for: try Request("x://h/"), delegate: delegate).resume()
        #expect(counts.withLock { $0 } == [0, 1, 2])
        #expect(delegate.events.last == .failed(.authenticationRequired))
    }

    @Test func challengeAcceptsALateAnswerAndIgnoresASecondAnswer() throws {
        let receivedChallenge = Mutex<AuthenticationChallenge?>(nil)
        let delegate = RecordingDelegate(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } })
        loader(Self.challengingHandler()).task(for: try Request("x://h/"), delegate: delegate).resume()
        let challenge = try #require(receivedChallenge.withLock { $0.take() })
        challenge.answer(.continueWithoutCredential)
        challenge.answer(.cancel)
        #expect(delegate.text == "without")
    }

    @Test func delegateReceivesTheCancellationOfAChallenge() throws {
        let receivedChallenge = Mutex<AuthenticationChallenge?>(nil)
        let handler = ManualHandler { load in
            let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
            let challenge = AuthenticationChallenge(protectionSpace: space) { _ in }
            load.client.didReceive(challenge)
            load.client.didCancel(challenge)
            Self.respond(load, "went on")
        }
        let delegate = RecordingDelegate(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } })
        loader(handler).task(for: try Request("x://h/"), delegate: delegate).resume()
        #expect(delegate.events.contains(.challengeCancelled))
        #expect(delegate.text == "went on")
    }

    @Test func credentialDescriptionsHideSecrets() {
        #expect(!Credential.password(user: "me", password: "secret").description.contains("secret"))
        #expect(!Credential.certificate(chain: [], privateKey: [1, 2, 3]).description.contains("[1"))
    }
}
