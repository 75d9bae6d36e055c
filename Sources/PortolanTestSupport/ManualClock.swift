// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// A clock that stands still until a test advances it.
public final class ManualClock: LoadClock {
    private struct State {
        var now = Duration.zero
        var timers = TimerQueue()
    }

    private let state = Mutex(State())

    public init() {}

    public var now: Duration { state.withLock { $0.now } }

    /// The number of pending timers: scheduled, not due yet, and not cancelled.
    public var pendingTimerCount: Int { state.withLock { $0.timers.pendingCount } }

    public func schedule(_ timer: ScheduledTimer, at deadline: Duration) {
        let isDue = state.withLock { state in
            guard deadline > state.now else { return true }
            state.timers.insert(timer, at: deadline)
            return false
        }
        if isDue { timer.fire() }
    }

    /// Advances time by `duration`. Fires each timer that becomes due, at its own time, before it returns.
    public func advance(by duration: Duration) {
        let targetTime = now + duration
        while let timers = removeNextTimers(until: targetTime) {
            for timer in timers { timer.fire() }
        }
    }

    /// Advances time to the next deadline, and removes the timers that are due; `nil` if no deadline is left until
    /// `targetTime`.
    private func removeNextTimers(until targetTime: Duration) -> [ScheduledTimer]? {
        state.withLock { state in
            guard let next = state.timers.nextDeadline, next <= targetTime else {
                state.now = targetTime
                return nil
            }
            state.now = max(state.now, next)
            return state.timers.removeDue(at: state.now)
        }
    }
}
