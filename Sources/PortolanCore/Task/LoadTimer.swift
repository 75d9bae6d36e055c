// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The timer that enforces the time limits of one task. It also measures the times of the metrics.
struct LoadTimer: ~Copyable, Sendable {
    private let clock: any LoadClock
    private let timeouts: Timeouts
    /// The time of the start in nanoseconds of the clock.
    private let startTime = Atomic<Int64>(notStarted)
    private static let notStarted = Int64.min
    /// The time of the last activity in nanoseconds of the clock.
    private let lastActivity = Atomic<Int64>(0)
    private let schedule = Mutex(Schedule.none)

    enum Schedule {
        case none
        case pending(ScheduledTimer)
        /// The task has ended. No timer is scheduled any more.
        case stopped
    }

    init(clock: any LoadClock, timeouts: Timeouts) {
        self.clock = clock
        self.timeouts = timeouts
    }

    var totalLimit: Duration? { timeouts.total }

    /// The time since the start; zero before the start.
    var elapsed: Duration {
        let start = startTime.load(ordering: .relaxed)
        return start == Self.notStarted ? .zero : .nanoseconds(clock.preciseNanosecondsNow &- start)
    }

    /// Does what ``resetIdleTimer()`` does, and returns ``elapsed``. Reads the clock only once.
    func resetIdleTimerReturningElapsed() -> Duration {
        let now = clock.preciseNanosecondsNow
        lastActivity.store(now, ordering: .relaxed)
        let start = startTime.load(ordering: .relaxed)
        return start == Self.notStarted ? .zero : .nanoseconds(now &- start)
    }

    func start(_ task: LoadTask) {
        let now = clock.preciseNanosecondsNow
        startTime.store(now, ordering: .relaxed)
        lastActivity.store(now, ordering: .relaxed)
        scheduleNextDeadline(task)
    }

    /// Restarts the idle time, and schedules a timer for another attempt. If a timer ended the last attempt, none is
    /// scheduled any more.
    func scheduleAgain(_ task: LoadTask) {
        lastActivity.store(clock.preciseNanosecondsNow, ordering: .relaxed)
        scheduleNextDeadline(task)
    }

    func resetIdleTimer() {
        guard timeouts.idle != nil else { return }
        lastActivity.store(clock.nanosecondsNow, ordering: .relaxed)
    }

    func stop() {
        let previous = schedule.withLock { schedule in
            defer { schedule = .stopped }
            return schedule
        }
        if case .pending(let timer) = previous { timer.cancel() }
    }

    var preciseNow: Duration { .nanoseconds(clock.preciseNanosecondsNow) }

    /// The load begins to wait in a queue, which can have a limit.
    func queueDeadlineChanged(_ task: LoadTask) {
        if task.queueDeadline != nil { scheduleNextDeadline(task) }
    }

    private func nextDeadline(_ task: LoadTask) -> Duration? {
        let total = timeouts.total.map { $0 + .nanoseconds(startTime.load(ordering: .relaxed)) }
        let idle = timeouts.idle.map { $0 + .nanoseconds(lastActivity.load(ordering: .relaxed)) }
        return [total, idle, task.queueDeadline].compactMap(\.self).min()
    }

    /// Schedules a timer for the next deadline, and cancels the previous timer.
    private func scheduleNextDeadline(_ task: LoadTask) {
        let scheduled = schedule.withLock { current -> (timer: ScheduledTimer, deadline: Duration, previous: Schedule)? in
            if case .stopped = current { return nil }
            guard let deadline = nextDeadline(task) else { return nil }
            let (timer, previous) = (ScheduledTimer { [weak task] in task.map { $0.timer.didFire($0) } }, current)
            current = .pending(timer)
            return (timer, deadline, previous)
        }
        guard let scheduled else { return }
        if case .pending(let previous) = scheduled.previous { previous.cancel() }
        clock.schedule(scheduled.timer, at: scheduled.deadline)
    }

    private func didFire(_ task: LoadTask) {
        let now = preciseNow  // because the clock's coarse time can still be before the deadline
        if let total = timeouts.total, now - .nanoseconds(startTime.load(ordering: .relaxed)) >= total {
            return fail(task, "\(task.originalRequest.url.shortDescription) took longer than its limit of \(total)")
        }
        if let wait = task.expiredQueueWait(at: now) { return task.end(with: wait.error) }
        let isWaiting = task.isWaitingForCaller || task.isQueued
        if isWaiting { lastActivity.store(now.nanoseconds, ordering: .relaxed) }
        if !isWaiting, let idle = timeouts.idle, now - .nanoseconds(lastActivity.load(ordering: .relaxed)) >= idle {
            return fail(task, "nothing came from \(task.currentRequest.url.shortDescription) for \(idle)")
        }
        scheduleNextDeadline(task)
    }

    private func fail(_ task: LoadTask, _ problem: String) {
        let wait = task.queueWait?.explanation
        guard let reason = wait?.reason ?? task.stallReason else {
            return task.end(with: LoadError(.timedOut, message: problem, remedy: .raiseTimeout))
        }
        var error = LoadError(.timedOut, message: "\(problem): \(reason)")
        error.remedy = wait?.remedy
        task.end(with: error)
    }
}

extension Timeouts {
    /// Returns these limits. A limit that is `nil` is replaced by the limit of `defaults`.
    func withDefaults(_ defaults: Timeouts) -> Timeouts {
        Timeouts(idle: idle ?? defaults.idle, total: total ?? defaults.total)
    }
}
