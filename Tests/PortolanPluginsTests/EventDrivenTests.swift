// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// A correct event-driven plugin with its own thread and socket.
@Suite(.timeLimit(.minutes(2))) struct EventDrivenTests {
    @Test(arguments: [("ticker://0", 0), ("ticker://1", 4096), ("ticker://50?size=1000", 50_000), ("ticker://3?size=300000", 900_000)])
    func theBytesOfItsOwnThreadArrive(_ url: String, _ count: Int) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let attempt = try TestHandlerLoad(plugin, url)
        attempt.run()
        plugin.waitUntilIdle()
        #expect(attempt.client.bytes.count == count)
        #expect(attempt.client.events.last == .finished)
        #expect(attempt.violations.isEmpty)
    }

    /// Pauses at every event. The resume comes from another thread, from inside the event, or later, and no byte is
    /// lost.
    @Test(arguments: ["ticker://20", "ticker://3?size=100000"], [true, false])
    func pausingAtEveryDeliveryLosesNothing(_ url: String, _ resumesInside: Bool) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let plain = try TestHandlerLoad(plugin, url)
        plain.run()
        let box = HandlerLoadBox()
        let client = RecordingClient { _, event in
            guard !event.isEnd else { return .keepGoing }
            if resumesInside { box.attempt?.resume() }
            return .pause
        }
        let attempt = try TestHandlerLoad(plugin, url, client: client)
        box.attempt = attempt.attempt
        attempt.start()
        var seen = 0
        while client.events.last?.isEnd != true {
            client.wait { $0.count > seen }
            seen = client.events.count
            attempt.attempt.resume()
        }
        attempt.waitUntilEnded()
        plugin.waitUntilIdle()
        box.attempt = nil
        #expect(client.events == plain.client.events)
        #expect(client.bytes == plain.client.bytes)
        #expect(attempt.violations.isEmpty)
    }

    static let good = ChallengeAnswer.use(.password(user: "ticker", password: "tock"))
    static let wrong = ChallengeAnswer.use(.password(user: "ticker", password: "tick"))

    @Test func anAnswerAtOnceOpensTheWay() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let attempt = try TestHandlerLoad(
            plugin, "ticker://1?ask=1", client: RecordingClient(onChallenge: { $0.answer(Self.good) }))
        attempt.run()
        plugin.waitUntilIdle()
        #expect(attempt.client.events == [.challenge(failures: 0), .response(4096), .data(4096), .finished])
    }

    @Test func anAnswerLaterFromAnotherThreadOpensTheWay() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let attempt = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        attempt.start()
        let challenge = attempt.client.waitForChallenge()
        #expect(challenge.protectionSpace.protocolName == "ticker")
        #expect(challenge.protectionSpace.realm == "ticker")
        #expect(challenge.protectionSpace.kind == .password(scheme: ""))
        challenge.answer(Self.wrong)
        let second = attempt.client.waitForChallenge()
        #expect(second.previousFailureCount == 1)
        #expect(second.previousError?.message == "the password was wrong")
        second.answer(Self.good)
        attempt.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(attempt.client.events.last == .finished)
    }

    @Test(arguments: [
        (ChallengeAnswer.cancel, LoadError.Code.authenticationCancelled), (.continueWithout, .authenticationRequired),
        (.performDefault, .authenticationRequired), (.rejectProtectionSpace, .authenticationRequired),
    ])
    func theOtherAnswersFailTheLoad(_ answer: ChallengeAnswer, _ code: LoadError.Code) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let attempt = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        attempt.start()
        attempt.client.waitForChallenge().answer(answer)
        attempt.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(attempt.client.error?.code == code)
    }

    /// The test releases the challenge without an answer, so the challenge answers itself.
    @Test func aChallengeThatIsDroppedDoesNotHangTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let attempt = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        attempt.start()
        _ = attempt.client.waitForChallenge()
        attempt.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(attempt.client.error?.code == .authenticationRequired)
    }

    @Test func aStopWhileAChallengeWaitsEndsTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let attempt = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        attempt.start()
        let challenge = attempt.client.waitForChallenge()
        attempt.attempt.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        challenge.answer(Self.good)
        #expect(attempt.client.events == [.challenge(failures: 0), .failed(PluginCancelTests.cancelled)])
    }

    @Test func anUploadThatHasNothingYetIsWaitedFor() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let source = HandFedBody()
        var request = try Request("ticker://echo", method: .post)
        request.body = source.body(length: nil)
        let attempt = try TestHandlerLoad(plugin, request)
        attempt.start()
        attempt.client.wait { $0 == [.response(nil)] }
        for piece in ["one", "two", "three"] {
            source.feed(Array(piece.utf8))
            attempt.client.wait { $0.last == .data(piece.utf8.count) }
        }
        source.finish()
        attempt.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(String(decoding: attempt.client.bytes, as: UTF8.self) == "onetwothree")
        #expect(attempt.client.events.last == .finished)
    }

    @Test func aStopWhileTheUploadWaitsEndsTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let source = HandFedBody()
        var request = try Request("ticker://echo", method: .post)
        request.body = source.body(length: nil)
        let attempt = try TestHandlerLoad(plugin, request)
        attempt.start()
        attempt.client.wait { $0 == [.response(nil)] }
        attempt.attempt.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        source.feed([1])
        #expect(attempt.client.events == [.response(nil), .failed(PluginCancelTests.cancelled)])
    }

    @Test(arguments: [true, false])
    func aRedirectIsDecidedLater(_ isTaken: Bool) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let client = RecordingClient { _, event in if case .redirect = event { .pause } else { .keepGoing } }
        let attempt = try TestHandlerLoad(plugin, "ticker://redirect?to=ticker%3A%2F%2F1", client: client)
        attempt.start()
        client.wait { $0.count == 1 }
        if isTaken { attempt.attempt.takeRedirect() } else { attempt.attempt.declineRedirect() }
        attempt.waitUntilEnded()
        plugin.waitUntilIdle()
        let redirect = RecordingClient.Event.redirect("ticker://1")
        #expect(client.events == (isTaken ? [redirect] : [redirect, .response(0), .finished]))
        #expect(attempt.violations.isEmpty)
    }
}
