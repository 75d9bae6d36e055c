// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// A load can be stopped at any moment: no event follows, and the load is destroyed once.
@Suite(.timeLimit(.minutes(2))) struct PluginCancelTests {
    static let cancelled = LoadError(.cancelled, message: "enough")

    enum How: CaseIterable {
        /// The client returns `.stopped`.
        case answer
        /// The caller cancels from inside the event.
        case inside
        /// The caller cancels on another thread while the event is delivered.
        case otherThread
    }

    static let loads: [(library: String, url: String, events: Int)] = [
        ("fixture-events", "ticker://20", 22), ("template", "template://greet/sea?times=5000", 6),
    ]

    @Test(arguments: loads.indices, How.allCases)
    func stopAtTheKthEventIsTheLast(_ index: Int, _ how: How) throws {
        let (library, url, count) = Self.loads[index]
        let plugin = try Fixtures.plugin(library)
        for k in 0..<count - 1 {
            let box = HandlerLoadBox()
            let client = RecordingClient { index, event in
                guard index == k, !event.isEnd else { return .keepGoing }
                switch how {
                case .answer: return .stopped
                case .inside: box.attempt?.end(with: Self.cancelled)
                case .otherThread: box.endElsewhere(with: Self.cancelled)
                }
                return .keepGoing
            }
            let attempt = try TestHandlerLoad(plugin, url, client: client)
            box.attempt = attempt.attempt
            attempt.run()
            plugin.waitUntilIdle()
            box.attempt = nil
            let events = client.events
            #expect(events.count == (how == .answer ? k + 1 : k + 2), "\(url), event \(k), \(how): \(events)")
            if how != .answer { #expect(events.last == .failed(Self.cancelled)) }
            #expect(attempt.violations.isEmpty, "\(url), event \(k), \(how): \(attempt.violations)")
        }
    }

    @Test(arguments: ["fixture://good", "fixture-events://good"])
    func aLoadThatIsNeverStartedIsDestroyed(_ url: String) throws {
        let plugin = try Fixtures.plugin("fixture")
        let request = try Request(url)
        for handler in plugin.handlers where handler.schemes.contains(request.url.scheme) {
            let client = RecordingClient()
            _ = handler.makeLoad(for: request, cachedResponse: nil, client: client)
            let stopped = handler.makeLoad(for: request, cachedResponse: nil, client: client)
            stopped.stopLoading()
            stopped.startLoading()
            plugin.waitUntilIdle()
            #expect(client.events.isEmpty)
        }
    }

    /// Loads that deliver nothing: one polls `is_stopped`, one is interrupted by its `stop`, one only waits for a call.
    @Test(arguments: ["fixture://until-stopped", "fixture://wait-in-read", "fixture-events://silent"])
    func aLoadThatDeliversNothingEndsAtAStop(_ url: String) throws {
        let plugin = try Fixtures.plugin("fixture")
        let attempt = try TestHandlerLoad(plugin, url)
        attempt.start()
        attempt.client.wait { !$0.isEmpty }
        attempt.attempt.end(with: Self.cancelled)
        plugin.waitUntilIdle()
        #expect(attempt.client.error == Self.cancelled)
        #expect(attempt.violations.isEmpty)
    }

    /// The load's own thread cancels in an event without a result, and then waits in a system call. `stop` comes on
    /// another thread.
    @Test func aStopByTheLoadsOwnThreadReachesIt() throws {
        let plugin = try Fixtures.plugin("fixture")
        let box = HandlerLoadBox()
        let client = RecordingClient { _, event in
            if case .step = event { box.attempt?.end(with: Self.cancelled) }
            return .keepGoing
        }
        let attempt = try TestHandlerLoad(plugin, "fixture://wait-after-step", client: client)
        box.attempt = attempt.attempt
        attempt.run()
        box.attempt = nil
        plugin.waitUntilIdle()
    }

    @Test(arguments: ["fixture://good", "template://greet/sea?times=100"])
    func aStopBeforeAThreadIsFreeDestroysAtOnce(_ url: String) throws {
        let threads = LoadThreadPool(limit: 1)
        let gate = ConditionLock(false)
        try threads.run { gate.wait { $0 ? () : nil } }
        let plugin = try Fixtures.plugin(url.hasPrefix("fixture") ? "fixture" : "template", threads: threads)
        let attempt = try TestHandlerLoad(plugin, url)
        attempt.start()
        attempt.attempt.end(with: Self.cancelled)
        plugin.waitUntilIdle()
        #expect(attempt.client.events == [.failed(Self.cancelled)])
        gate.withLockBroadcasting { $0 = true }
    }

    @Test(arguments: ["template://greet/sea?times=100000", "ticker://1000"])
    func aStopWhilePausedEndsSilently(_ url: String) throws {
        let plugin = try Fixtures.plugin(url.hasPrefix("ticker") ? "fixture-events" : "template")
        let client = RecordingClient { index, _ in index == 3 ? .pause : .keepGoing }
        let attempt = try TestHandlerLoad(plugin, url, client: client)
        attempt.start()
        client.wait { $0.count == 4 }
        attempt.attempt.end(with: Self.cancelled)
        plugin.waitUntilIdle()
        #expect(client.events.count == 5)
        #expect(attempt.violations.isEmpty)
    }
}

/// A reference to a handler load, so that the load's own client can end it.
final class HandlerLoadBox: Sendable {
    private let held = ConditionLock<HandlerLoad?>(nil)

    var attempt: HandlerLoad? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }

    /// Ends the load on another thread, and waits until that is done.
    func endElsewhere(with error: LoadError) {
        let attempt = attempt
        let isDone = ConditionLock(false)
        do {
            try PlatformThread.start {
                attempt?.end(with: error)
                isDone.withLockBroadcasting { $0 = true }
            }
            isDone.wait { $0 ? () : nil }
        } catch {
            attempt?.end(with: error)
        }
    }
}
