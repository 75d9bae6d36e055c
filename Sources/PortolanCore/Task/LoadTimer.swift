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
    private let state = Mutex(State())

    struct State {
        var alarm = Alarm.unset
        /// When the load's time in a queue is over; `nil` while it waits in none, or in one without a limit.
        var queueDeadline: Duration?
    }

    enum Alarm {
        case unset
        case set(LoadAlarm)
        /// For good.
        case stopped
    }

    init(clock: any LoadClock, timeouts: Timeouts) {
        self.clock = clock
        self.timeouts = timeouts
    }

    /// Since the start; zero before it.
    var elapsed: Duration {
        let start = startTime.load(ordering: .relaxed)
        return start == Self.notStarted ? .zero : .nanoseconds(clock.preciseNanosecondsNow &- start)
    }

    /// As ``elapsed`` and ``noteActivity()``, with one look at the clock.
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

    func noteActivity() {
        guard timeouts.idle != nil else { return }
        lastActivity.store(clock.nanosecondsNow, ordering: .relaxed)
    }

    func stop() {
        let alarm = state.withLock { state in
            defer { state.alarm = .stopped }
            return state.alarm
        }
        if case .set(let alarm) = alarm { alarm.cancel() }
    }

    /// The load waits in a queue from now on, for so long at most; `nil`: without a limit, or no longer.
    func limitQueue(to limit: Duration?, _ task: LoadTask) {
        let deadline = limit.map { $0 + .nanoseconds(clock.preciseNanosecondsNow) }
        state.withLock { $0.queueDeadline = deadline }
        if deadline != nil { arm(task) }
    }

    private func nextDeadline(_ queueDeadline: Duration?) -> Duration? {
        let total = timeouts.total.map { $0 + .nanoseconds(startTime.load(ordering: .relaxed)) }
        let idle = timeouts.idle.map { $0 + .nanoseconds(lastActivity.load(ordering: .relaxed)) }
        return [total, idle, queueDeadline].compactMap(\.self).min()
    }

    /// Sets the alarm to the next deadline; an earlier alarm is called off.
    private func arm(_ task: LoadTask) {
        let armed = state.withLock { state -> (alarm: LoadAlarm, deadline: Duration, previous: Alarm)? in
            if case .stopped = state.alarm { return nil }
            guard let deadline = nextDeadline(state.queueDeadline) else { return nil }
            let (alarm, previous) = (LoadAlarm { [weak task] in task.map { $0.timer.expire($0) } }, state.alarm)
            state.alarm = .set(alarm)
            return (alarm, deadline, previous)
        }
        guard let armed else { return }
        if case .set(let previous) = armed.previous { previous.cancel() }
        clock.schedule(armed.alarm, at: armed.deadline)
    }

    private func expire(_ task: LoadTask) {
        let now = Duration.nanoseconds(clock.preciseNanosecondsNow)  // where the clock's coarse time has yet to reach the deadline, too
        if let total = timeouts.total, now - .nanoseconds(startTime.load(ordering: .relaxed)) >= total {
            return end(task, "\(task.originalRequest.url.shortDescription) took longer than \(total) in all")
        }
        let queueIsOver = state.withLock { state in
            guard let deadline = state.queueDeadline, now >= deadline else { return false }
            state.queueDeadline = nil
            return true
        }
        if queueIsOver, let wait = task.queueWait { return task.end(with: wait.error) }
        let waits = task.isWaitingForCaller || task.isQueued
        if waits { lastActivity.store(now.nanoseconds, ordering: .relaxed) }
        if !waits, let idle = timeouts.idle, now - .nanoseconds(lastActivity.load(ordering: .relaxed)) >= idle {
            return end(task, "nothing came from \(task.currentRequest.url.shortDescription) for \(idle)")
        }
        arm(task)
    }

    private func end(_ task: LoadTask, _ what: String) {
        guard let reason = task.stallReason else {
            return task.end(with: LoadError(.timedOut, message: what, remedy: .raiseTimeout))
        }
        var error = LoadError(.timedOut, message: "\(what): \(reason)")
        error.remedy = task.queueWait?.remedy
        task.end(with: error)
    }
}

extension Timeouts {
    func filled(by defaults: Timeouts) -> Timeouts {
        Timeouts(idle: idle ?? defaults.idle, total: total ?? defaults.total)
    }
}
