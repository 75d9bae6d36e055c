// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import Logging
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// What a load that is written with the kit can do, in the real host.
@Suite(.timeLimit(.minutes(10))) struct KitLoadTests {
    private let kit: Kit

    init() throws { kit = try Kit() }

    @Test(arguments: [
        ("text", "ahoy"), ("empty", ""), ("detached", String(repeating: "x", count: 20)), ("actor", "actor"), ("main", "main"),
        ("sleep", "woken"), ("log", "logged"), ("children", String(repeating: "x", count: 400)), ("settings", "- -1"),
    ])
    func loadDeliversItsBytes(_ name: String, _ text: String) async throws {
        let client = try await kit.run("kit:\(name)")
        #expect(client.text == text)
        #expect(client.events.last == .finished)
    }

    @Test func everyEventReachesTheHost() async throws {
        let client = try await kit.run("kit:all")
        #expect(
            client.events == [.step(.connected), .interim(103), .response(4), .data(2), .data(2), .trailers, .finished])
        let response = try #require(client.response)
        #expect(response.status?.code == 200 && response.mimeType?.essence == "text/csv" && response.textEncodingName == "utf-8")
        #expect(response.suggestedFilename == "a.csv" && "\(response.url)" == "kit:elsewhere")
        let name = try #require(HTTPField.Name("x-sum"))
        #expect(client.trailers?[name] == "1")
    }

    @Test func responseToHEADNeedsNoBody() async throws {
        #expect(try await kit.run("kit:response-only") { $0.method = .head }.events == [.response(7), .finished])
    }

    @Test func propertyOfTheWrongTypeFails() async throws {
        let clientForInteger = try await kit.run("kit:pieces") { $0.properties["org.portolan.kit.piece"] = .integer(10) }
        #expect(clientForInteger.bytes.count == 1000)
        let clientForText = try await kit.run("kit:pieces") { $0.properties["org.portolan.kit.piece"] = .text("10") }
        #expect(clientForText.error?.code == .badRequest)
        #expect(clientForText.error?.message == "the property org.portolan.kit.piece must be an integer")
    }

    @Test(arguments: ["pieces", "each", "each-detached", "slices"])
    func loadWaitsForASlowClient(_ name: String) async throws {
        let client = RecordingClient { _, event in if case .data = event { .pause } else { .keepGoing } }
        let load = try kit.start("kit:\(name)", client)
        for count in 1...100 {
            client.wait { $0.filter { $0 == .data(1) }.count >= count }
            #expect(client.events.count == 1 + count)
            load.handlerLoad.resume()
        }
        try await kit.finish(load)
        #expect(load.violations.isEmpty)
        #expect(client.events.last == .finished)
        #expect(client.bytes == Array(0..<100))
    }

    /// The load has more events than the kit delivers in one call on the event loop.
    @Test func longSequenceOfPiecesArrivesComplete() async throws {
        #expect(try await kit.run("kit:each-long").bytes.count == 10_000)
    }

    @Test func slicesArriveFromADetachedTask() async throws {
        #expect(try await kit.run("kit:slices-detached").bytes == Array(0..<100))
    }

    /// The response and the last byte both pause the load. Each pause ends with its own resume.
    @Test(arguments: ["text", "children", "detached", "all"]) func clientMayPauseAtEveryEvent(_ name: String) async throws {
        let box = HandlerLoadBox()
        let client = RecordingClient { _, event in
            switch event {
            case .data, .response:
                box.handlerLoad?.resume()
                return .pause
            default: return .keepGoing
            }
        }
        let load = try kit.start("kit:\(name)", client, heldIn: box)
        try await kit.finish(load)
        box.handlerLoad = nil
        #expect(load.violations.isEmpty)
        #expect(client.events.last == .finished)
    }

    @Test(arguments: [true, false]) func redirectIsFollowedOrDelivered(_ isFollowed: Bool) async throws {
        let client = RecordingClient { _, event in if case .redirect = event { .pause } else { .keepGoing } }
        let load = try kit.start("kit:redirect", client)
        client.wait { $0.count == 1 }
        if isFollowed { load.handlerLoad.followRedirect() } else { load.handlerLoad.declineRedirect() }
        try await kit.finish(load)
        let redirect = RecordingClient.Event.redirect("kit:text")
        #expect(client.events == (isFollowed ? [redirect] : [redirect, .response(12), .data(12), .finished]))
        #expect(load.violations.isEmpty)
    }

    @Test func unfollowedRedirectWithoutAResponseFails() async throws {
        #expect(try await kit.run("kit:redirect-without-response").error?.code == .badRedirect)
    }

    @Test func uploadIsEchoed() async throws {
        let body = (0..<2500).map { UInt8($0 % 251) }
        let client = try await kit.run("kit:upload") { $0.body = .bytes(body) }
        #expect(client.bytes == body)
        #expect(client.events.filter { if case .sent = $0 { true } else { false } } == [.sent(1000), .sent(2000), .sent(2500)])
        #expect(try await kit.run("kit:read-body-twice") { $0.body = .text("ab") }.text == "abab")
    }

    @Test func loadWaitsForASlowUpload() async throws {
        let source = HandFedBody()
        let load = try kit.start("kit:upload") { $0.body = source.body(length: nil) }
        for count in 1...3 {
            source.feed([UInt8(count)])
            load.client.wait { $0.count == 1 + 2 * count }
        }
        source.finish()
        try await kit.finish(load)
        #expect(load.client.bytes == [1, 2, 3])
        #expect(load.violations.isEmpty)
    }

    @Test func failingBodyFailsTheLoadWithItsCause() async throws {
        let source = HandFedBody()
        source.fail(LoadError(.ioFailed, message: "the disk went away"))
        let client = try await kit.run("kit:upload") { $0.body = source.body(length: nil) }
        #expect(client.error?.code == .bodyFailed)
        #expect((client.error?.underlyingError as? LoadError)?.message == "the disk went away")
    }

    @Test(arguments: [true, false]) func challengeIsAnsweredImmediatelyOrLater(_ answersLater: Bool) async throws {
        let answer = ChallengeAnswer.use(.password(user: "ü", password: "p"))
        let client = answersLater ? RecordingClient() : RecordingClient(onChallenge: { $0.answer(answer) })
        let load = try kit.start("kit:challenge", client)
        if answersLater { client.waitForChallenge().answer(answer) }
        try await kit.finish(load)
        #expect(client.text == "ü:p")
        #expect(load.violations.isEmpty)
    }

    @Test(arguments: [(ChallengeAnswer.cancel, LoadError.Code.authenticationCancelled), (.performDefault, .authenticationRequired)])
    func everyOtherAnswerFailsTheLoad(_ answer: ChallengeAnswer, _ code: LoadError.Code) async throws {
        #expect(try await kit.run("kit:challenge", RecordingClient(onChallenge: { $0.answer(answer) })).error?.code == code)
    }

    @Test func abandonedChallengeIsCancelled() async throws {
        let client = try await kit.run("kit:cancelled-challenge")
        #expect(client.events.contains(.challengeCancelled))
        #expect(client.text == "gave up")
    }

    @Test func cachedResponseIsReadAndConfirmed() async throws {
        let cached = CachedResponse(response: Response(url: try Request("kit:revalidate").url), body: .text("stored"))
        #expect(try await kit.run("kit:revalidate", cached: cached).events == [.confirmed, .finished])
        #expect(try await kit.run("kit:revalidate").error?.code == .badRequest)
    }

    @Test func newerFieldsOfAConfirmationReachTheClient() async throws {
        let cached = CachedResponse(response: Response(url: try Request("kit:revalidate").url), body: .text("stored"))
        let newer = try #require(try await kit.run("kit:revalidate", cached: cached).newerResponse)
        #expect(try newer.fields[#require(HTTPField.Name("x-stored"))] == "4")
    }

    @Test func cachedResponseIsConfirmedOnlyWithTheSameValidator() async throws {
        func cached(_ tag: String?) throws -> CachedResponse {
            var response = Response(url: try Request("kit:validate").url)
            response.fields[.eTag] = tag
            return CachedResponse(response: response, body: .text("stored"))
        }
        #expect(try await kit.run("kit:validate?1", cached: cached("\"1\"")).events == [.confirmed, .finished])
        for cached in [try cached("\"2\""), try cached(nil), nil] {
            let client = try await kit.run("kit:validate?1", cached: cached)
            #expect(client.events == [.response(nil), .data(3), .finished])
            #expect(client.storage == .allowed)
        }
    }

    @Test func cachedBodyIsReadAtAnyOffset() async throws {
        let cached = CachedResponse(response: Response(url: try Request("kit:read-cached").url), body: .text("stored"))
        #expect(try await kit.run("kit:read-cached", cached: cached).text == "ed;sto;d;;;;;;")
        #expect(try await kit.run("kit:read-cached").text == ";;;;;;;;")
    }

    @Test func cachedBodyThatCannotBeReadFailsTheLoad() async throws {
        let body = Body(length: nil, isRewindable: true) { () throws(LoadError) in
            throw LoadError(.decodingFailed, message: "the file is damaged")
        }
        let cached = CachedResponse(response: Response(url: try Request("kit:read-cached").url), body: body)
        let client = try await kit.run("kit:read-cached", cached: cached)
        #expect(client.error?.code == .ioFailed)
    }

    @Test func settingsAreDecodedAndInvalidOnesAreNamed() async throws {
        let log = RecordingLog()
        let kit = try Kit(#"{"greeting": "hi", "limits": {"depth": 4}}"#, logger: log.logger)
        #expect(try await kit.run("kit:settings").text == "hi 4")
        #expect(log.all.contains("info org.portolan.kit: started with hi"))
        for (json, name) in [
            (#"{"count": "4"}"#, "'count'"), (#"{"limits": {"depth": true}}"#, "'limits.depth'"),
            (#"{"greeting": "refuse"}"#, "'greeting'"),
        ] {
            let error = #expect(throws: LoadError.self) { try Kit(json) }
            #expect(error?.code == .pluginRefused)
            #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        }
    }

    @Test func logMessageIsOneLine() async throws {
        let log = RecordingLog()
        try await Kit(logger: log.logger).run("kit:log")
        #expect(log.all.contains { $0.hasPrefix("warning org.portolan.kit: two") && !$0.contains("\n") })
    }

    @Test func canInitAndCanonicalRequestAreForwarded() async throws {
        #expect(try !kit.handler.canInit(Request("kit:declined")))
        #expect(try kit.handler.canInit(Request("kit:text")))
        let canonical = try kit.handler.canonicalRequest(for: Request("kit:text?x"))
        #expect("\(canonical.url)" == "kit:text")
        let name = try #require(HTTPField.Name("x-canonical"))
        #expect(canonical.fields[name] == "1")
        #expect(try kit.handler.canonicalRequest(for: Request("kit:text")).fields.isEmpty)
    }

    @Test func entryIsStableAndOnlyForThisABIVersion() {
        func address(_ major: UInt32) -> UInt { unsafe UInt(bitPattern: PluginKitTestHandler.entry(contractMajor: major)) }
        #expect(address(PORTOLAN_ABI_MAJOR) != 0 && address(PORTOLAN_ABI_MAJOR) == address(PORTOLAN_ABI_MAJOR))
        #expect(address(PORTOLAN_ABI_MAJOR + 1) == 0)
    }
}
