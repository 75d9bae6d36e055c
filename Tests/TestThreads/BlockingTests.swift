// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PortolanCore
import Synchronization
package import Testing

/// Runs the tests of a suite on threads outside of Swift's pool, which has only as many threads as processors. Tests
/// that wait for a process or a server would block the pool. Then the loads of other tests would stall, and pooled
/// connections would time out.
package struct BlockingTests: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(try BlockingExecutor.shared.get()) { try await function() }
    }
}

extension Trait where Self == BlockingTests {
    /// For suites whose tests block their threads.
    package static var blocking: Self { BlockingTests() }
}

/// Runs tasks on four threads, in order of arrival.
private final class BlockingExecutor: TaskExecutor {
    /// An error if the threads could not start. The error fails each test that needs the executor.
    static let shared = Result { () throws(LoadError) in try BlockingExecutor() }

    private let jobs = Mutex<[UnownedJob]>([])
    /// Counts the jobs in ``jobs``.
    private let jobCount = DispatchSemaphore(value: 0)

    private init() throws(LoadError) {
        for _ in 0..<4 {
            try PlatformThread.start(stackSize: 8 << 20) { [self] in while true { runNext() } }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobCount.signal()
    }

    private func runNext() {
        jobCount.wait()
        let job = jobs.withLock { $0.removeFirst() }
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
