// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The threads of ``DeliveryQueue/background``: a few, and more if all of them are blocked.
///
/// Handlers may block until other handlers act, so a fixed number of threads would end in a deadlock. If jobs wait and
/// none has begun for ``patience``, the number of threads is doubled, up to ``mostThreads``. Threads without a job end
/// after a while.
package final class DeliveryThreads: Sendable {
    package static let shared = DeliveryThreads()
    /// The number of jobs that run at once while jobs end quickly.
    package static let usual = 8
    /// The maximum number of threads.
    package static let mostThreads = 512
    private static let patience = Duration.milliseconds(20)

    private let pool = LoadThreadPool(limit: usual)
    private let isWatched = Atomic(false)

    package init() {}

    /// Runs `job` soon, or when a thread is available for it. The call is never lost.
    package func run(_ job: @escaping @Sendable () -> Void) {
        pool.runEventually(job)
        if pool.hasWaiting { watch() }
    }

    package var threadCount: Int { pool.census.threads }

    private func watch() {
        guard !isWatched.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let begun = pool.begunCount
        after(Self.patience) { $0.look(since: begun) }
    }

    private func look(since begun: UInt64) {
        isWatched.store(false, ordering: .releasing)
        if pool.isExhausted, pool.begunCount == begun {
            let (threads, idle) = pool.census
            let busy = threads - idle
            pool.runWaiting(atMost: max(idle, min(busy, Self.mostThreads - busy)))
        }
        // A job that waits for a thread now may wait for a place later.
        if pool.hasWaiting { watch() }
    }

    private func after(_ time: Duration, _ body: @escaping @Sendable (DeliveryThreads) -> Void) {
        let clock = SystemClock.shared
        clock.schedule(ScheduledTimer { [self] in body(self) }, at: clock.now + time)
    }
}
