// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct ScriptedLoadTests {
    private let clock = ManualClock()

    /// A load that delivers a response after one second, a piece of the body after two and three seconds, and then its
    /// end.
    private func makeLoad(_ client: RecordingClient) throws -> ScriptedLoad {
        let response = Response(url: try URLRecord(parsing: "x:y"))
        return ScriptedLoad(
            [(.response(response), .seconds(1)), (.data([1]), .seconds(2)), (.data([2]), .seconds(3)), (.finish, .seconds(3))], by: clock,
            client: client)
    }

    @Test func eachEventIsDeliveredAtItsTime() throws {
        let client = RecordingClient()
        let load = try makeLoad(client)
        load.startLoading()
        #expect(client.events.isEmpty && clock.pendingTimerCount == 1)
        clock.advance(by: .milliseconds(999))
        #expect(client.events.isEmpty)
        clock.advance(by: .milliseconds(1))
        #expect(client.events == [.response(nil)])
        clock.advance(by: .seconds(1))
        #expect(client.events == [.response(nil), .data(1)])
        clock.advance(by: .seconds(1))
        #expect(client.events == [.response(nil), .data(1), .data(1), .finished] && clock.pendingTimerCount == 0)
    }

    @Test func eventsWaitDuringAPauseAndFollowTheResumeImmediately() throws {
        let client = RecordingClient { index, _ in index == 0 ? .pause : .keepGoing }
        let load = try makeLoad(client)
        load.startLoading()
        clock.advance(by: .seconds(10))
        #expect(client.events == [.response(nil)] && clock.pendingTimerCount == 0)
        load.resumeLoading()
        #expect(client.events.count == 4)
    }

    @Test func resumeWithoutAPauseDeliversNoEventEarly() throws {
        let client = RecordingClient()
        let load = try makeLoad(client)
        load.startLoading()
        load.resumeLoading()
        #expect(client.events.isEmpty && clock.pendingTimerCount == 1)
        // The timer keeps the load and the clock in a retain cycle.
        load.stopLoading()
    }

    @Test func stopCancelsTheTimerOfTheNextEvent() throws {
        let client = RecordingClient()
        let load = try makeLoad(client)
        load.startLoading()
        clock.advance(by: .seconds(1))
        load.stopLoading()
        #expect(clock.pendingTimerCount == 0)
        clock.advance(by: .seconds(10))
        #expect(client.events == [.response(nil)])
    }

    @Test func interimResponsesAndTrailersAreEvents() throws {
        let client = RecordingClient()
        let url = try URLRecord(parsing: "x:y")
        let early = Response(url: url, status: .init(code: 103))
        ScriptedLoad([.interim(early), .response(Response(url: url)), .trailers([.age: "1"]), .finish], client: client).startLoading()
        #expect(client.events == [.interim(103), .response(nil), .trailers, .finished] && client.trailers == [.age: "1"])
    }

    /// The load is stopped after it has decided to continue, and before it calls the client again.
    @Test func stopBetweenTwoEventsIsNoViolation() throws {
        let violations = Mutex<[String]>([])
        let task = Mutex<LoadTask?>(nil)
        let handler = StoppingHandler(StubHandler { _ in .pieces([[1], [2], [3]]) }) { task.withLock { $0 }?.cancel() }
        let delegate = RecordingDelegate()
        let newTask = loader(handler) { $0.violationObserver = { rule, _ in violations.withLock { $0.append(rule.id) } } }
            .task(for: try Request("x:1"), delegate: delegate)
        task.withLock { $0 = newTask }
        newTask.resume()
        #expect(delegate.events == [.response(try URLRecord(parsing: "x:1")), .failed(.cancelled)])
        #expect(violations.withLock { $0 }.isEmpty)
        task.withLock { $0 = nil }
    }

    /// The load is stopped before it reports its failure.
    @Test func stopBeforeTheFailureOfAFailedLoadIsNoViolation() throws {
        let violations = Mutex<[String]>([])
        let task = Mutex<LoadTask?>(nil)
        let handler = StoppingHandler(StubHandler { _ in throw LoadError(.notFound, message: "no") }) { task.withLock { $0 }?.cancel() }
        let delegate = RecordingDelegate()
        let newTask = loader(handler) { $0.violationObserver = { rule, _ in violations.withLock { $0.append(rule.id) } } }
            .task(for: try Request("x:1"), delegate: delegate)
        task.withLock { $0 = newTask }
        newTask.resume()
        #expect(delegate.events == [.failed(.cancelled)])
        #expect(violations.withLock { $0 }.isEmpty)
        task.withLock { $0 = nil }
    }
}
