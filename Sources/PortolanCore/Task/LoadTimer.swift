// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The time limits of one task.
final class LoadTimer: Sendable {
    private let clock: any LoadClock
    private let timeouts: Timeouts
    /// In nanoseconds of the clock.
    private let startTime = Atomic<Int64>(notStarted)
    private static let notStarted = Int64.min
    private let lastActivity = Atomic<Int64>(0)
    private let alarm = Mutex<LoadAlarm?>(nil)

    init(clock: any LoadClock, timeouts: Timeouts) {
        self.clock = clock
        self.timeouts = timeouts
    }

    /// Since the start; zero before it.
    var elapsed: Duration {
        let start = startTime.load(ordering: .relaxed)
        return start == Self.notStarted ? .zero : clock.preciseNow - .nanoseconds(start)
    }

    func start(_ task: LoadTask) {
        let now = clock.preciseNow
        startTime.store(now.nanoseconds, ordering: .relaxed)
        lastActivity.store(now.nanoseconds, ordering: .relaxed)
        arm(task, at: nextDeadline(now))
    }

    func noteActivity() {
        guard timeouts.idle != nil else { return }
        lastActivity.store(clock.nanosecondsNow, ordering: .relaxed)
    }

    func stop() {
        let alarm = self.alarm.withLock { alarm in
            defer { alarm = nil }
            return alarm
        }
        alarm?.cancel()
    }

    private func nextDeadline(_ now: Duration) -> Duration? {
        let total = timeouts.total.map { $0 + .nanoseconds(startTime.load(ordering: .relaxed)) }
        let idle = timeouts.idle.map { $0 + .nanoseconds(lastActivity.load(ordering: .relaxed)) }
        guard let total, let idle else { return total ?? idle }
        return min(total, idle)
    }

    private func arm(_ task: LoadTask, at deadline: Duration?) {
        guard let deadline else { return }
        let alarm = LoadAlarm { [self] in expire(task, at: deadline) }
        self.alarm.withLock { $0 = alarm }
        clock.schedule(alarm, at: deadline)
        if task.state == .ended { stop() }
    }

    /// - Parameter deadline: has come, even where the clock is too coarse to say so yet.
    private func expire(_ task: LoadTask, at deadline: Duration) {
        let now = max(clock.now, deadline)
        if let total = timeouts.total, now - .nanoseconds(startTime.load(ordering: .relaxed)) >= total {
            return end(task, "\(task.originalRequest.url.shortDescription) took longer than \(total) in all")
        }
        let waits = task.isWaitingForCaller
        if waits { lastActivity.store(now.nanoseconds, ordering: .relaxed) }
        if !waits, let idle = timeouts.idle, now - .nanoseconds(lastActivity.load(ordering: .relaxed)) >= idle {
            return end(task, "nothing came from \(task.currentRequest.url.shortDescription) for \(idle)")
        }
        arm(task, at: nextDeadline(now))
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
