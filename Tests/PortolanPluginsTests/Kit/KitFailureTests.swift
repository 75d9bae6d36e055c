// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

/// Whatever the author's code does, the host sees no violation, and each load ends once.
@Suite(.timeLimit(.minutes(10))) struct KitFailureTests {
    private let kit: Kit

    init() throws { kit = try Kit() }

    @Test(
        arguments: [
            ("no-response", .unknown), ("data-first", .unknown), ("two-responses", .unknown), ("data-after-trailers", .unknown),
            ("interim-late", .unknown), ("redirect-late", .unknown), ("too-long", .badResponse), ("too-short", .truncated),
            ("bad-mime", .badResponse), ("bad-status", .badResponse), ("bad-interim", .badResponse), ("bad-field", .badResponse),
            ("bad-trailer", .badResponse), ("bad-length", .badResponse), ("bad-redirect", .badRedirect), ("bad-realm", .badResponse),
            ("bad-sent", .unknown), ("bad-nest", .badRequest), ("two-questions", .unknown), ("confirms-nothing", .unknown),
            ("throws-odd", .unknown), ("throws-long", .unknown), ("throws-empty", .badURL), ("throws-unpublished", .unknown),
            ("throws-the-hosts", .unknown), ("throws-bad-domain", .unknown), ("throws-cancelled", .cancelled), ("nosuch", .notFound),
            ("fail", .accessDenied), ("fail-later", .connectionLost), ("part-beyond", .unknown),
        ] as [(String, LoadError.Code)])
    func failureHasItsErrorCode(_ name: String, _ code: LoadError.Code) async throws {
        let client = try await kit.run("kit:\(name)", RecordingClient(onChallenge: { _ in }))
        #expect(client.error?.code == code)
        let message = client.error?.message ?? ""
        #expect(!message.isEmpty && message.utf8.count <= 4096 && !message.contains("\n"))
    }

    @Test func causesAndDomainsReachTheHost() async throws {
        let cause = try await kit.run("kit:fail").error?.underlyingError as? LoadError
        #expect(cause == LoadError(.ioFailed, message: "EACCES"))
        let own = try await kit.run("kit:fail-own").error
        #expect(own?.domain == "org.example.tide" && own?.code.rawValue == 7)
    }

    @Test("An error that was wrapped 100000 times keeps the nearest causes and the first") func causesAreLimited() async throws {
        let error = try await kit.run("kit:throws-retries").error
        #expect(error?.message == "attempt 100000 failed")
        #expect(
            error?.causes().compactMap { ($0 as? LoadError)?.message }
                == (99993...99999).reversed().map { "attempt \($0) failed" } + ["(99991 causes left out) the first attempt failed"])
    }

    @Test(arguments: [("data-first-ignored", "ok"), ("two-responses-ignored", "ok"), ("cancels-itself", "ok")])
    func caughtMistakeDoesNotFailTheLoad(_ name: String, _ text: String) async throws {
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
        let before = KitHandler.count("outlives")
        let client = try await kit.run("kit:outlives")
        #expect(client.events.last == .finished)
        try await KitHandler.wait(for: "outlives", moreThan: before)
    }
}
