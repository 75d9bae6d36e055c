// SPDX-License-Identifier: Apache-2.0

/// The clock with the system's monotonic time. One thread waits for the next deadline.
public final class SystemClock: LoadClock {
    public static let shared = SystemClock()

    private struct State {
        var timers = TimerQueue()
        var hasThread = false
    }

    private let lock = ConditionLock(State())
    /// The threads that run the actions of timers, because a long action must not delay later timers.
    private let threads = LoadThreadPool(limit: 64)

    /// For tests only: the clock's thread never ends.
    package init() {}

    public var now: Duration { MonotonicTime.coarseNow }
    public var nanosecondsNow: Int64 { MonotonicTime.coarseNanoseconds }
    public var preciseNanosecondsNow: Int64 { MonotonicTime.nanoseconds }

    public func schedule(_ timer: ScheduledTimer, at deadline: Duration) {
        let (needsThread, isNext) = lock.withLock { state in
            let isNext = state.timers.nextDeadline.map { deadline < $0 } ?? true
            state.timers.insert(timer, at: deadline)
            defer { state.hasThread = true }
            return (!state.hasThread, isNext)
        }
        guard needsThread else {
            // The thread sleeps until the next deadline. Only an earlier deadline has to wake it.
            if isNext { lock.withLockBroadcasting { _ in } }
            return
        }
        do throws(LoadError) {
            try PlatformThread.start { [self] in run() }
        } catch {
            // No timer fires without the thread. The next call tries again to start it.
            lock.withLock { $0.hasThread = false }
        }
    }

    private func fire(_ timer: ScheduledTimer) {
        do throws(LoadError) {
            try threads.run(isNested: true) { timer.fire() }
        } catch {
            timer.fire()
        }
    }

    private func run() {
        while true {
            let next = lock.withLock { $0.timers.nextDeadline } ?? .seconds(3600) + MonotonicTime.now
            let limit = next - MonotonicTime.now
            if limit > .zero {
                _ = lock.wait(atMost: limit) { state in
                    (state.timers.nextDeadline ?? next) < next ? true : nil
                }
            }
            let due = lock.withLock { $0.timers.removeDue(at: MonotonicTime.now) }
            for timer in due where timer.isPending { fire(timer) }
        }
    }
}
