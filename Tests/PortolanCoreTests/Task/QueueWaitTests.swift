// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// A task with several loads that wait in queues of their handlers.
@Suite("Loads that wait in queues", .timeLimit(.minutes(2))) struct QueueWaitTests {
    private let clock = ManualClock()

    private static func wait(_ name: String = "w", limit: Duration? = .seconds(30)) -> QueueWait {
        let error = LoadError(.timedOut, message: "the queue for \(name) is full")
        return QueueWait("waiting for \(name)", limit: limit, remedy: .raiseTimeout, error: error)
    }

    /// A task, and the clients of the loads to which it passes its request.
    private struct Waiting {
        let task: LoadTask
        let delegate: RecordingDelegate
        let clients: [any QueueingClient]
        private let nextLoads: [any ProtocolLoad]
        /// The loads of the clients, which retain the clients.
        private let loads: [ManualLoad]

        init(_ task: LoadTask, _ delegate: RecordingDelegate, nextLoads: [any ProtocolLoad], loads: [ManualLoad]) throws {
            (self.task, self.delegate, self.nextLoads, self.loads) = (task, delegate, nextLoads, loads)
            clients = try loads.map { try #require($0.client as? any QueueingClient) }
        }
    }

    private func start(_ count: Int, idle: Duration? = nil) throws -> Waiting {
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
        return try Waiting(task, delegate, nextLoads: nextLoads, loads: inner.loads)
    }

    @Test func timeInAQueueIsNotIdleTime() throws {
        let waiting = try start(2, idle: .seconds(10))
        for client in waiting.clients { client.didEnterQueue(Self.wait(limit: .seconds(300))) }
        clock.advance(by: .seconds(20))
        waiting.clients[0].didLeaveQueue(mayReturn: false)
        clock.advance(by: .seconds(11))
        #expect(waiting.task.state == .running && waiting.task.isQueued)
        waiting.clients[1].didLeaveQueue(mayReturn: false)
        #expect(!waiting.task.isQueued)
        clock.advance(by: .seconds(10))
        #expect(waiting.delegate.error?.message.contains("nothing came from") == true)
    }

    @Test func errorNamesTheQueueWhoseTimeLimitPassed() throws {
        let waiting = try start(2)
        waiting.clients[0].didEnterQueue(Self.wait("one", limit: .seconds(300)))
        waiting.clients[1].didEnterQueue(Self.wait("two", limit: .seconds(30)))
        #expect(waiting.task.stallReason?.hasPrefix("waiting for one") == true)
        clock.advance(by: .seconds(30))
        #expect(waiting.delegate.error?.message == "the queue for two is full")
    }

    @Test func deadlineStaysIfALoadLeavesAndReturns() throws {
        let waiting = try start(1)
        let client = try #require(waiting.clients.first)
        client.didEnterQueue(Self.wait())
        clock.advance(by: .seconds(20))
        client.didLeaveQueue(mayReturn: true)
        #expect(!waiting.task.isQueued && waiting.task.stallReason == nil)
        clock.advance(by: .seconds(5))
        client.didEnterQueue(Self.wait())
        clock.advance(by: .seconds(4))
        #expect(waiting.task.state == .running)
        clock.advance(by: .seconds(1))
        #expect(waiting.delegate.error?.message == "the queue for w is full")
    }

    @Test func deadlinePassedOutsideTheQueueFailsTheReturningLoad() throws {
        let waiting = try start(1)
        let client = try #require(waiting.clients.first)
        client.didEnterQueue(Self.wait())
        clock.advance(by: .seconds(20))
        client.didLeaveQueue(mayReturn: true)
        clock.advance(by: .seconds(100))
        #expect(waiting.task.state == .running)
        client.didEnterQueue(Self.wait())
        #expect(waiting.delegate.error?.message == "the queue for w is full")
    }

    /// A connection ends the wait. The next wait has its full time limit.
    @Test func newWaitHasItsFullTimeLimit() throws {
        let waiting = try start(1)
        let client = try #require(waiting.clients.first)
        client.didEnterQueue(Self.wait())
        clock.advance(by: .seconds(20))
        client.didLeaveQueue(mayReturn: false)
        client.didEnterQueue(Self.wait())
        clock.advance(by: .seconds(29))
        #expect(waiting.task.state == .running)
        clock.advance(by: .seconds(1))
        #expect(waiting.delegate.error?.message == "the queue for w is full")
    }

    @Test func loadThatLeavesAQueueKeepsTheDeadlineOfAnother() async throws {
        for _ in 0..<300 {
            let waiting = try start(2)
            let (first, second) = (waiting.clients[0], waiting.clients[1])
            first.didEnterQueue(Self.wait())
            await withTaskGroup(of: Void.self) { group in
                group.addTask { first.didLeaveQueue(mayReturn: false) }
                group.addTask { second.didEnterQueue(Self.wait()) }
            }
            clock.advance(by: .seconds(30))
            #expect(waiting.delegate.error?.code == .timedOut)
            guard waiting.delegate.error != nil else { return }
        }
    }

    @Test func endedTaskIsNotQueued() throws {
        let waiting = try start(2)
        for client in waiting.clients { client.didEnterQueue(Self.wait()) }
        waiting.task.cancel()
        #expect(!waiting.task.isQueued && clock.pendingTimerCount == 0)
        for client in waiting.clients {
            client.didEnterQueue(Self.wait())
            client.didLeaveQueue(mayReturn: false)
        }
        #expect(!waiting.task.isQueued && clock.pendingTimerCount == 0)
    }
}
