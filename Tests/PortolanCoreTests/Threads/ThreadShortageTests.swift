// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Thread pools while the system can start no threads.
@Suite(.timeLimit(.minutes(2))) struct ThreadShortageTests {
    /// Simulates whether the system can start threads, and counts the attempts to start one.
    private final class ThreadSupply: Sendable {
        private struct State {
            var isExhausted = false
            var attemptCount = 0
        }

        private let state = Mutex(State())
        private static let retryTime = Duration.milliseconds(50)
        let clock = ManualClock()

        func pool(limit: Int) -> LoadThreadPool {
            LoadThreadPool(limit: limit, clock: clock) { [self] threadMain throws(LoadError) in
                let isExhausted = state.withLock { state in
                    state.attemptCount += 1
                    return state.isExhausted
                }
                if isExhausted { throw LoadError(.noResources, message: "no thread") }
                try PlatformThread.start(threadMain)
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
    private struct WaitingJobs {
        let mayReleaseSlots = ConditionLock(false)
        let mayEnd = ConditionLock(false)
        private let waitingCount = ConditionLock(0)
        let endedCount = ConditionLock(0)

        init(in pool: LoadThreadPool) throws {
            let (mayReleaseSlots, mayEnd, waitingCount, endedCount) = (mayReleaseSlots, mayEnd, waitingCount, endedCount)
            let startedCount = ConditionLock(0)
            for _ in 0..<2 {
                try pool.run {
                    startedCount.withLockBroadcasting { $0 += 1 }
                    mayReleaseSlots.wait { $0 ? () : nil }
                    do throws(LoadError) {
                        try LoadWorker.withSlotReleased { () throws(LoadError) in
                            waitingCount.withLockBroadcasting { $0 += 1 }
                            mayEnd.wait { $0 ? () : nil }
                        }
                    } catch { Issue.record("\(error)") }
                    endedCount.withLockBroadcasting { $0 += 1 }
                }
            }
            startedCount.wait { $0 == 2 ? () : nil }
        }

        func releaseSlots() {
            mayReleaseSlots.withLockBroadcasting { $0 = true }
            waitingCount.wait { $0 == 2 ? () : nil }
        }

        func end() {
            mayEnd.withLockBroadcasting { $0 = true }
            endedCount.wait { $0 == 2 ? () : nil }
        }
    }

    /// Two jobs have released their slots and do not end, so that no thread becomes free for the waiting jobs.
    @Test(arguments: [1, 14, 3000]) func waitingJobsRunWhenThreadsCanBeStartedAgain(_ count: Int) throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 2)
        let blockingJobs = try WaitingJobs(in: pool)
        let finishedJobs = ConditionLock(0)
        for _ in 0..<count { try pool.run { finishedJobs.withLockBroadcasting { $0 += 1 } } }
        supply.setExhausted(true)
        blockingJobs.releaseSlots()
        #expect(supply.attemptCount <= 2)
        for _ in 0..<20 { supply.retry() }
        #expect(supply.attemptCount <= 22 && finishedJobs.withLock { $0 } == 0)
        supply.setExhausted(false)
        supply.retry()
        #expect(finishedJobs.wait(atMost: .seconds(60)) { $0 == count ? $0 : nil } == count)
        blockingJobs.end()
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
        let finishedJobs = ConditionLock(false)
        try pool.run { finishedJobs.withLockBroadcasting { $0 = true } }
        #expect(finishedJobs.wait(atMost: .seconds(60)) { $0 ? true : nil } == true)
    }

    /// `runEventually` keeps a job until a thread can be started. All waiting jobs share one attempt at a time.
    @Test(arguments: [false, true]) func waitingJobsOfRunEventuallyRunWhenThreadsCanBeStarted(_ isNested: Bool) throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 2)
        let finishedJobs = ConditionLock<[Int]>([])
        supply.setExhausted(true)
        for number in 0..<1000 { pool.runEventually(isNested: isNested) { finishedJobs.withLockBroadcasting { $0.append(number) } } }
        let attemptCount = supply.attemptCount
        for _ in 0..<100 { supply.retry() }
        #expect(supply.attemptCount == attemptCount + 100 && finishedJobs.withLock { $0.isEmpty })
        supply.setExhausted(false)
        supply.retry()
        #expect(finishedJobs.wait(atMost: .seconds(60)) { $0.count == 1000 ? $0.sorted() : nil } == Array(0..<1000))
        #expect(supply.clock.pendingTimerCount == 0)
    }

    /// A thread that becomes free runs a waiting job before the next attempt to start a thread.
    @Test(arguments: [false, true]) func freeThreadRunsWaitingJobs(_ isNested: Bool) throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 2)
        let (mayEnd, hasStarted, finishedJobs) = (ConditionLock(false), ConditionLock(false), ConditionLock(0))
        try pool.run {
            hasStarted.withLockBroadcasting { $0 = true }
            mayEnd.wait { $0 ? () : nil }
        }
        hasStarted.wait { $0 ? () : nil }
        supply.setExhausted(true)
        for _ in 0..<100 { pool.runEventually(isNested: isNested) { finishedJobs.withLockBroadcasting { $0 += 1 } } }
        mayEnd.withLockBroadcasting { $0 = true }
        #expect(finishedJobs.wait(atMost: .seconds(60)) { $0 == 100 ? $0 : nil } == 100)
        // The remaining retry keeps the pool and the clock in a retain cycle.
        supply.retry()
        #expect(supply.clock.pendingTimerCount == 0)
    }

    /// A closure that each retry wraps once more would overflow the stack of its thread.
    @Test func retriesDoNotWrapTheClosureOfAJobAgain() throws {
        let supply = ThreadSupply()
        let pool = supply.pool(limit: 1)
        let finishedJobs = ConditionLock(false)
        supply.setExhausted(true)
        pool.runEventually { finishedJobs.withLockBroadcasting { $0 = true } }
        for _ in 0..<50_000 { supply.retry() }
        supply.setExhausted(false)
        supply.retry()
        #expect(finishedJobs.wait(atMost: .seconds(60)) { $0 ? true : nil } == true)
    }
}
