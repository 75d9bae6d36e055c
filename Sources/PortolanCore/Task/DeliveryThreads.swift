// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The threads of ``DeliveryQueue/background``: a few, and more while all of them are blocked.
///
/// A completion handler can block until another one has run, so a fixed number of threads could cause a deadlock. If
/// jobs wait and none has begun for ``stallTime``, the number of threads is doubled, up to ``maximumThreads``. Threads
/// without a job end after some time.
package final class DeliveryThreads: Sendable {
    package static let shared = DeliveryThreads()
    /// The number of jobs that run at the same time while no job blocks.
    package static let initialLimit = 8
    /// The maximum number of threads.
    package static let maximumThreads = 512
    private static let stallTime = Duration.milliseconds(20)

    private let pool = LoadThreadPool(limit: initialLimit)
    private let isWatched = Atomic(false)

    package init() {}

    /// Runs `job` as soon as a thread is available.
    package func run(_ job: @escaping @Sendable () -> Void) {
        pool.runEventually(job)
        if pool.hasWaitingJobs { watch() }
    }

    package var threadCount: Int { pool.threadCounts.total }

    private func watch() {
        guard !isWatched.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let initialJobCount = pool.startedJobCount
        after(Self.stallTime) { $0.addThreadsIfStalled(since: initialJobCount) }
    }

    private func addThreadsIfStalled(since initialJobCount: UInt64) {
        isWatched.store(false, ordering: .releasing)
        if pool.isExhausted, pool.startedJobCount == initialJobCount {
            let (threads, idle) = pool.threadCounts
            let busy = threads - idle
            pool.runWaitingJobsWithoutSlots(atMost: max(idle, min(busy, Self.maximumThreads - busy)))
        }
        // A job that waits for a thread now can wait for a slot later.
        if pool.hasWaitingJobs { watch() }
    }

    private func after(_ time: Duration, _ action: @escaping @Sendable (DeliveryThreads) -> Void) {
        let clock = SystemClock.shared
        clock.schedule(ScheduledTimer { [self] in action(self) }, at: clock.now + time)
    }
}
