// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// A stop ends each kind of wait immediately: the load is destroyed, and no event follows.
@Suite(.timeLimit(.minutes(2))) struct EchoStopTests {
    private static let cancelled = RecordingClient.Event.failed(PluginCancelTests.cancelled)

    /// Without the stop, each load would last an hour or would never end.
    @Test(
        arguments: [
            ("echo:text?step=connected&wait=3600000", [.step(.connected)]),
            ("echo:redirect?to=data:,x&interim=103&wait=3600000", [.interim(103)]),
            ("echo:size?bytes=2&piece=1&pause=3600000", [.response(2), .data(1)]),
            ("echo:hang", [.response(nil)]),
            ("echo:hang?status=200&type=text/plain&length=7", [.response(7)]),
            ("echo:challenge?user=u&password=p", [.challenge(failures: 0)]),
        ] as [(String, [RecordingClient.Event])])
    func stopEndsAWait(_ url: String, _ events: [RecordingClient.Event]) throws {
        #expect(try Echo.stop(url) { $0 == events } == events + [Self.cancelled])
    }

    @Test(arguments: ["upload", "sink", "request"])
    func stopEndsAWaitForTheBody(_ command: String) throws {
        let source = HandFedBody()
        source.feed([1])
        let events = try Echo.stop("echo:\(command)", body: source.body(length: nil)) { $0.contains(.sent(1)) }
        #expect(events.last == Self.cancelled)
    }

    @Test func stopEndsAWaitForTheClient() throws {
        let client = RecordingClient { _, event in if case .data = event { .pause } else { .keepGoing } }
        #expect(try Echo.stop("echo:size?bytes=1099511627776", client) { $0.count == 2 }.count == 3)
    }

    /// The caller cancels from inside the event, or on another thread during the event.
    @Test(arguments: [true, false])
    func noEventFollowsAStopAtAnyEvent(_ stopsInsideTheEvent: Bool) throws {
        let url = "echo:upload?step=connected&interim=103&trailer=a:b&piece=1"
        let body = Body.bytes([1, 2])
        let count = try Echo.run(url) { $0.body = body }.events.count
        #expect(count == 10)
        for stopIndex in 0..<count - 1 {
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
            let plugin = try Fixtures.plugin("echo")
            let load = try Echo.start(url, client, of: plugin, heldIn: box) { $0.body = body }
            load.waitUntilEnded()
            plugin.waitUntilIdle()
            box.handlerLoad = nil
            #expect(client.events.count == stopIndex + 2 && client.events.last == Self.cancelled, "event \(stopIndex): \(client.events)")
            #expect(load.violations.isEmpty)
        }
    }

    @Test func hangingLoadDoesNotBlockOthers() throws {
        let plugin = try Fixtures.plugin("echo")
        let hangingLoad = try Echo.start("echo:hang", of: plugin)
        hangingLoad.client.wait { $0.count == 1 }
        #expect(try Echo.run("echo:text?text=a", of: plugin).text == "a")
        hangingLoad.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
    }
}
