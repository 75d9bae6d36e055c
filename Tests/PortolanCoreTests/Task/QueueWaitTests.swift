// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Tasks with one or several loads that wait in queues of their handlers.
@Suite("Loads that wait in queues", .timeLimit(.minutes(2))) struct QueueWaitTests {
    private let clock = ManualClock()

    private static func queueWait(_ name: String = "w", limit: Duration? = .seconds(30)) -> QueueWait {
        let error = LoadError(.timedOut, message: "the queue for \(name) is full")
        return QueueWait("waiting for \(name)", limit: limit, remedy: .raiseTimeout, error: error)
    }

    /// A task, and the clients of the loads that it has made with the next handler.
    private struct RunningTask {
        let task: LoadTask
        let delegate: RecordingDelegate
        let clients: [any QueueingClient]
        private let nextLoads: [any ProtocolLoad]
        /// Retained, because they retain the clients.
        private let loads: [ManualLoad]

        init(_ task: LoadTask, _ delegate: RecordingDelegate, nextLoads: [any ProtocolLoad], loads: [ManualLoad]) throws {
            (self.task, self.delegate, self.nextLoads, self.loads) = (task, delegate, nextLoads, loads)
            clients = try loads.map { try #require($0.client as? any QueueingClient) }
        }
    }

    /// Starts a task that makes `count` loads with the next handler.
    private func start(_ count: Int, idle: Duration? = nil) throws -> RunningTask {
        let (outer, inner) = (
            ManualHandler(schemes: .only(["outer"])), ManualHandler(schemes: .only(["inner"]))
        )
        let loader = loader(outer, inner) {
            $0.clock = clock
            $0.timeouts = Timeouts(idle: idle)
        }
        let delegate = RecordingDelegate()
        let task = loader.task(for: try Request("outer:1"), delegate: delegate)
        task.resume()
        let load = try #require(outer.loads.first)
        let nextLoads = try (0..<count).map {
            load.client.makeLoadByNextHandler(for: try Request("inner:\($0)"), client: RecordingClient())
        }
        for next in nextLoads { next.startLoading() }
        return try RunningTask(task, delegate, nextLoads: nextLoads, loads: inner.loads)
    }

    @Test func timeInAQueueIsNotIdleTime() throws {
        let running = try start(2, idle: .seconds(10))
        for client in running.clients { client.didEnterQueue(Self.queueWait(limit: .seconds(300))) }
        clock.advance(by: .seconds(20))
        running.clients[0].didLeaveQueue(mayReturn: false)
        clock.advance(by: .seconds(11))
        #expect(running.task.state == .running && running.task.isQueued)
        running.clients[1].didLeaveQueue(mayReturn: false)
        #expect(!running.task.isQueued)
        clock.advance(by: .seconds(10))
        #expect(running.delegate.error?.message.contains("nothing came from") == true)
    }

    @Test func errorNamesTheQueueWhoseTimeLimitPassed() throws {
        let running = try start(2)
        running.clients[0].didEnterQueue(Self.queueWait("one", limit: .seconds(300)))
        running.clients[1].didEnterQueue(Self.queueWait("two", limit: .seconds(30)))
        #expect(running.task.stallReason?.hasPrefix("waiting for one") == true)
        clock.advance(by: .seconds(30))
        #expect(running.delegate.error?.message == "the queue for two is full")
    }

    @Test func deadlineStaysIfALoadLeavesAndReturns() throws {
        let running = try start(1)
        let client = try #require(running.clients.first)
        client.didEnterQueue(Self.queueWait())
        clock.advance(by: .seconds(20))
        client.didLeaveQueue(mayReturn: true)
        #expect(!running.task.isQueued && running.task.stallReason == nil)
        clock.advance(by: .seconds(5))
        client.didEnterQueue(Self.queueWait())
        clock.advance(by: .seconds(4))
        #expect(running.task.state == .running)
        clock.advance(by: .seconds(1))
        #expect(running.delegate.error?.message == "the queue for w is full")
    }

    @Test func deadlinePassedOutsideTheQueueFailsTheReturningLoad() throws {
        let running = try start(1)
        let client = try #require(running.clients.first)
        client.didEnterQueue(Self.queueWait())
        clock.advance(by: .seconds(20))
        client.didLeaveQueue(mayReturn: true)
        clock.advance(by: .seconds(100))
        #expect(running.task.state == .running)
        client.didEnterQueue(Self.queueWait())
        #expect(running.delegate.error?.message == "the queue for w is full")
    }

    /// A load that got its connection leaves the queue and does not return (`mayReturn` is `false`).
    @Test func newWaitHasItsFullTimeLimit() throws {
        let running = try start(1)
        let client = try #require(running.clients.first)
        client.didEnterQueue(Self.queueWait())
        clock.advance(by: .seconds(20))
        client.didLeaveQueue(mayReturn: false)
        client.didEnterQueue(Self.queueWait())
        clock.advance(by: .seconds(29))
        #expect(running.task.state == .running)
        clock.advance(by: .seconds(1))
        #expect(running.delegate.error?.message == "the queue for w is full")
    }

    @Test func loadThatLeavesAQueueKeepsTheDeadlineOfAnother() async throws {
        for _ in 0..<300 {
            let running = try start(2)
            let (first, second) = (running.clients[0], running.clients[1])
            first.didEnterQueue(Self.queueWait())
            await withTaskGroup(of: Void.self) { group in
                group.addTask { first.didLeaveQueue(mayReturn: false) }
                group.addTask { second.didEnterQueue(Self.queueWait()) }
            }
            clock.advance(by: .seconds(30))
            #expect(running.delegate.error?.code == .timedOut)
            guard running.delegate.error != nil else { return }
        }
    }

    @Test func endedTaskIsNotQueued() throws {
        let running = try start(2)
        for client in running.clients { client.didEnterQueue(Self.queueWait()) }
        running.task.cancel()
        #expect(!running.task.isQueued && clock.pendingTimerCount == 0)
        for client in running.clients {
            client.didEnterQueue(Self.queueWait())
            client.didLeaveQueue(mayReturn: false)
        }
        #expect(!running.task.isQueued && clock.pendingTimerCount == 0)
    }
}
