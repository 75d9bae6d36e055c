// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct TaskDelegateTests {
    @Test func delegateReceivesEachEventInOrder() async throws {
        let handler = ManualHandler { load in
            load.client.didReach(.connected)
            load.client.didReceiveInterim(Response(url: load.request.url, status: .earlyHints))
            load.client.didSend(bodyBytes: 3, total: 3, expected: 3)
            load.respond()
            load.deliver([1])
            load.client.didReceiveTrailers([:])
            load.finish()
        }
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        #expect(delegate.events.isEmpty)
        task.resume()
        let url = try URLRecord(parsing: "x:1")
        #expect(
            delegate.events == [.step(.connected), .interim, .sent, .response(url), .data([1]), .trailers, .finished])
        #expect(task.progress == LoadProgress(bytesReceived: 1, expectedBytesToReceive: nil, bytesSent: 3, expectedBytesToSend: 3))
        #expect(task.metrics.steps.map(\.step) == [.connected])
        #expect(task.state == .ended)
    }

    @Test func delegateOnAQueueReceivesTheSameEventsWhenTheQueueRuns() async throws {
        let queue = ManualQueue()
        let delegate = RecordingDelegate()
        let loader = loader(StubHandler { _ in .pieces([[1], [2]]) })
        let task = loader.task(for: try Request("x:1"), delegate: delegate, on: DeliveryQueue { queue.add($0) })
        task.resume()
        #expect(delegate.events.isEmpty)
        queue.runAll()
        #expect(delegate.events == [.response(try URLRecord(parsing: "x:1")), .data([1]), .data([2]), .finished])
    }

    @Test func aSlowQueuePausesTheHandler() async throws {
        let queue = ManualQueue()
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let loader = loader(handler) { $0.bufferSize = 10 }
        loader.task(for: try Request("x:1"), delegate: delegate, on: DeliveryQueue { queue.add($0) }).resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([UInt8](repeating: 0, count: 11)) == .pause)
        queue.runAll()
        #expect(load.calls == [.start, .resume])
        load.finish()
        queue.runAll()
        #expect(delegate.events.last == .finished)
    }

    @Test func cancelRemovesQueuedEventsExceptTheEnd() async throws {
        let queue = ManualQueue()
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate, on: DeliveryQueue { queue.add($0) })
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        load.deliver([1])
        task.cancel()
        queue.runAll()
        #expect(delegate.events == [.failed(.cancelled)])
    }

    @Test func delegateOnAQueueCanPauseTheLoad() async throws {
        let queue = ManualQueue()
        let loader = loader(StubHandler { _ in .pieces([[1], [2], [3]]) })
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let task = loader.task(for: try Request("x:1"), delegate: delegate, on: DeliveryQueue { queue.add($0) })
        task.resume()
        queue.runAll()
        #expect(delegate.body == [1])
        #expect(task.state == .suspended || task.state == .ended)
        task.resume()
        queue.runAll()
        #expect(delegate.body == [1, 2, 3])
        #expect(delegate.events.last == .finished)
    }

    @Test(arguments: 0..<4)
    func returningStoppedCancelsTheLoad(at index: Int) async throws {
        let eventCount = Mutex(0)
        let delegate = RecordingDelegate { _, _ in
            eventCount.withLock { eventCount in
                defer { eventCount += 1 }
                return eventCount == index ? .stopped : .keepGoing
            }
        }
        let loader = loader(StubHandler { _ in .pieces([[1], [2], [3]]) })
        loader.task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(delegate.events.count == index + 2)
        #expect(delegate.events.last == .failed(.cancelled))
    }
}

/// A queue that runs its jobs when a test calls `runAll()`.
final class ManualQueue: Sendable {
    private let jobs = Mutex<[@Sendable () -> Void]>([])

    func add(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append(job) }
    }

    func runAll() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
    }
}
