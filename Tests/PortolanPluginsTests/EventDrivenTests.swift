// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// A correct event-driven plugin with a thread and a socket.
@Suite(.timeLimit(.minutes(2))) struct EventDrivenTests {
    @Test(arguments: [("ticker://0", 0), ("ticker://1", 4096), ("ticker://50?size=1000", 50_000), ("ticker://3?size=300000", 900_000)])
    func bytesOfThePluginsThreadAreDelivered(_ url: String, _ count: Int) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let load = try TestHandlerLoad(plugin, url)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.client.bytes.count == count)
        #expect(load.client.events.last == .finished)
        #expect(load.violations.isEmpty)
    }

    /// The client pauses at every event. The load is resumed during the event, or later on another thread.
    @Test(arguments: ["ticker://20", "ticker://3?size=100000"], [true, false])
    func pausingAtEveryDeliveryLosesNothing(_ url: String, _ resumesInside: Bool) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let loadWithoutPauses = try TestHandlerLoad(plugin, url)
        loadWithoutPauses.run()
        let box = HandlerLoadBox()
        let client = RecordingClient { _, event in
            guard !event.isEnd else { return .keepGoing }
            if resumesInside { box.handlerLoad?.resume() }
            return .pause
        }
        let load = try TestHandlerLoad(plugin, url, client: client)
        box.handlerLoad = load.handlerLoad
        load.start()
        var eventCount = 0
        while client.events.last?.isEnd != true {
            client.wait { $0.count > eventCount }
            eventCount = client.events.count
            load.handlerLoad.resume()
        }
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        box.handlerLoad = nil
        #expect(client.events == loadWithoutPauses.client.events)
        #expect(client.bytes == loadWithoutPauses.client.bytes)
        #expect(load.violations.isEmpty)
    }

    static let correctAnswer = ChallengeAnswer.use(.password(user: "ticker", password: "tock"))
    static let wrongAnswer = ChallengeAnswer.use(.password(user: "ticker", password: "tick"))

    @Test func immediateCredentialIsAccepted() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let load = try TestHandlerLoad(
            plugin, "ticker://1?ask=1", client: RecordingClient(onChallenge: { $0.answer(Self.correctAnswer) }))
        load.run()
        plugin.waitUntilIdle()
        #expect(load.client.events == [.challenge(failures: 0), .response(4096), .data(4096), .finished])
    }

    @Test func lateCredentialFromAnotherThreadIsAccepted() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let load = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        load.start()
        let challenge = load.client.waitForChallenge()
        #expect(challenge.protectionSpace.protocolName == "ticker")
        #expect(challenge.protectionSpace.realm == "ticker")
        #expect(challenge.protectionSpace.kind == .password(scheme: ""))
        challenge.answer(Self.wrongAnswer)
        let secondChallenge = load.client.waitForChallenge()
        #expect(secondChallenge.previousFailureCount == 1)
        #expect(secondChallenge.previousError?.message == "the password was wrong")
        secondChallenge.answer(Self.correctAnswer)
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(load.client.events.last == .finished)
    }

    @Test(arguments: [
        (ChallengeAnswer.cancel, LoadError.Code.authenticationCancelled), (.continueWithoutCredential, .authenticationRequired),
        (.performDefault, .authenticationRequired), (.rejectProtectionSpace, .authenticationRequired),
    ])
    func otherAnswersFailTheLoad(_ answer: ChallengeAnswer, _ code: LoadError.Code) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let load = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        load.start()
        load.client.waitForChallenge().answer(answer)
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(load.client.error?.code == code)
    }

    /// A challenge that is released without an answer gives the default answer.
    @Test func droppedChallengeDoesNotHangTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let load = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        load.start()
        _ = load.client.waitForChallenge()
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(load.client.error?.code == .authenticationRequired)
    }

    @Test func stopWhileAChallengeIsOpenEndsTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let load = try TestHandlerLoad(plugin, "ticker://1?ask=1")
        load.start()
        let challenge = load.client.waitForChallenge()
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        challenge.answer(Self.correctAnswer)
        #expect(load.client.events == [.challenge(failures: 0), .failed(PluginCancelTests.cancelled)])
    }

    @Test func loadWaitsForUploadData() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let source = HandFedBody()
        var request = try Request("ticker://echo", method: .post)
        request.body = source.body(length: nil)
        let load = try TestHandlerLoad(plugin, request)
        load.start()
        load.client.wait { $0 == [.response(nil)] }
        for piece in ["one", "two", "three"] {
            source.feed(Array(piece.utf8))
            load.client.wait { $0.last == .data(piece.utf8.count) }
        }
        source.finish()
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(String(decoding: load.client.bytes, as: UTF8.self) == "onetwothree")
        #expect(load.client.events.last == .finished)
    }

    @Test func stopWhileTheUploadWaitsEndsTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let source = HandFedBody()
        var request = try Request("ticker://echo", method: .post)
        request.body = source.body(length: nil)
        let load = try TestHandlerLoad(plugin, request)
        load.start()
        load.client.wait { $0 == [.response(nil)] }
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        source.feed([1])
        #expect(load.client.events == [.response(nil), .failed(PluginCancelTests.cancelled)])
    }

    @Test(arguments: [true, false])
    func redirectCanBeDecidedLater(_ isFollowed: Bool) throws {
        let plugin = try Fixtures.plugin("fixture-events")
        let client = RecordingClient { _, event in if case .redirect = event { .pause } else { .keepGoing } }
        let load = try TestHandlerLoad(plugin, "ticker://redirect?to=ticker%3A%2F%2F1", client: client)
        load.start()
        client.wait { $0.count == 1 }
        if isFollowed { load.handlerLoad.followRedirect() } else { load.handlerLoad.declineRedirect() }
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        let redirect = RecordingClient.Event.redirect("ticker://1")
        #expect(client.events == (isFollowed ? [redirect] : [redirect, .response(0), .finished]))
        #expect(load.violations.isEmpty)
    }
}
