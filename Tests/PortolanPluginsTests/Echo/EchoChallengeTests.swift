// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

/// The challenge for a user and a password, and every answer to it.
@Suite(.timeLimit(.minutes(2))) struct EchoChallengeTests {
    private static let url = "echo:challenge?user=u%20ser&password=s3cr3t"
    private static let correctAnswer = ChallengeAnswer.use(.password(user: "u ser", password: "s3cr3t"))

    /// Returns a client that answers each challenge with the next of `answers`.
    private func clientAnswering(_ answers: [ChallengeAnswer]) -> RecordingClient {
        RecordingClient(onChallenge: { challenge in
            let count = challenge.previousFailureCount
            challenge.answer(count < answers.count ? answers[count] : .cancel)
        })
    }

    @Test func correctPasswordIsAccepted() throws {
        let client = try Echo.run(Self.url, clientAnswering([Self.correctAnswer]))
        #expect(client.events == [.challenge(failures: 0), .response(12), .data(12), .finished])
        #expect(client.text == "Hello, u ser")
    }

    @Test(arguments: [
        ("u ser", "s3cr3"), ("u ser", "s3cr3tt"), ("u ser", ""), ("", "s3cr3t"), ("u", "s3cr3t"), ("U ser", "s3cr3t"), ("u ser", "s3cr3\0"),
    ])
    func wrongCredentialIsChallengedAgain(_ user: String, _ password: String) throws {
        let client = try Echo.run(Self.url, clientAnswering([.use(.password(user: user, password: password)), Self.correctAnswer]))
        #expect(client.events.prefix(2) == [.challenge(failures: 0), .challenge(failures: 1)])
        #expect(client.events.last == .finished)
    }

    @Test(arguments: [(nil, 3), (1, 1), (100, 100)])
    func loadFailsAfterTheLimitOfWrongCredentials(_ attempts: Int?, _ expected: Int) throws {
        let previousErrors = Mutex<[LoadError?]>([])
        let client = RecordingClient(onChallenge: { challenge in
            previousErrors.withLock { $0.append(challenge.previousError) }
            challenge.answer(.use(.password(user: "w0rm", password: "b4rley")))
        })
        try Echo.run(Self.url + (attempts.map { "&attempts=\($0)" } ?? ""), client)
        #expect(client.events.dropLast() == (0..<expected).map { .challenge(failures: $0) }[...])
        #expect(client.error?.code == .authenticationRequired)
        #expect(previousErrors.withLock { $0.map(\.?.code) } == [nil] + Array(repeating: .authenticationRequired, count: expected - 1))
        for message in [client.error?.message] + previousErrors.withLock({ $0.map(\.?.message) }) {
            #expect(!["s3cr3t", "u ser", "w0rm", "b4rley"].contains { message?.contains($0) == true })
        }
    }

    @Test(arguments: [
        (ChallengeAnswer.cancel, LoadError.Code.authenticationCancelled), (.continueWithoutCredential, .authenticationRequired),
        (.performDefault, .authenticationRequired), (.rejectProtectionSpace, .authenticationRequired),
    ])
    func everyOtherAnswerFailsTheLoad(_ answer: ChallengeAnswer, _ code: LoadError.Code) throws {
        let client = try Echo.run(Self.url, clientAnswering([answer]))
        #expect(client.events.count == 2)
        #expect(client.error?.code == code)
    }

    @Test func protectionSpaceComesFromTheURL() throws {
        for (url, host, port, realm) in [
            ("echo:challenge?user=&password=", "", nil as Int?, nil as String?),
            ("echo://host.example:81/challenge?user=&password=&realm=h%C3%A4fen", "host.example", 81, "häfen"),
        ] {
            let space = Mutex<ProtectionSpace?>(nil)
            let client = RecordingClient(onChallenge: { challenge in
                space.withLock { $0 = challenge.protectionSpace }
                challenge.answer(.use(.password(user: "", password: "")))
            })
            try Echo.run(url, client)
            let receivedSpace = try #require(space.withLock { $0 })
            #expect(
                (receivedSpace.protocolName, receivedSpace.host, receivedSpace.port, receivedSpace.realm) == ("echo", host, port, realm))
            #expect(client.text == "Hello, ")
        }
    }

    @Test func lateAnswerToAChallengeIsAccepted() throws {
        let load = try Echo.start(Self.url)
        load.client.waitForChallenge().answer(Self.correctAnswer)
        load.waitUntilEnded()
        #expect(load.client.events.last == .finished)
    }

    @Test(arguments: ["user=u", "password=p", "", "user=s3cr3t%FF&password=p", "user=u&password=s3cr3t&attempts=0"])
    func challengeWithoutACompleteCredentialIsABadURL(_ query: String) throws {
        let client = try Echo.run("echo:challenge?\(query)")
        #expect(client.error?.code == .badURL)
        #expect(client.error?.message.contains("s3cr3t") == false)
    }
}
