// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite(.timeLimit(.minutes(2))) struct LoadThreadPoolTests {
    @Test func noMoreJobsThanTheLimitRunConcurrently() throws {
        let threads = LoadThreadPool(limit: 3)
        let counts = ConditionLock((running: 0, maximum: 0, done: 0, isOpen: false))
        for _ in 0..<100 {
            try threads.run {
                counts.withLockBroadcasting {
                    $0.running += 1
                    $0.maximum = max($0.maximum, $0.running)
                }
                // No job ends before all jobs were submitted, so that the pool reaches its limit.
                _ = counts.wait { $0.isOpen ? true : nil }
                counts.withLockBroadcasting {
                    $0.running -= 1
                    $0.done += 1
                }
            }
        }
        _ = counts.wait { $0.running >= 3 ? true : nil }
        counts.withLockBroadcasting { $0.isOpen = true }
        let maximum = counts.wait { $0.done == 100 ? $0.maximum : nil }
        #expect(maximum == 3)
    }

    @Test func aNestedJobNeverWaitsForASlot() throws {
        let threads = LoadThreadPool(limit: 2)
        let done = ConditionLock(0)
        for _ in 0..<50 {
            try threads.run {
                let nestedJobHasRun = ConditionLock(false)
                try? threads.run(isNested: true) { nestedJobHasRun.withLockBroadcasting { $0 = true } }
                _ = nestedJobHasRun.wait { $0 ? true : nil }
                done.withLockBroadcasting { $0 += 1 }
            }
        }
        #expect(done.wait { $0 == 50 ? 50 : nil } == 50)
    }

    /// A job that only waits for the start of its thread does not make the pool exhausted. Otherwise, the message of a
    /// time-out would say that other jobs occupy the pool.
    @Test func poolIsExhaustedOnlyIfAJobWaitsForOthers() throws {
        let threads = LoadThreadPool(limit: 2)
        let isOpen = ConditionLock(false)
        let running = ConditionLock(0)
        for _ in 0..<2 {
            #expect(!threads.isExhausted)
            try threads.run {
                running.withLockBroadcasting { $0 += 1 }
                isOpen.wait { $0 ? () : nil }
            }
        }
        running.wait { $0 == 2 ? () : nil }
        #expect(!threads.isExhausted)
        try threads.run { running.withLockBroadcasting { $0 += 1 } }
        #expect(threads.isExhausted)
        isOpen.withLockBroadcasting { $0 = true }
        running.wait { $0 == 3 ? () : nil }
        #expect(!threads.isExhausted)
    }

    @Test func jobThatWaitsForALoadReleasesItsSlot() throws {
        let threads = LoadThreadPool(limit: 1)
        let done = ConditionLock<[String]>([])
        let isOpen = ConditionLock(false)
        try threads.run {
            try? LoadWorker.withSlotReleased { () throws(LoadError) in isOpen.wait { $0 ? () : nil } }
            done.withLockBroadcasting { $0.append("first") }
        }
        try threads.run {
            done.withLockBroadcasting { $0.append("second") }
            isOpen.withLockBroadcasting { $0 = true }
        }
        #expect(done.wait(atMost: .seconds(60)) { $0.count == 2 ? $0 : nil } == ["second", "first"])
        // The limit still applies after the slot was released and acquired again.
        wait { threads.threadCounts.idle == threads.threadCounts.total }
        let isReleased = ConditionLock(false)
        let startedCount = ConditionLock(0)
        for _ in 0..<2 {
            try threads.run {
                startedCount.withLockBroadcasting { $0 += 1 }
                isReleased.wait { $0 ? () : nil }
            }
        }
        startedCount.wait { $0 == 1 ? () : nil }
        #expect(threads.isExhausted)
        isReleased.withLockBroadcasting { $0 = true }
        startedCount.wait { $0 == 2 ? () : nil }
    }

    @Test func noMoreJobsThanTheLimitWaitForLoads() throws {
        let threads = LoadThreadPool(limit: 1)
        let counts = ConditionLock((waiting: 0, failed: 0, isOpen: false))
        for _ in 0...LoadThreadPool.maximumWaitingForLoads {
            try threads.run {
                do throws(LoadError) {
                    try LoadWorker.withSlotReleased { () throws(LoadError) in
                        counts.withLockBroadcasting { $0.waiting += 1 }
                        counts.wait { $0.isOpen ? () : nil }
                    }
                } catch {
                    counts.withLockBroadcasting { if error.code == .noResources { $0.failed += 1 } }
                }
            }
        }
        #expect(
            counts.wait(atMost: .seconds(60)) { $0.failed == 1 && $0.waiting == LoadThreadPool.maximumWaitingForLoads ? true : nil }
                == true)
        counts.withLockBroadcasting { $0.isOpen = true }
    }

    @Test func idleThreadsAreUsedAgain() throws {
        let threads = LoadThreadPool(limit: 4, idleTime: .seconds(1000))
        for _ in 1...100 {
            try threads.run {}
            wait { threads.threadCounts.idle == 1 }
        }
        #expect(threads.threadCounts.total == 1)
    }

    @Test func idleThreadsEnd() throws {
        let threads = LoadThreadPool(limit: 4, idleTime: .zero)
        let isOpen = ConditionLock(false)
        for isNested in [false, true, false] { try threads.run(isNested: isNested) { isOpen.wait { $0 ? () : nil } } }
        #expect(threads.threadCounts.total == 3)
        isOpen.withLockBroadcasting { $0 = true }
        wait { threads.threadCounts.total == 0 }
        #expect(threads.threadCounts == (0, 0))
    }

    /// Waits until the condition holds, for at most 30 seconds. After that, the expectations of the test fail.
    private func wait(until condition: () -> Bool) {
        let deadline = MonotonicTime.now + .seconds(30)
        while !condition(), MonotonicTime.now < deadline { sched_yield() }
    }
}

@Suite(.timeLimit(.minutes(2))) struct SerialCallsTests {
    @Test func aCallSubmittedDuringACallIsPerformedAfterIt() {
        let calls = SerialCalls()
        let log = Mutex<[String]>([])
        calls.submit(.start) { call in
            log.withLock { $0.append("begin \(call.rawValue)") }
            if call == .start {
                calls.submit(.resume) { _ in Issue.record("performed by the nested submit") }
                calls.submit(.resume) { _ in Issue.record("performed by the nested submit") }
            }
            log.withLock { $0.append("end \(call.rawValue)") }
        }
        #expect(log.withLock { $0 } == ["begin 2", "end 2", "begin 4", "end 4"])
    }

    @Test func callsNeverOverlapAndNoCallIsLost() async {
        let counter = CallCounter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<10_000 { counter.submitOne() } } }
        }
        #expect(counter.overlapCount.load(ordering: .relaxed) == 0)
        #expect(counter.lastCallSawAllSubmissions)
    }

    private final class CallCounter: Sendable {
        let calls = SerialCalls()
        let runningCount = Atomic(0)
        let overlapCount = Atomic(0)
        let submissionCount = Atomic(0)
        /// The number of submissions when the last call ran.
        let submissionCountAtLastCall = Atomic(0)

        func submitOne() {
            submissionCount.add(1, ordering: .sequentiallyConsistent)
            calls.submit(.resume) { _ in
                if runningCount.add(1, ordering: .sequentiallyConsistent).newValue != 1 { overlapCount.add(1, ordering: .relaxed) }
                submissionCountAtLastCall.store(submissionCount.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
                runningCount.subtract(1, ordering: .sequentiallyConsistent)
            }
        }

        /// Whether the last call came after all submissions.
        var lastCallSawAllSubmissions: Bool {
            submissionCountAtLastCall.load(ordering: .sequentiallyConsistent) == submissionCount.load(ordering: .sequentiallyConsistent)
        }
    }
}
