// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// Requests reach Template, a blocking plugin, and the events of Template reach the client.
@Suite(.timeLimit(.minutes(2))) struct TemplateTests {
    private func run(_ url: String, _ client: RecordingClient = RecordingClient(), _ change: (inout Request) -> Void = { _ in }) throws
        -> TestHandlerLoad
    {
        let plugin = try Fixtures.plugin("template")
        var request = try Request(url)
        change(&request)
        let load = try TestHandlerLoad(plugin, request, client: client)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
        return load
    }

    @Test func greetingIsDelivered() throws {
        let load = try run("template://greet/world")
        #expect(String(decoding: load.client.bytes, as: UTF8.self) == "Hello, world!\n")
        #expect(load.client.response?.mimeType?.essence == "text/plain")
        #expect(load.client.response?.textEncodingName == "utf-8")
        #expect(load.client.response?.url.description == "template://greet/world")
    }

    @Test(arguments: ["template://greet/", "template://greet/%00", "template://nowhere", "template://greet/x?times=0"])
    func refusedURLIsABadURL(_ url: String) throws {
        let load = try run(url)
        #expect(load.client.error?.code == .badURL)
        #expect(load.client.events.count == 1)
    }

    @Test func missingResourceIsNotFound() throws {
        #expect(try run("template://missing").client.error?.code == .notFound)
    }

    @Test func configurationOfTheWrongTypeNamesTheKey() throws {
        let error = #expect(throws: LoadError.self) {
            try Fixtures.plugin("template", PluginConfiguration(json: #"{"greeting": 7}"#))
        }
        #expect(error?.code == .pluginRefused)
        #expect(error?.message.contains("greeting") == true)
    }

    @Test(arguments: ["", "[]", "{", "7", "\"text\""])
    func configurationMustBeAnObject(_ json: String) {
        let error = #expect(throws: LoadError.self) { try PluginConfiguration(json: json) }
        #expect(error?.code == .badRequest)
    }

    @Test func nestedConfigurationIsFlattened() throws {
        let configuration = try PluginConfiguration(
            json: #"{"b": {"c": 1, "d": {"e": true}}, "a": "text", "f": 1.5, "g": [1], "h": null, "i": 10000000000000000000}"#)
        #expect(configuration.settings.map(\.name) == ["a", "b.c", "b.d.e", "f", "i"])
        #expect(
            configuration.settings.map(\.value) == [
                .text("text"), .integer(1), .boolean(true), .real(1.5), .real(10_000_000_000_000_000_000),
            ])
    }

    @Test func pluginLogsUnderItsIdentifier() throws {
        let log = RecordingLog()
        _ = try Fixtures.plugin("template", logger: log.logger)
        #expect(log.all == ["debug org.portolan.template: template: ready"])
    }

    @Test(arguments: [0, 1, 16384, 100_000])
    func uploadIsEchoed(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let load = try run("template://echo") {
            $0.method = .put
            $0.body = .bytes(bytes)
        }
        #expect(load.client.bytes == bytes)
        #expect(load.client.events.last == .finished)
        #expect(load.client.events.contains(.step(.requestSent)))
        if count > 0 { #expect(load.client.events.contains(.sent(Int64(count)))) }
    }

    @Test func loadWaitsForASlowUpload() throws {
        let plugin = try Fixtures.plugin("template")
        let source = HandFedBody()
        var request = try Request("template://echo", method: .post)
        request.body = source.body(length: nil)
        let load = try TestHandlerLoad(plugin, request)
        load.start()
        load.client.wait { $0 == [.response(nil)] }
        source.feed([1, 2, 3])
        load.client.wait { $0.contains(.data(3)) }
        source.finish()
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(load.client.events.last == .finished)
    }

    @Test func failingUploadFailsTheLoadWithItsCause() throws {
        let source = HandFedBody()
        source.feed([1])
        source.fail(LoadError(.ioFailed, message: "the disk went away"))
        let load = try run("template://echo") { $0.body = source.body(length: 10) }
        #expect(load.client.error?.code == .bodyFailed)
        #expect((load.client.error?.underlyingError as? LoadError)?.message == "the disk went away")
    }

    @Test(arguments: [1, 3])
    func uploadOfTheWrongLengthFails(_ count: Int) throws {
        let source = HandFedBody()
        source.feed([UInt8](repeating: 0, count: count))
        source.finish()
        let load = try run("template://echo") { $0.body = source.body(length: 2) }
        #expect(load.client.error?.code == .bodyFailed)
        #expect(load.client.events.filter(\.isEnd).count == 1)
    }

    @Test func stopWhileTheUploadWaitsEndsTheLoad() throws {
        let plugin = try Fixtures.plugin("template")
        var request = try Request("template://echo", method: .post)
        request.body = HandFedBody().body(length: nil)
        let load = try TestHandlerLoad(plugin, request)
        load.start()
        load.client.wait { $0 == [.response(nil)] }
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        #expect(load.client.events.last == .failed(PluginCancelTests.cancelled))
    }

    @Test(arguments: [Flow.stopped, .keepGoing])
    func redirectIsFollowedOrDelivered(_ answer: Flow) throws {
        let client = RecordingClient { _, event in if case .redirect = event { answer } else { .keepGoing } }
        let load = try run("template://redirect?to=data%3A%2Cx", client) {
            $0.fields[.authorization] = "secret"
            $0.fields[.accept] = "text/plain"
            $0.properties["org.example.kept"] = .integer(7)
        }
        let redirect = RecordingClient.Event.redirect("data:,x")
        #expect(client.events == (answer == .stopped ? [redirect] : [redirect, .response(7), .data(7), .finished]))
        #expect(client.redirect?.fields[.authorization] == nil)
        #expect(client.redirect?.fields[.accept] == "text/plain")
        #expect(client.redirect?.properties["org.example.kept"] == .integer(7))
        #expect(load.violations.isEmpty)
    }

    @Test(arguments: [true, false])
    func redirectCanBeDecidedLater(_ isFollowed: Bool) throws {
        let plugin = try Fixtures.plugin("template")
        let client = RecordingClient { _, event in if case .redirect = event { .pause } else { .keepGoing } }
        let load = try TestHandlerLoad(plugin, "template://redirect?to=data%3A%2Cx", client: client)
        load.start()
        client.wait { $0.count == 1 }
        if isFollowed { load.handlerLoad.followRedirect() } else { load.handlerLoad.declineRedirect() }
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(client.events.count == (isFollowed ? 1 : 4))
        #expect(load.violations.isEmpty)
    }

    @Test func correctPasswordIsAccepted() throws {
        let client = RecordingClient(onChallenge: { challenge in
            challenge.answer(.use(.password(user: "guest", password: challenge.previousFailureCount == 1 ? "sesame" : "barley")))
        })
        let load = try run("template://secret", client)
        #expect(Array(load.client.events.prefix(2)) == [.challenge(failures: 0), .challenge(failures: 1)])
        #expect(load.client.events.last == .finished)
    }

    @Test func lateAnswerToAChallengeIsAccepted() throws {
        let plugin = try Fixtures.plugin("template")
        let load = try TestHandlerLoad(plugin, "template://secret")
        load.start()
        load.client.waitForChallenge().answer(.use(.password(user: "guest", password: "sesame")))
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(load.client.events.last == .finished)
    }

    @Test func stopWhileAChallengeIsOpenEndsTheLoad() throws {
        let plugin = try Fixtures.plugin("template")
        let load = try TestHandlerLoad(plugin, "template://secret")
        load.start()
        let challenge = load.client.waitForChallenge()
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        challenge.answer(.cancel)
        #expect(load.client.events == [.challenge(failures: 0), .failed(PluginCancelTests.cancelled)])
    }

    @Test func otherAnswersFailTheLoad() throws {
        for (answer, code) in [
            (ChallengeAnswer.cancel, LoadError.Code.authenticationCancelled), (.continueWithoutCredential, .authenticationRequired),
            (.performDefault, .authenticationRequired), (.rejectProtectionSpace, .authenticationRequired),
        ] {
            let load = try run("template://secret", RecordingClient(onChallenge: { $0.answer(answer) }))
            #expect(load.client.error?.code == code)
        }
    }
}
