// SPDX-License-Identifier: Apache-2.0

import PortolanCore
package import Testing

/// Runs the tests of a suite on threads that are theirs: one that waits for another thread holds none of Swift's, of which there may be as few
/// as one, and which what it waits for may need.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadForEachJob.shared) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    package static var ownThread: Self { Self() }
}

/// A task and its children run here, each part between two suspensions on a thread of its own; tasks that nobody waits for run where they always do.
private final class ThreadForEachJob: TaskExecutor {
    static let shared = ThreadForEachJob()
    /// What the main thread has, for tests that recurse.
    private static let stackSize = 8 << 20

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try PlatformThread.start(stackSize: Self.stackSize) { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
            fatalError("no thread for a test: \(error)")
        }
    }
}
