// SPDX-License-Identifier: Apache-2.0

/// The system's monotonic time, with one thread that waits for the next deadline.
public final class SystemClock: LoadClock {
    public static let shared = SystemClock()

    private struct State {
        var alarms = TimerQueue()
        var hasThread = false
    }

    private let monitor = ConditionLock(State())
    /// Runs the actions of timers, which may take a long time and must not delay later timers.
    private let threads = LoadThreadPool(limit: 64)

    /// Clocks other than ``shared`` are for tests: their thread remains as long as the process.
    package init() {}

    public var now: Duration { MonotonicTime.coarseNow }
    public var nanosecondsNow: Int64 { MonotonicTime.coarseNanoseconds }
    public var preciseNanosecondsNow: Int64 { MonotonicTime.nanoseconds }

    public func schedule(_ alarm: ScheduledTimer, at deadline: Duration) {
        let (needsThread, isNext) = monitor.withLock { state in
            let isNext = state.alarms.nextDeadline.map { deadline < $0 } ?? true
            state.alarms.insert(alarm, at: deadline)
            defer { state.hasThread = true }
            return (!state.hasThread, isNext)
        }
        guard needsThread else {
            // The thread sleeps until the next deadline. Only an earlier deadline has to wake it.
            if isNext { monitor.withLockBroadcasting { _ in } }
            return
        }
        do throws(LoadError) {
            try PlatformThread.start { [self] in run() }
        } catch {
            // Without a thread no timer would ever fire. The next call tries again.
            monitor.withLock { $0.hasThread = false }
        }
    }

    private func fire(_ alarm: ScheduledTimer) {
        do throws(LoadError) {
            try threads.run(isNested: true) { alarm.fire() }
        } catch {
            alarm.fire()
        }
    }

    private func run() {
        while true {
            let next = monitor.withLock { $0.alarms.nextDeadline } ?? .seconds(3600) + MonotonicTime.now
            let limit = next - MonotonicTime.now
            if limit > .zero {
                _ = monitor.wait(atMost: limit) { state in
                    (state.alarms.nextDeadline ?? next) < next ? true : nil
                }
            }
            let due = monitor.withLock { $0.alarms.removeDue(at: MonotonicTime.now) }
            for alarm in due where alarm.isPending { fire(alarm) }
        }
    }
}
