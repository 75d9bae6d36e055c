// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PortolanCore
import Synchronization
package import Testing

/// Has the tests of a suite run on threads of their own, so that those which block (for a process, or a server) hold up none of Swift's, of which there
/// are as few as processors: while these wait, no other test's loads go on, and kept connections end idle.
package struct BlockingTests: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(try BlockingExecutor.shared.get()) { try await function() }
    }
}

extension Trait where Self == BlockingTests {
    /// The suite's tests block their threads.
    package static var blocking: Self { BlockingTests() }
}

/// Tasks on four threads, in the order in which they come.
private final class BlockingExecutor: TaskExecutor {
    /// An error where the threads could not be had, which fails each test that needs them.
    static let shared = Result { () throws(LoadError) in try BlockingExecutor() }

    private let jobs = Mutex<[UnownedJob]>([])
    private let count = DispatchSemaphore(value: 0)

    private init() throws(LoadError) {
        for _ in 0..<4 {
            try PlatformThread.start(stackSize: 8 << 20) { [self] in while true { runNext() } }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        count.signal()
    }

    private func runNext() {
        count.wait()
        let job = jobs.withLock { $0.removeFirst() }
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
