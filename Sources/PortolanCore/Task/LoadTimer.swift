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
        arm(task, at: nextDeadline)
    }

    func noteActivity() {
        guard timeouts.idle != nil else { return }
        lastActivity.store(clock.nanosecondsNow, ordering: .relaxed)
    }

    func stop() {
        let alarm = self.alarm.withLock { alarm in
            defer { alarm = .stopped }
            return alarm
        }
        if case .set(let alarm) = alarm { alarm.cancel() }
    }

    private var nextDeadline: Duration? {
        let total = timeouts.total.map { $0 + .nanoseconds(startTime.load(ordering: .relaxed)) }
        let idle = timeouts.idle.map { $0 + .nanoseconds(lastActivity.load(ordering: .relaxed)) }
        guard let total, let idle else { return total ?? idle }
        return min(total, idle)
    }

    private func arm(_ task: LoadTask, at deadline: Duration?) {
        guard let deadline else { return }
        let alarm = LoadAlarm { task.timer.expire(task) }
        let isWanted = self.alarm.withLock { old in
            if case .stopped = old { return false }
            old = .set(alarm)
            return true
        }
        if isWanted { clock.schedule(alarm, at: deadline) }
    }

    private func expire(_ task: LoadTask) {
        let now = Duration.nanoseconds(clock.preciseNanosecondsNow)  // where the clock's coarse time has yet to reach the deadline, too
        if let total = timeouts.total, now - .nanoseconds(startTime.load(ordering: .relaxed)) >= total {
            return end(task, "\(task.originalRequest.url.shortDescription) took longer than \(total) in all")
        }
        let waits = task.isWaitingForCaller
        if waits { lastActivity.store(now.nanoseconds, ordering: .relaxed) }
        if !waits, let idle = timeouts.idle, now - .nanoseconds(lastActivity.load(ordering: .relaxed)) >= idle {
            return end(task, "nothing came from \(task.currentRequest.url.shortDescription) for \(idle)")
        }
        arm(task, at: nextDeadline)
    }

    private func end(_ task: LoadTask, _ what: String) {
        let why = task.stallReason.map { ": \($0)" } ?? "; raise the time-out, or try again"
        task.end(with: LoadError(.timedOut, message: what + why))
    }
}

extension Timeouts {
    func filled(by defaults: Timeouts) -> Timeouts {
        Timeouts(idle: idle ?? defaults.idle, total: total ?? defaults.total)
    }
}
