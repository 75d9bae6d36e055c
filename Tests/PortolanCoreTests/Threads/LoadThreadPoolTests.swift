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
    @Test func noMoreJobsThanTheLimitRunAtOnce() throws {
        let threads = LoadThreadPool(limit: 3)
        let counts = ConditionLock((running: 0, most: 0, done: 0, isOpen: false))
        for _ in 0..<100 {
            try threads.run {
                counts.withLockBroadcasting {
                    $0.running += 1
                    $0.most = max($0.most, $0.running)
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
        let most = counts.wait { $0.done == 100 ? $0.most : nil }
        #expect(most == 3)
    }

    @Test func aNestedJobNeverWaitsForAPlace() throws {
        let threads = LoadThreadPool(limit: 2)
        let done = ConditionLock(0)
        for _ in 0..<50 {
            try threads.run {
                let inner = ConditionLock(false)
                try? threads.run(isNested: true) { inner.withLockBroadcasting { $0 = true } }
                _ = inner.wait { $0 ? true : nil }
                done.withLockBroadcasting { $0 += 1 }
            }
        }
        #expect(done.wait { $0 == 50 ? 50 : nil } == 50)
    }

    /// The pool is not exhausted while a job only waits for the start of its thread. A time-out must not blame such a
    /// wait on other jobs.
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

    @Test func jobThatWaitsForALoadReleasesItsPlace() throws {
        let threads = LoadThreadPool(limit: 1)
        let done = ConditionLock<[String]>([])
        let isOpen = ConditionLock(false)
        try threads.run {
            try? LoadWorker.waiting { () throws(LoadError) in isOpen.wait { $0 ? () : nil } }
            done.withLockBroadcasting { $0.append("first") }
        }
        try threads.run {
            done.withLockBroadcasting { $0.append("second") }
            isOpen.withLockBroadcasting { $0 = true }
        }
        #expect(done.wait(atMost: .seconds(60)) { $0.count == 2 ? $0 : nil } == ["second", "first"])
        // Afterwards the pool runs no more jobs at once than before.
        wait { threads.census.idle == threads.census.threads }
        let hold = ConditionLock(false)
        let begun = ConditionLock(0)
        for _ in 0..<2 {
            try threads.run {
                begun.withLockBroadcasting { $0 += 1 }
                hold.wait { $0 ? () : nil }
            }
        }
        begun.wait { $0 == 1 ? () : nil }
        #expect(threads.isExhausted)
        hold.withLockBroadcasting { $0 = true }
        begun.wait { $0 == 2 ? () : nil }
    }

    @Test func noMoreJobsThanTheLimitWaitForLoads() throws {
        let threads = LoadThreadPool(limit: 1)
        let counts = ConditionLock((waiting: 0, refused: 0, isOpen: false))
        for _ in 0...LoadThreadPool.mostWaiting {
            try threads.run {
                do throws(LoadError) {
                    try LoadWorker.waiting { () throws(LoadError) in
                        counts.withLockBroadcasting { $0.waiting += 1 }
                        counts.wait { $0.isOpen ? () : nil }
                    }
                } catch {
                    counts.withLockBroadcasting { if error.code == .noResources { $0.refused += 1 } }
                }
            }
        }
        #expect(counts.wait(atMost: .seconds(60)) { $0.refused == 1 && $0.waiting == LoadThreadPool.mostWaiting ? true : nil } == true)
        counts.withLockBroadcasting { $0.isOpen = true }
    }

    @Test func idleThreadsAreUsedAgain() throws {
        let threads = LoadThreadPool(limit: 4, idleTime: .seconds(1000))
        for _ in 1...100 {
            try threads.run {}
            wait { threads.census.idle == 1 }
        }
        #expect(threads.census.threads == 1)
    }

    @Test func idleThreadsEnd() throws {
        let threads = LoadThreadPool(limit: 4, idleTime: .zero)
        let isOpen = ConditionLock(false)
        for isNested in [false, true, false] { try threads.run(isNested: isNested) { isOpen.wait { $0 ? () : nil } } }
        #expect(threads.census.threads == 3)
        isOpen.withLockBroadcasting { $0 = true }
        wait { threads.census.threads == 0 }
        #expect(threads.census == (0, 0))
    }

    /// Yields to other threads until the condition holds, for at most 30 seconds. After that the expectations of the
    /// test fail.
    private func wait(until condition: () -> Bool) {
        let deadline = MonotonicTime.now + .seconds(30)
        while !condition(), MonotonicTime.now < deadline { sched_yield() }
    }
}

@Suite(.timeLimit(.minutes(2))) struct SerialCallsTests {
    @Test func aCallSubmittedWithinACallComesAfterIt() {
        let calls = SerialCalls()
        let log = Mutex<[String]>([])
        calls.submit(.start) { call in
            log.withLock { $0.append("begin \(call.rawValue)") }
            if call == .start {
                calls.submit(.resume) { _ in Issue.record("performed by the wrong caller") }
                calls.submit(.resume) { _ in Issue.record("performed by the wrong caller") }
            }
            log.withLock { $0.append("end \(call.rawValue)") }
        }
        #expect(log.withLock { $0 } == ["begin 2", "end 2", "begin 4", "end 4"])
    }

    @Test func callsNeverOverlapAndNoneIsLost() async {
        let shared = Shared()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<10_000 { shared.submitOne() } } }
        }
        #expect(shared.overlaps.load(ordering: .relaxed) == 0)
        #expect(shared.seenAfterLast)
    }

    private final class Shared: Sendable {
        let calls = SerialCalls()
        let inside = Atomic(0)
        let overlaps = Atomic(0)
        let submitted = Atomic(0)
        let seen = Atomic(0)

        func submitOne() {
            submitted.add(1, ordering: .sequentiallyConsistent)
            calls.submit(.resume) { _ in
                if inside.add(1, ordering: .sequentiallyConsistent).newValue != 1 { overlaps.add(1, ordering: .relaxed) }
                seen.store(submitted.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
                inside.subtract(1, ordering: .sequentiallyConsistent)
            }
        }

        /// Whether the last call came after all submissions.
        var seenAfterLast: Bool { seen.load(ordering: .sequentiallyConsistent) == submitted.load(ordering: .sequentiallyConsistent) }
    }
}
