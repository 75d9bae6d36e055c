// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Calls of the caller that come at the same time as events of the handler.
@Suite(.timeLimit(.minutes(2))) struct CallerAndHandlerRaceTests {
    private let handler = ManualHandler(schemes: .only(["x"]))

    /// Starts a task, and returns the task and its load. The test delivers the events of the load.
    private func start(_ delegate: RecordingDelegate, _ configure: (inout Loader.Configuration) -> Void = { _ in }) throws -> (
        LoadTask, ManualLoad
    ) {
        let task = loader(handler, configure: configure).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        return (task, try #require(handler.loads.first))
    }

    @Test func aRedirectDecidedAfterACancelIsNotFollowed() throws {
        let task = Mutex<LoadTask?>(nil)
        let delegate = RecordingDelegate(onRedirect: { request, decide in
            task.withLock { $0 }?.cancel()
            decide(.follow(request))
        })
        let (startedTask, load) = try start(delegate)
        task.withLock { $0 = startedTask }
        #expect(load.redirect(to: try URLRecord(parsing: "x:2")) == .stopped)
        task.withLock { $0 = nil }
        #expect(delegate.events == [.redirect(try URLRecord(parsing: "x:2")), .failed(.cancelled)])
        #expect(handler.loads.count == 1)
    }

    @Test func resumeDoesNotDecideARedirect() throws {
        let pendingDecision = Mutex<(@Sendable () -> Void)?>(nil)
        let delegate = RecordingDelegate(onRedirect: { request, decide in pendingDecision.withLock { $0 = { decide(.follow(request)) } } })
        let (task, load) = try start(delegate)
        #expect(load.redirect(to: try URLRecord(parsing: "x:2")) == .pause)
        task.suspend()
        task.resume()
        #expect(load.calls == [.start])
        pendingDecision.withLock { $0.take() }?()
        #expect(load.calls == [.start, .stop])
        #expect(handler.loads.count == 2)
        task.cancel()
    }

    @Test func redirectIsFollowedIfTheDecisionIsReleased() throws {
        let delegate = RecordingDelegate(onRedirect: { _, _ in })
        let (task, load) = try start(delegate)
        load.redirect(to: try URLRecord(parsing: "x:2"))
        #expect(handler.loads.count == 2)
        task.cancel()
    }

    @Test func taskSuspendedAndResumedBeforeItsStartRuns() throws {
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.suspend()
        task.resume()
        #expect(task.state == .running)
        #expect(handler.loads.first?.respond() == .keepGoing)
        task.cancel()
    }

    @Test func concurrentSuspendAndResumeLeaveNoPause() async throws {
        for _ in 0..<300 {
            let handler = ManualHandler()
            let task = loader(handler).task(for: try Request("x:1"), delegate: RecordingDelegate())
            task.resume()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { task.suspend() }
                group.addTask { task.resume() }
            }
            let isRunning = task.state == .running
            #expect(handler.loads.first?.respond() == (isRunning ? .keepGoing : .pause))
            task.cancel()
        }
    }

    @Test func idleTimeRestartsAfterAPause() throws {
        let clock = ManualClock()
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let (task, load) = try start(delegate) {
            $0.clock = clock
            $0.timeouts = Timeouts(idle: .seconds(10))
        }
        load.respond()
        load.deliver([1])
        clock.advance(by: .milliseconds(9900))
        task.resume()
        clock.advance(by: .seconds(9))
        #expect(delegate.error == nil)
        clock.advance(by: .seconds(1))
        #expect(delegate.events.last == .failed(.timedOut))
    }

    @Test func hugeTimeoutsAreAccepted() async throws {
        var request = try Request("x:1")
        request.timeouts = Timeouts(idle: .seconds(Int64.max), total: .seconds(Int64.max))
        let task = loader(handler).task(for: request, delegate: RecordingDelegate())
        task.resume()
        task.cancel()
        #expect(task.state == .ended)
    }

    @Test func metricsOfAnUnstartedTaskEndAtZero() throws {
        let task = loader(handler).task(for: try Request("x:1"), delegate: RecordingDelegate())
        task.cancel()
        #expect(task.metrics.timeToEnd == .zero)
    }

    @Test func redirectOfANestedLoadKeepsDepthAndVisitedHandlers() throws {
        let target = try Request("x:2")
        let outer = ManualHandler(schemes: .only(["parent"])) { load in
            guard let request = try? Request("x:1") else { return }
            load.client.makeNestedLoad(for: request, client: load.client).startLoading()
        }
        let delegate = RecordingDelegate(onRedirect: { _, decide in decide(.follow(target)) })
        let task = loader(outer, handler).task(for: try Request("parent:x"), delegate: delegate)
        task.resume()
        handler.loads.first?.redirect(to: target.url)
        #expect(handler.loads.map(\.request.nestingDepth) == [1, 1])
        #expect(handler.loads.last?.request.visitedHandlers.map(\.handler) == ["org.portolan.manual"])
        task.cancel()
    }

    @Test func redirectWithoutAFragmentKeepsTheOldFragment() throws {
        let task = loader(handler).task(for: try Request("x:1#part"), delegate: RecordingDelegate())
        task.resume()
        handler.loads.first?.redirect(to: try URLRecord(parsing: "x:2"))
        #expect(task.currentRequest.url.description == "x:2#part")
        task.cancel()
    }

    @Test func answerToACancelledChallengeIsIgnoredAndTheIdleTimerRuns() throws {
        let clock = ManualClock()
        let receivedChallenge = Mutex<AuthenticationChallenge?>(nil)
        let answerCount = Mutex(0)
        let delegate = RecordingDelegate(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } })
        let (_, load) = try start(delegate) {
            $0.clock = clock
            $0.timeouts = Timeouts(idle: .seconds(10))
        }
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
        let challenge = AuthenticationChallenge(protectionSpace: space) { _ in answerCount.withLock { $0 += 1 } }
        load.client.didReceive(challenge)
        load.client.didCancel(challenge)
        receivedChallenge.withLock { $0 }?.answer(.continueWithoutCredential)
        #expect(answerCount.withLock { $0 } == 0)
        clock.advance(by: .seconds(10))
        #expect(delegate.events.last == .failed(.timedOut))
        receivedChallenge.withLock { $0 = nil }
    }

    @Test func aSecondConcurrentReaderOfABodyFails() async throws {
        let loader = loader(handler)
        async let result = loader.bytes(from: "x:1")
        let load = await handler.nextLoad()
        load.respond()
        let (chunks, _) = try await result
        let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var iterator = chunks.makeAsyncIterator()
                    do {
                        return try await iterator.next().map { "\($0)" } ?? "end"
                    } catch let error as LoadError {
                        return error.code.description
                    }
                }
            }
            // One reader waits until data arrives. Only the other reader, which fails, can return before that.
            let first = try await group.next()
            load.deliver([7])
            return [first, try await group.next()]
        }
        #expect(Set(outcomes) == ["badRequest", "[7]"])
    }

    @Test func negativeBufferLimitCountsAsZero() async throws {
        let loader = loader(StubHandler { _ in .pieces([[1], [2], [3]]) }) { $0.bufferSize = -1 }
        let (chunks, _) = try await loader.bytes(from: "x:1")
        var body: [UInt8] = []
        for try await chunk in chunks { body += chunk }
        #expect(body == [1, 2, 3])
    }

    @Test func schemesIgnoreCase() async throws {
        let loader = loader(StubHandler(schemes: .only(["FTP+x"])) { _ in .text("found") })
        #expect(try await String(decoding: loader.data(from: "ftp+X:1").0, as: UTF8.self) == "found")
    }
}
