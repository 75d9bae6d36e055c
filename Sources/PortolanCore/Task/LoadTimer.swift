// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The time limits of one task, and the clock of its metrics.
struct LoadTimer: ~Copyable, Sendable {
    private let clock: any LoadClock
    private let timeouts: Timeouts
    /// In nanoseconds of the clock.
    private let startTime = Atomic<Int64>(notStarted)
    private static let notStarted = Int64.min
    private let lastActivity = Atomic<Int64>(0)
    private let alarm = Mutex(Alarm.unset)

    enum Alarm {
        case unset
        case set(ScheduledTimer)
        /// Permanent.
        case stopped
    }

    init(clock: any LoadClock, timeouts: Timeouts) {
        self.clock = clock
        self.timeouts = timeouts
    }

    /// The time since the start; zero before it.
    var elapsed: Duration {
        let start = startTime.load(ordering: .relaxed)
        return start == Self.notStarted ? .zero : .nanoseconds(clock.preciseNanosecondsNow &- start)
    }

    /// Combines ``elapsed`` and ``resetIdleTimer()`` with one reading of the clock.
    func timedActivity() -> Duration {
        let now = clock.preciseNanosecondsNow
        lastActivity.store(now, ordering: .relaxed)
        let start = startTime.load(ordering: .relaxed)
        return start == Self.notStarted ? .zero : .nanoseconds(now &- start)
    }

    func start(_ task: LoadTask) {
        let now = clock.preciseNanosecondsNow
        startTime.store(now, ordering: .relaxed)
        lastActivity.store(now, ordering: .relaxed)
        arm(task)
    }

    func resetIdleTimer() {
        guard timeouts.idle != nil else { return }
        lastActivity.store(clock.nanosecondsNow, ordering: .relaxed)
    }

    func stop() {
        let alarm = alarm.withLock { alarm in
            defer { alarm = .stopped }
            return alarm
        }
        if case .set(let alarm) = alarm { alarm.cancel() }
    }

    var preciseNow: Duration { .nanoseconds(clock.preciseNanosecondsNow) }

    /// The load begins to wait in a queue, which may have a limit.
    func deadlineChanged(_ task: LoadTask) {
        if task.queueDeadline != nil { arm(task) }
    }

    private func nextDeadline(_ task: LoadTask) -> Duration? {
        let total = timeouts.total.map { $0 + .nanoseconds(startTime.load(ordering: .relaxed)) }
        let idle = timeouts.idle.map { $0 + .nanoseconds(lastActivity.load(ordering: .relaxed)) }
        return [total, idle, task.queueDeadline].compactMap(\.self).min()
    }

    /// Sets the timer to the next deadline, and cancels an earlier timer.
    private func arm(_ task: LoadTask) {
        let armed = alarm.withLock { current -> (alarm: ScheduledTimer, deadline: Duration, previous: Alarm)? in
            if case .stopped = current { return nil }
            guard let deadline = nextDeadline(task) else { return nil }
            let (alarm, previous) = (ScheduledTimer { [weak task] in task.map { $0.timer.expire($0) } }, current)
            current = .set(alarm)
            return (alarm, deadline, previous)
        }
        guard let armed else { return }
        if case .set(let previous) = armed.previous { previous.cancel() }
        clock.schedule(armed.alarm, at: armed.deadline)
    }

    private func expire(_ task: LoadTask) {
        let now = preciseNow  // precise, because the clock's coarse time may not have reached the deadline yet
        if let total = timeouts.total, now - .nanoseconds(startTime.load(ordering: .relaxed)) >= total {
            return end(task, "\(task.originalRequest.url.shortDescription) took longer than \(total) in all")
        }
        if let wait = task.expiredQueueWait(at: now) { return task.end(with: wait.error) }
        let waits = task.isWaitingForCaller || task.isQueued
        if waits { lastActivity.store(now.nanoseconds, ordering: .relaxed) }
        if !waits, let idle = timeouts.idle, now - .nanoseconds(lastActivity.load(ordering: .relaxed)) >= idle {
            return end(task, "nothing came from \(task.currentRequest.url.shortDescription) for \(idle)")
        }
        arm(task)
    }

    private func end(_ task: LoadTask, _ what: String) {
        let wait = task.queueWait?.explanation
        guard let reason = wait?.reason ?? task.stallReason else {
            return task.end(with: LoadError(.timedOut, message: what, remedy: .raiseTimeout))
        }
        var error = LoadError(.timedOut, message: "\(what): \(reason)")
        error.remedy = wait?.remedy
        task.end(with: error)
    }
}

extension Timeouts {
    func filled(by defaults: Timeouts) -> Timeouts {
        Timeouts(idle: idle ?? defaults.idle, total: total ?? defaults.total)
    }
}
