// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct TaskCancellationTests {
    /// Deliveries of all events that a load can report, in order.
    private static let deliveries: [@Sendable (ManualLoad) -> Void] = [
        { $0.client.didReach(.connected) },
        { $0.client.didReceiveInterim(Response(url: $0.request.url, status: .continue)) },
        { $0.client.didSend(bodyBytes: 1, total: 1, expected: 1) },
        { $0.respond() },
        { $0.deliver([1]) },
        { $0.deliver([2]) },
        { $0.client.didReceiveTrailers([:]) },
        { $0.finish() },
    ]

    @Test(arguments: 0..<8)
    func noEventFollowsACancelDuringAnEvent(at index: Int) async throws {
        let handler = ManualHandler { load in for deliver in Self.deliveries { deliver(load) } }
        let eventCount = Mutex(0)
        let delegate = RecordingDelegate { event, task in
            if case .failed = event { return .keepGoing }
            let isLast = eventCount.withLock { eventCount in
                defer { eventCount += 1 }
                return eventCount == index
            }
            if isLast { task.cancel() }
            return .keepGoing
        }
        loader(handler).task(for: try Request("x:1"), delegate: delegate).resume()
        let isFinish = index == Self.deliveries.count - 1
        #expect(delegate.events.count == (isFinish ? index + 1 : index + 2))
        #expect(delegate.events.last == (isFinish ? .finished : .failed(.cancelled)))
        #expect(handler.loads.first?.calls == (isFinish ? [.start] : [.start, .stop]))
    }

    @Test(arguments: 0..<8)
    func noEventFollowsACancelBetweenEvents(before index: Int) async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(handler.loads.first)
        for deliver in Self.deliveries[..<index] { deliver(load) }
        task.cancel()
        for deliver in Self.deliveries[index...] { deliver(load) }
        task.cancel()
        #expect(delegate.events.count == index + 1)
        #expect(delegate.events.last == .failed(.cancelled))
        #expect(load.calls == [.start, .stop])
    }

    @Test func aTaskCancelledBeforeItsStartNeverStarts() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.cancel()
        task.resume()
        #expect(delegate.events == [.failed(.cancelled)])
        #expect(handler.loads.isEmpty)
    }

    @Test func suspendedTaskPausesItsLoadAtTheFirstDelivery() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.suspend()
        task.resume()
        task.suspend()
        let load = try #require(handler.loads.first)
        #expect(load.respond() == .pause)
        #expect(task.state == .suspended)
        task.resume()
        #expect(load.calls == [.start, .resume])
        #expect(load.deliver([1]) == .keepGoing)
        load.finish()
        #expect(delegate.events.last == .finished)
    }

    @Test func aPausedLoadCanBeCancelled() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([1]) == .pause)
        task.cancel()
        task.resume()
        #expect(load.calls == [.start, .stop])
        #expect(delegate.events.last == .failed(.cancelled))
    }

    @Test func taskCancelledByManyThreadsEndsOnce() async throws {
        for _ in 0..<200 {
            let handler = ManualHandler()
            let delegate = RecordingDelegate()
            let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
            task.resume()
            let load = try #require(handler.loads.first)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    load.respond()
                    for _ in 0..<5 { load.deliver([1]) }
                    load.finish()
                }
                for _ in 0..<3 { group.addTask { task.cancel() } }
            }
            let ends = delegate.events.filter { $0 == .finished || $0 == .failed(.cancelled) }
            #expect(ends.count == 1)
            #expect(delegate.events.last == ends.first)
        }
    }

    @Test func endedTaskAndItsLoadAreFreed() async throws {
        weak var task: LoadTask?
        let loadCount = Atomic(0)
        do {
            let startedTask = loader(CountingHandler(loadCount: { loadCount.add($0, ordering: .relaxed) })).task(
                for: try Request("x:1"), delegate: RecordingDelegate())
            startedTask.resume()
            task = startedTask
            #expect(loadCount.load(ordering: .relaxed) == 1)
            startedTask.cancel()
        }
        #expect(task == nil)
        #expect(loadCount.load(ordering: .relaxed) == 0)
    }

    /// A handler that counts its loads. Only the core retains them.
    private struct CountingHandler: ProtocolHandler {
        let identifier = "org.example.counted"
        let schemes = SchemeSet.any
        let loadCount: @Sendable (Int) -> Void

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            CountedLoad(client, loadCount)
        }
    }

    private final class CountedLoad: ProtocolLoad {
        private let client: any ProtocolClient
        private let loadCount: @Sendable (Int) -> Void

        init(_ client: any ProtocolClient, _ loadCount: @escaping @Sendable (Int) -> Void) {
            self.client = client
            self.loadCount = loadCount
            loadCount(1)
        }

        deinit { loadCount(-1) }

        func startLoading() {}
        func stopLoading() {}
        func resumeLoading() {}
    }
}
