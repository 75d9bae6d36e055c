// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import TestThreads
import Testing

/// A stop at every await: no event follows, the load is destroyed, and its task ends.
@Suite(.timeLimit(.minutes(10))) struct KitStopTests {
    private static let cancelled = RecordingClient.Event.failed(PluginCancelTests.cancelled)

    /// Starts a load, stops it when its events meet the condition, and returns all events.
    private func stop(
        _ url: String, _ client: RecordingClient = RecordingClient(), body: Body? = nil,
        when condition: @escaping @Sendable ([RecordingClient.Event]) -> Bool
    ) async throws -> [RecordingClient.Event] {
        let kit = try Kit()
        let load = try kit.start(url, client) { $0.body = body }
        try await inOwnThread {
            client.wait(until: condition)
            load.handlerLoad.end(with: PluginCancelTests.cancelled)
            kit.waitUntilIdle()
        }
        // The host counts an event in transit during the stop as a violation, as with every event-driven load.
        #expect(load.violations.allSatisfy { $0 == .stopIsKept })
        return client.events
    }

    @Test(arguments: ["hang", "hang-in-child", "spins", "never"])
    func stopEndsAWaitInTheCodeOfThePlugin(_ name: String) async throws {
        #expect(try await stop("kit:\(name)") { $0 == [.response(nil)] } == [.response(nil), Self.cancelled])
    }

    @Test func stopEndsAWaitBeforeTheFirstEvent() async throws {
        #expect(try await stop("kit:hang-before-response") { _ in true } == [Self.cancelled])
    }

    @Test(arguments: ["upload", "hang-detached"]) func stopEndsAWaitForTheBody(_ name: String) async throws {
        let source = HandFedBody()
        let events = try await stop("kit:\(name)", body: source.body(length: nil)) { $0 == [.response(nil)] }
        source.feed([1])
        #expect(events == [.response(nil), Self.cancelled])
    }

    @Test func stopEndsAWaitForAChallenge() async throws {
        #expect(try await stop("kit:challenge") { !$0.isEmpty }.last == Self.cancelled)
    }

    @Test func stopEndsAWaitForTheClient() async throws {
        let client = RecordingClient { _, event in if case .data = event { .pause } else { .keepGoing } }
        #expect(try await stop("kit:endless", client) { $0.count == 2 }.count == 3)
    }

    @Test func stopEndsAWaitForARedirectDecision() async throws {
        let client = RecordingClient { _, event in if case .redirect = event { .pause } else { .keepGoing } }
        #expect(try await stop("kit:redirect", client) { $0.count == 1 }.last == Self.cancelled)
    }

    /// The load delivers data without end, and never waits.
    @Test func stopEndsAnEndlessLoad() async throws {
        #expect(try await stop("kit:endless") { $0.count > 1000 }.last == Self.cancelled)
    }

    @Test func loadThatIgnoresItsStopIsAbandoned() async throws {
        let previousEndCount = PluginKitTestHandler.lateEndCount(of: "deaf")
        #expect(try await stop("kit:deaf") { $0.count > 2 }.last == Self.cancelled)
        try await PluginKitTestHandler.waitForLateEnds(of: "deaf", moreThan: previousEndCount)
    }

    @Test(arguments: ["all", "children", "detached", "upload", "nested?data:,abc", "sleep"], [true, false])
    func noEventFollowsAStopAtAnyEvent(_ name: String, _ stopsInsideTheEvent: Bool) async throws {
        let kit = try Kit()
        let count = try await kit.run("kit:\(name)") { $0.body = .bytes([1, 2]) }.events.count
        for stopIndex in 0..<min(count - 1, 12) {
            let box = HandlerLoadBox()
            let client = RecordingClient { index, _ in
                guard index == stopIndex else { return .keepGoing }
                if stopsInsideTheEvent {
                    box.handlerLoad?.end(with: PluginCancelTests.cancelled)
                } else {
                    box.endElsewhere(with: PluginCancelTests.cancelled)
                }
                return .keepGoing
            }
            let load = try kit.start("kit:\(name)", client, heldIn: box) { $0.body = .bytes([1, 2]) }
            try await kit.finish(load)
            box.handlerLoad = nil
            #expect(client.events.count == stopIndex + 2 && client.events.last == Self.cancelled, "event \(stopIndex): \(client.events)")
            #expect(load.violations.isEmpty)
        }
    }
}
