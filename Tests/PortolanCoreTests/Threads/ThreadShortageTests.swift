// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Pools for which the system temporarily has no threads.
@Suite(.timeLimit(.minutes(2))) struct ThreadShortageTests {
    /// Decides whether the system has a thread, and counts the requests for threads.
    private final class Supply: Sendable {
        private struct State {
            var isShort = false
            var requestCount = 0
        }

        private let state = Mutex(State())
        private static let retryTime = Duration.milliseconds(50)
        let clock = ManualClock()

        func pool(limit: Int) -> LoadThreadPool {
            LoadThreadPool(limit: limit, clock: clock) { [self] body throws(LoadError) in
                let isShort = state.withLock { state in
                    state.requestCount += 1
                    return state.isShort
                }
                if isShort { throw LoadError(.noResources, message: "no thread") }
                try PlatformThread.start(body)
            }
        }

        func setShort(_ isShort: Bool) {
            state.withLock { $0 = State(isShort: isShort) }
        }

        /// The number of requests since the last change.
        var requestCount: Int { state.withLock { $0.requestCount } }

        /// Advances the clock so that each retry takes place once.
        func retry() { clock.advance(by: Self.retryTime) }
    }

    /// Two jobs that release their places and wait, as in `waitForData`, until the test ends them.
    private struct Waiters {
        let go = ConditionLock(false)
        let isOver = ConditionLock(false)
        private let aside = ConditionLock(0)
        let done = ConditionLock(0)

        init(in pool: LoadThreadPool) throws {
            let (go, isOver, aside, done) = (go, isOver, aside, done)
            let begun = ConditionLock(0)
            for _ in 0..<2 {
                try pool.run {
                    begun.withLockBroadcasting { $0 += 1 }
                    go.wait { $0 ? () : nil }
                    do throws(LoadError) {
                        try LoadWorker.waiting { () throws(LoadError) in
                            aside.withLockBroadcasting { $0 += 1 }
                            isOver.wait { $0 ? () : nil }
                        }
                    } catch { Issue.record("\(error)") }
                    done.withLockBroadcasting { $0 += 1 }
                }
            }
            begun.wait { $0 == 2 ? () : nil }
        }

        func step() {
            go.withLockBroadcasting { $0 = true }
            aside.wait { $0 == 2 ? () : nil }
        }

        func end() {
            isOver.withLockBroadcasting { $0 = true }
            done.wait { $0 == 2 ? () : nil }
        }
    }

    /// Both jobs have released their places and do not end, so no ending job takes up the waiting jobs.
    @Test(arguments: [1, 14, 3000]) func waitingJobsShareThreadRequestsAndRunOnceThereAreThreads(_ count: Int) throws {
        let supply = Supply()
        let pool = supply.pool(limit: 2)
        let waiters = try Waiters(in: pool)
        let ran = ConditionLock(0)
        for _ in 0..<count { try pool.run { ran.withLockBroadcasting { $0 += 1 } } }
        supply.setShort(true)
        waiters.step()
        #expect(supply.requestCount <= 2)
        for _ in 0..<20 { supply.retry() }
        #expect(supply.requestCount <= 22 && ran.withLock { $0 } == 0)
        supply.setShort(false)
        supply.retry()
        #expect(ran.wait(atMost: .seconds(60)) { $0 == count ? $0 : nil } == count)
        waiters.end()
        #expect(supply.clock.pendingAlarmCount == 0)
    }

    /// The caller receives the error. What was prepared for the job's place is removed.
    @Test func aJobWithoutAThreadIsRefused() throws {
        let supply = Supply()
        let pool = supply.pool(limit: 1)
        supply.setShort(true)
        for isNested in [false, true] {
            #expect(throws: LoadError(.noResources, message: "no thread")) {
                try pool.run(isNested: isNested) { Issue.record("a job that was refused ran") }
            }
        }
        #expect(supply.requestCount == 2 && supply.clock.pendingAlarmCount == 0)
        #expect(pool.census == (0, 0))
        supply.setShort(false)
        let ran = ConditionLock(false)
        try pool.run { ran.withLockBroadcasting { $0 = true } }
        #expect(ran.wait(atMost: .seconds(60)) { $0 ? true : nil } == true)
    }

    /// A call that must take place is retained while there is no thread, however long that takes. All these calls
    /// together make one attempt at a time.
    @Test(arguments: [false, true]) func retainedJobsRunOnceThereAreThreads(_ isNested: Bool) throws {
        let supply = Supply()
        let pool = supply.pool(limit: 2)
        let ran = ConditionLock<[Int]>([])
        supply.setShort(true)
        for number in 0..<1000 { pool.runEventually(isNested: isNested) { ran.withLockBroadcasting { $0.append(number) } } }
        let requestCount = supply.requestCount
        for _ in 0..<100 { supply.retry() }
        #expect(supply.requestCount == requestCount + 100 && ran.withLock { $0.isEmpty })
        supply.setShort(false)
        supply.retry()
        #expect(ran.wait(atMost: .seconds(60)) { $0.count == 1000 ? $0.sorted() : nil } == Array(0..<1000))
        #expect(supply.clock.pendingAlarmCount == 0)
    }

    /// A thread that has become free takes up a retained job before the next retry.
    @Test(arguments: [false, true]) func threadThatEndsItsJobRunsRetainedJobs(_ isNested: Bool) throws {
        let supply = Supply()
        let pool = supply.pool(limit: 2)
        let (isOpen, begun, ran) = (ConditionLock(false), ConditionLock(false), ConditionLock(0))
        try pool.run {
            begun.withLockBroadcasting { $0 = true }
            isOpen.wait { $0 ? () : nil }
        }
        begun.wait { $0 ? () : nil }
        supply.setShort(true)
        for _ in 0..<100 { pool.runEventually(isNested: isNested) { ran.withLockBroadcasting { $0 += 1 } } }
        isOpen.withLockBroadcasting { $0 = true }
        #expect(ran.wait(atMost: .seconds(60)) { $0 == 100 ? $0 : nil } == 100)
        // The remaining retry keeps the pool and the clock in a retain cycle.
        supply.retry()
        #expect(supply.clock.pendingAlarmCount == 0)
    }

    /// A closure that passes through a list would be wrapped once more each time. No thread has a stack of that depth.
    @Test func retriesDoNotWrapTheClosureOfAJobAgain() throws {
        let supply = Supply()
        let pool = supply.pool(limit: 1)
        let ran = ConditionLock(false)
        supply.setShort(true)
        pool.runEventually { ran.withLockBroadcasting { $0 = true } }
        for _ in 0..<50_000 { supply.retry() }
        supply.setShort(false)
        supply.retry()
        #expect(ran.wait(atMost: .seconds(60)) { $0 ? true : nil } == true)
    }
}
