// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Pools for which the system temporarily starts no threads.
@Suite(.timeLimit(.minutes(2))) struct ThreadShortageTests {
    /// Decides whether a thread can be started, and counts the attempts.
    private final class ThreadSupply: Sendable {
        private struct State {
            var isExhausted = false
            var attemptCount = 0
        }

        private let state = Mutex(State())
        private static let retryTime = Duration.milliseconds(50)
        let clock = ManualClock()

        func pool(limit: Int) -> LoadThreadPool {
            LoadThreadPool(limit: limit, clock: clock) { [self] body throws(LoadError) in
                let isExhausted = state.withLock { state in
                    state.attemptCount += 1
                    return state.isExhausted
                }
                if isExhausted { throw LoadError(.noResources, message: "no thread") }
                try PlatformThread.start(body)
            }
        }

        func setExhausted(_ isExhausted: Bool) {
            state.withLock { $0 = State(isExhausted: isExhausted) }
        }

        /// The number of attempts since the last call of `setExhausted`.
        var attemptCount: Int { state.withLock { $0.attemptCount } }

        /// Advances the clock so that each retry takes place once.
        func retry() { clock.advance(by: Self.retryTime) }
    }

    /// Two jobs that release their slots and wait, as in `waitForData`, until the test ends them.
    private struct Waiters {
        let canRelease = ConditionLock(false)
        let isOver = ConditionLock(false)
        private let waitingCount = ConditionLock(0)
        let done = ConditionLock(0)

        init(in pool: LoadThreadPool) throws {
            let (canRelease, isOver, waitingCount, done) = (canRelease, isOver, waitingCount, done)
            let startedCount = ConditionLock(0)
            for _ in 0..<2 {
                try pool.run {
                    startedCount.withLockBroadcasting { $0 += 1 }
                    canRelease.wait { $0 ? () : nil }
                    do throws(LoadError) {
                        try LoadWorker.withSlotReleased { () throws(LoadError) in
                            waitingCount.withLockBroadcasting { $0 += 1 }
                            isOver.wait { $0 ? () : nil }
                        }
                    } catch { Issue.record("\(error)") }
                    done.withLockBroadcasting { $0 += 1 }
                }
            }
            startedCount.wait { $0 == 2 ? () : nil }
        }

        func releaseSlots() {
            canRelease.withLockBroadcasting { $0 = true }
            waitingCount.wait { $0 == 2 ? () : nil }
        }

        func end() {
            isOver.withLockBroadcasting { $0 = true }
            done.wait { $0 == 2 ? () : nil }
        }
    }

    /// Two jobs have released their slots and do not end, so that no thread becomes free for the waiting jobs.
    @Test(arguments: [1, 14, 3000]) func waitingJobsRunWhenThreadsCanBeStartedAgain(_ count: Int) throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 2)
        let waiters = try Waiters(in: pool)
        let ran = ConditionLock(0)
        for _ in 0..<count { try pool.run { ran.withLockBroadcasting { $0 += 1 } } }
        supply.setExhausted(true)
        waiters.releaseSlots()
        #expect(supply.attemptCount <= 2)
        for _ in 0..<20 { supply.retry() }
        #expect(supply.attemptCount <= 22 && ran.withLock { $0 } == 0)
        supply.setExhausted(false)
        supply.retry()
        #expect(ran.wait(atMost: .seconds(60)) { $0 == count ? $0 : nil } == count)
        waiters.end()
        #expect(supply.clock.pendingTimerCount == 0)
    }

    @Test("A job fails if no thread can be started, and its slot becomes free again")
    func jobWithoutAThreadFails() throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 1)
        supply.setExhausted(true)
        for isNested in [false, true] {
            #expect(throws: LoadError(.noResources, message: "no thread")) {
                try pool.run(isNested: isNested) { Issue.record("a job that failed was run") }
            }
        }
        #expect(supply.attemptCount == 2 && supply.clock.pendingTimerCount == 0)
        #expect(pool.threadCounts == (0, 0))
        supply.setExhausted(false)
        let ran = ConditionLock(false)
        try pool.run { ran.withLockBroadcasting { $0 = true } }
        #expect(ran.wait(atMost: .seconds(60)) { $0 ? true : nil } == true)
    }

    /// `runEventually` keeps a job until a thread can be started. All waiting jobs share one attempt at a time.
    @Test(arguments: [false, true]) func waitingJobsOfRunEventuallyRunWhenThreadsCanBeStarted(_ isNested: Bool) throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 2)
        let ran = ConditionLock<[Int]>([])
        supply.setExhausted(true)
        for number in 0..<1000 { pool.runEventually(isNested: isNested) { ran.withLockBroadcasting { $0.append(number) } } }
        let attemptCount = supply.attemptCount
        for _ in 0..<100 { supply.retry() }
        #expect(supply.attemptCount == attemptCount + 100 && ran.withLock { $0.isEmpty })
        supply.setExhausted(false)
        supply.retry()
        #expect(ran.wait(atMost: .seconds(60)) { $0.count == 1000 ? $0.sorted() : nil } == Array(0..<1000))
        #expect(supply.clock.pendingTimerCount == 0)
    }

    /// A thread that becomes free runs a waiting job before the next attempt to start a thread.
    @Test(arguments: [false, true]) func freeThreadRunsWaitingJobs(_ isNested: Bool) throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 2)
        let (isOpen, startedCount, ran) = (ConditionLock(false), ConditionLock(false), ConditionLock(0))
        try pool.run {
            startedCount.withLockBroadcasting { $0 = true }
            isOpen.wait { $0 ? () : nil }
        }
        startedCount.wait { $0 ? () : nil }
        supply.setExhausted(true)
        for _ in 0..<100 { pool.runEventually(isNested: isNested) { ran.withLockBroadcasting { $0 += 1 } } }
        isOpen.withLockBroadcasting { $0 = true }
        #expect(ran.wait(atMost: .seconds(60)) { $0 == 100 ? $0 : nil } == 100)
        // The remaining retry keeps the pool and the clock in a retain cycle.
        supply.retry()
        #expect(supply.clock.pendingTimerCount == 0)
    }

    /// If each attempt wrapped the closure once more, its call would overflow the stack of the thread.
    @Test func retriesDoNotWrapTheClosureOfAJobAgain() throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 1)
        let ran = ConditionLock(false)
        supply.setExhausted(true)
        pool.runEventually { ran.withLockBroadcasting { $0 = true } }
        for _ in 0..<50_000 { supply.retry() }
        supply.setExhausted(false)
        supply.retry()
        #expect(ran.wait(atMost: .seconds(60)) { $0 ? true : nil } == true)
    }
}
