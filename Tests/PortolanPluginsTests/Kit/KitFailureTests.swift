// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

/// The host sees no violation and each load ends once, even if the code of the plugin's author is wrong.
@Suite(.timeLimit(.minutes(10))) struct KitFailureTests {
    private let kit: Kit

    init() throws { kit = try Kit() }

    @Test(
        arguments: [
            ("no-response", .unknown), ("data-first", .unknown), ("two-responses", .unknown), ("data-after-trailers", .unknown),
            ("interim-late", .unknown), ("redirect-late", .unknown), ("too-long", .badResponse), ("too-short", .truncated),
            ("bad-mime", .badResponse), ("bad-status", .badResponse), ("bad-interim", .badResponse), ("bad-field", .badResponse),
            ("bad-trailer", .badResponse), ("bad-length", .badResponse), ("bad-redirect", .badRedirect), ("bad-realm", .badResponse),
            ("bad-sent", .unknown), ("bad-nested", .badRequest), ("two-challenges", .unknown), ("confirms-nothing", .unknown),
            ("throws-odd", .unknown), ("throws-long", .unknown), ("throws-empty", .badURL), ("throws-unpublished", .unknown),
            ("throws-the-hosts", .unknown), ("throws-bad-domain", .unknown), ("throws-cancelled", .cancelled), ("nosuch", .notFound),
            ("fail", .accessDenied), ("fail-later", .connectionLost), ("slice-out-of-bounds", .unknown),
        ] as [(String, LoadError.Code)])
    func failureHasItsErrorCode(_ name: String, _ code: LoadError.Code) async throws {
        let client = try await kit.run("kit:\(name)", RecordingClient(onChallenge: { _ in }))
        #expect(client.error?.code == code)
        let message = client.error?.message ?? ""
        #expect(!message.isEmpty && message.utf8.count <= 4096 && !message.contains("\n"))
    }

    @Test(
        "An error about the order of events names the call, the broken rule and the remedy",
        arguments: [
            (
                "no-response",
                "the plugin's load function returned without a response, which breaks ORDER-01; "
                    + "call didReceive with a PluginResponse, or throw a PluginError"
            ),
            (
                "data-first",
                "didLoad was called before didReceive, which breaks ORDER-01; call didReceive with a PluginResponse first"
            ),
            (
                "two-responses",
                "didReceive was called twice, which breaks ORDER-08; deliver one response, or set isMultipart in the PluginDescription"
            ),
            (
                "data-after-trailers",
                "didLoad was called after didReceiveTrailers, which breaks ORDER-13; deliver all data before the trailers"
            ),
            (
                "interim-late",
                "didReceiveInterim was called after didReceive, which breaks ORDER-13; call didReceiveInterim before the response"
            ),
            ("redirect-late", "wasRedirected was called after didReceive, which breaks ORDER-13; call wasRedirected before the response"),
            (
                "too-long",
                "the body has more bytes than PluginResponse.expectedLength (1), which breaks BODY-02; give the right length, or nil"
            ),
            (
                "too-short",
                "the body has 0 bytes, fewer than PluginResponse.expectedLength (1), which breaks BODY-02; "
                    + "deliver all bytes, or throw a PluginError if the source ended early"
            ),
            (
                "bad-sent",
                "didSend was called with a total of -1 bytes after 0, which breaks ORDER-09; "
                    + "report the number of bytes that were sent since the start of the body; it never falls, and is at most the body's 0 bytes"
            ),
            (
                "confirms-nothing",
                "cachedResponseIsValid was called without a stored response, which breaks ORDER-10; "
                    + "call it only if cachedResponse is not nil"
            ),
        ])
    func orderErrorIsActionable(_ name: String, _ message: String) async throws {
        #expect(try await kit.run("kit:\(name)").error?.message == message)
    }

    @Test func causesAndDomainsReachTheHost() async throws {
        let cause = try await kit.run("kit:fail").error?.underlyingError as? LoadError
        #expect(cause == LoadError(.ioFailed, message: "EACCES"))
        let errorWithOwnDomain = try await kit.run("kit:fail-with-own-domain").error
        #expect(errorWithOwnDomain?.domain == "org.example.tide" && errorWithOwnDomain?.code.rawValue == 7)
    }

    @Test("An error that was wrapped 100000 times keeps the nearest causes and the first") func causesAreLimited() async throws {
        let error = try await kit.run("kit:throws-retries").error
        #expect(error?.message == "attempt 100000 failed")
        #expect(
            error?.causes().compactMap { ($0 as? LoadError)?.message }
                == (99993...99999).reversed().map { "attempt \($0) failed" } + ["(99991 causes left out) the first attempt failed"])
    }

    @Test(arguments: [("data-first-ignored", "ok"), ("two-responses-ignored", "ok"), ("cancels-itself", "ok")])
    func caughtContractErrorDoesNotFailTheLoad(_ name: String, _ text: String) async throws {
        let client = try await kit.run("kit:\(name)")
        #expect(client.text == text)
        #expect(client.events.last == .finished)
    }

    /// The reader is slow, and the task has cancelled itself. The end still waits for the reader.
    @Test func taskThatCancelsItselfStillEndsItsLoad() async throws {
        let box = HandlerLoadBox()
        let client = RecordingClient { _, event in
            guard case .data = event else { return .keepGoing }
            box.handlerLoad?.resume()
            return .pause
        }
        let load = try kit.start("kit:cancels-itself", client, heldIn: box)
        try await kit.finish(load)
        box.handlerLoad = nil
        #expect(load.violations.isEmpty)
    }

    @Test func callsOfATaskThatOutlivesItsLoadAreRefused() async throws {
        let previousEndCount = PluginKitTestHandler.lateEndCount(of: "outlives")
        let client = try await kit.run("kit:outlives")
        #expect(client.events.last == .finished)
        try await PluginKitTestHandler.waitForLateEnds(of: "outlives", moreThan: previousEndCount)
    }
}
