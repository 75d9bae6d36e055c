// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// A load can be stopped at any moment: no event follows, and the load is destroyed once.
@Suite(.timeLimit(.minutes(2))) struct PluginCancelTests {
    static let cancelled = LoadError(.cancelled, message: "enough")

    enum StopOrigin: CaseIterable {
        /// The client returns `.stoppedLoad`.
        case returnValue
        /// The caller cancels from inside the event.
        case insideTheEvent
        /// The caller cancels on another thread while the event is delivered.
        case otherThread
    }

    static let loadCases: [(library: String, url: String, eventCount: Int)] = [
        ("fixture-events", "ticker://20", 22), ("template", "template://greet/sea?times=5000", 6),
    ]

    @Test(arguments: loadCases.indices, StopOrigin.allCases)
    func noEventFollowsAStopAtAnyEvent(_ index: Int, _ origin: StopOrigin) throws {
        let (library, url, count) = Self.loadCases[index]
        let plugin = try Fixtures.plugin(library)
        for stopIndex in 0..<count - 1 {
            let box = HandlerLoadBox()
            let client = RecordingClient { index, event in
                guard index == stopIndex, !event.isEnd else { return .keepGoing }
                switch origin {
                case .returnValue: return .stopped
                case .insideTheEvent: box.handlerLoad?.end(with: Self.cancelled)
                case .otherThread: box.endElsewhere(with: Self.cancelled)
                }
                return .keepGoing
            }
            let load = try TestHandlerLoad(plugin, url, client: client)
            box.handlerLoad = load.handlerLoad
            load.run()
            plugin.waitUntilIdle()
            box.handlerLoad = nil
            let events = client.events
            #expect(
                events.count == (origin == .returnValue ? stopIndex + 1 : stopIndex + 2), "\(url), event \(stopIndex), \(origin): \(events)"
            )
            if origin != .returnValue { #expect(events.last == .failed(Self.cancelled)) }
            #expect(load.violations.isEmpty, "\(url), event \(stopIndex), \(origin): \(load.violations)")
        }
    }

    @Test(arguments: ["fixture://good", "fixture-events://good"])
    func loadThatIsNeverStartedIsDestroyed(_ url: String) throws {
        let plugin = try Fixtures.plugin("fixture")
        let request = try Request(url)
        for handler in plugin.handlers where handler.schemes.contains(request.url.scheme) {
            let client = RecordingClient()
            _ = handler.makeLoad(for: request, cachedResponse: nil, client: client)
            let stoppedLoad = handler.makeLoad(for: request, cachedResponse: nil, client: client)
            stoppedLoad.stopLoading()
            stoppedLoad.startLoading()
            plugin.waitUntilIdle()
            #expect(client.events.isEmpty)
        }
    }

    /// The loads deliver nothing: the first polls `is_stopped`, the `stop` of the second interrupts its wait, and the
    /// third only waits for a call.
    @Test(arguments: ["fixture://until-stopped", "fixture://wait-in-read", "fixture-events://silent"])
    func stopEndsALoadThatDeliversNothing(_ url: String) throws {
        let plugin = try Fixtures.plugin("fixture")
        let load = try TestHandlerLoad(plugin, url)
        load.start()
        load.client.wait { !$0.isEmpty }
        load.handlerLoad.end(with: Self.cancelled)
        plugin.waitUntilIdle()
        #expect(load.client.error == Self.cancelled)
        #expect(load.violations.isEmpty)
    }

    /// The load is stopped on its thread, in an event without a result, and then waits in a system call. The host calls
    /// `stop` on another thread.
    @Test func stopOnTheThreadOfTheLoadReachesTheLoad() throws {
        let plugin = try Fixtures.plugin("fixture")
        let box = HandlerLoadBox()
        let client = RecordingClient { _, event in
            if case .step = event { box.handlerLoad?.end(with: Self.cancelled) }
            return .keepGoing
        }
        let load = try TestHandlerLoad(plugin, "fixture://wait-after-step", client: client)
        box.handlerLoad = load.handlerLoad
        load.run()
        box.handlerLoad = nil
        plugin.waitUntilIdle()
    }

    @Test(arguments: ["fixture://good", "template://greet/sea?times=100"])
    func stopBeforeAThreadIsFreeDestroysTheLoadImmediately(_ url: String) throws {
        let threads = LoadThreadPool(limit: 1)
        let gate = ConditionLock(false)
        try threads.run { gate.wait { $0 ? () : nil } }
        let plugin = try Fixtures.plugin(url.hasPrefix("fixture") ? "fixture" : "template", threads: threads)
        let load = try TestHandlerLoad(plugin, url)
        load.start()
        load.handlerLoad.end(with: Self.cancelled)
        plugin.waitUntilIdle()
        #expect(load.client.events == [.failed(Self.cancelled)])
        gate.withLockBroadcasting { $0 = true }
    }

    @Test(arguments: ["template://greet/sea?times=100000", "ticker://1000"])
    func stopWhilePausedEndsTheLoadWithoutAnEvent(_ url: String) throws {
        let plugin = try Fixtures.plugin(url.hasPrefix("ticker") ? "fixture-events" : "template")
        let client = RecordingClient { index, _ in index == 3 ? .pause : .keepGoing }
        let load = try TestHandlerLoad(plugin, url, client: client)
        load.start()
        client.wait { $0.count == 4 }
        load.handlerLoad.end(with: Self.cancelled)
        plugin.waitUntilIdle()
        #expect(client.events.count == 5)
        #expect(load.violations.isEmpty)
    }
}

/// A reference to a handler load, so that the load's own client can end it.
final class HandlerLoadBox: Sendable {
    private let value = ConditionLock<HandlerLoad?>(nil)

    var handlerLoad: HandlerLoad? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }

    /// Ends the load on another thread, and waits for that thread.
    func endElsewhere(with error: LoadError) {
        let handlerLoad = handlerLoad
        let isDone = ConditionLock(false)
        do {
            try PlatformThread.start {
                handlerLoad?.end(with: error)
                isDone.withLockBroadcasting { $0 = true }
            }
            isDone.wait { $0 ? () : nil }
        } catch {
            handlerLoad?.end(with: error)
        }
    }
}
