// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// A clock that stands still until a test advances it.
public final class ManualClock: LoadClock {
    private struct State {
        var now = Duration.zero
        var alarms = TimerQueue()
    }

    private let state = Mutex(State())

    public init() {}

    public var now: Duration { state.withLock { $0.now } }

    /// The number of pending alarms: scheduled, not due yet, and not cancelled.
    public var pendingAlarmCount: Int { state.withLock { $0.alarms.pendingCount } }

    public func schedule(_ alarm: ScheduledTimer, at deadline: Duration) {
        let isDue = state.withLock { state in
            guard deadline > state.now else { return true }
            state.alarms.insert(alarm, at: deadline)
            return false
        }
        if isDue { alarm.fire() }
    }

    /// Advances time by `duration`. Fires each alarm that falls due, at its own time, before it returns.
    public func advance(by duration: Duration) {
        let end = now + duration
        while let alarms = takeNext(until: end) {
            for alarm in alarms { alarm.fire() }
        }
    }

    private func takeNext(until end: Duration) -> [ScheduledTimer]? {
        state.withLock { state in
            guard let next = state.alarms.nextDeadline, next <= end else {
                state.now = end
                return nil
            }
            state.now = max(state.now, next)
            return state.alarms.removeDue(at: state.now)
        }
    }
}
