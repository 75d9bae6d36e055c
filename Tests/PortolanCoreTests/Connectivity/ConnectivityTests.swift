// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Loads that wait for a network.
@Suite(.timeLimit(.minutes(2))) struct ConnectivityTests {
    private final class Observer: LoadDelegate {
        let waitCount = Mutex(0)
        let end = Mutex<Result<Void, LoadError>?>(nil)

        func loadTaskIsWaitingForConnectivity(_ task: LoadTask) { waitCount.withLock { $0 += 1 } }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
            end.withLock { $0 = error.map { .failure($0) } ?? .success(()) }
        }

        var hasSucceeded: Bool { if case .success = end.withLock({ $0 }) { true } else { false } }
        var error: LoadError? { if case .failure(let error) = end.withLock({ $0 }) { error } else { nil } }
    }

    private static var offline: LoadError {
        var error = LoadError(.cannotConnect, message: "no route")
        error.isForLackOfNetwork = true
        return error
    }

    private let handler = ManualHandler()
    private let clock = ManualClock()
    private let changes = NetworkChanges()
    private let observer = Observer()

    /// - Returns: the started task.
    private func start(
        _ request: Request? = nil, timeouts: Timeouts = Timeouts(), waits: Bool = true, retries: RetryPolicy? = nil
    ) throws -> LoadTask {
        let loader = loader(handler) {
            ($0.clock, $0.networkChanges, $0.timeouts) = (clock, changes, timeouts)
            ($0.waitsForConnectivity, $0.retries) = (waits, retries)
        }
        let task = loader.task(for: try request ?? Request("x:1"), delegate: observer)
        task.resume()
        return task
    }

    private func fail(_ index: Int, _ error: LoadError = ConnectivityTests.offline) throws {
        try #require(handler.loads.count == index + 1)
        handler.loads[index].client.didFail(with: error)
    }

    private func succeed(_ index: Int, _ task: LoadTask) throws {
        try #require(handler.loads.count == index + 1)
        _ = handler.loads[index].client.didReceive(Response(url: task.originalRequest.url), storage: .notAllowed)
        handler.loads[index].client.didFinishLoading()
    }

    @Test func changeOfTheNetworkStartsTheLoadAgain() throws {
        let task = try start()
        try fail(0)
        #expect(observer.waitCount.withLock { $0 } == 1 && task.state == .running)
        changes.report()
        clock.advance(by: .milliseconds(99))
        #expect(handler.loads.count == 1)
        clock.advance(by: .milliseconds(1))
        try succeed(1, task)
        #expect(observer.hasSucceeded && clock.pendingTimerCount == 0)
    }

    /// The waits are 1, 2, 4, 8 and 16 seconds, and then 30. They call the delegate once.
    @Test func loadIsTriedAgainWithoutAChange() throws {
        let task = try start()
        for (index, seconds) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
            try fail(index)
            clock.advance(by: .seconds(seconds) - .milliseconds(1))
            #expect(handler.loads.count == index + 1)
            clock.advance(by: .milliseconds(1))
        }
        try succeed(7, task)
        #expect(observer.hasSucceeded && observer.waitCount.withLock { $0 } == 1)
    }

    /// Many changes during one wait start one attempt.
    @Test func eachWaitEndsOnce() throws {
        let task = try start()
        try fail(0)
        for _ in 0..<5 { changes.report() }
        clock.advance(by: .seconds(60))
        #expect(handler.loads.count == 2)
        changes.report()
        clock.advance(by: .seconds(60))
        try succeed(1, task)
        #expect(observer.hasSucceeded)
    }

    @Test func idleLimitDoesNotCountDuringTheWait() throws {
        let task = try start(timeouts: Timeouts(idle: .milliseconds(500)))
        try fail(0)
        clock.advance(by: .seconds(1))
        try succeed(1, task)
        #expect(observer.hasSucceeded)
    }

    @Test func totalLimitEndsTheWait() throws {
        _ = try start(timeouts: Timeouts(total: .milliseconds(900)))
        try fail(0)
        clock.advance(by: .seconds(5))
        #expect(observer.error?.code == .timedOut && handler.loads.count == 1)
    }

    @Test func cancelEndsTheWait() throws {
        let task = try start()
        try fail(0)
        task.cancel()
        changes.report()
        clock.advance(by: .seconds(60))
        #expect(observer.error?.code == .cancelled && handler.loads.count == 1 && clock.pendingTimerCount == 0)
    }

    @Test func releasedTaskStopsWaiting() throws {
        weak var released: LoadTask?
        do {
            let task = try start()
            try fail(0)
            task.suspend()
            released = task
        }
        #expect(released == nil)
        changes.report()
        clock.advance(by: .seconds(60))
        #expect(handler.loads.count == 1)
    }

    @Test func otherFailuresAreNotWaitedFor() throws {
        _ = try start()
        try fail(0, LoadError(.cannotConnect, message: "refused"))
        #expect(observer.error?.code == .cannotConnect && observer.waitCount.withLock { $0 } == 0)
    }

    @Test func loadFailsWithoutTheSetting() throws {
        _ = try start(waits: false)
        try fail(0)
        #expect(observer.error?.code == .cannotConnect)
    }

    @Test func failureAfterTheResponseIsNotWaitedFor() throws {
        let task = try start()
        _ = handler.loads[0].client.didReceive(Response(url: task.originalRequest.url), storage: .notAllowed)
        try fail(0)
        #expect(observer.error?.code == .cannotConnect)
    }

    @Test func waitsAreNoRetries() throws {
        var policy = RetryPolicy(limit: 1)
        policy.jitter = 0
        let task = try start(retries: policy)
        for index in 0..<3 {
            try fail(index)
            changes.report()
            clock.advance(by: .milliseconds(100))
        }
        try fail(3, LoadError(.connectionLost, message: "lost"))
        clock.advance(by: .seconds(10))
        try succeed(4, task)
        #expect(observer.hasSucceeded)
    }
}
