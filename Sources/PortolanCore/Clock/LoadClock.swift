// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The clock of loads. Tests use their own clock, and advance it.
public protocol LoadClock: Sendable {
    /// The time since the clock's own origin. Never goes back. The resolution may be a few milliseconds.
    var now: Duration { get }

    /// ``now`` in nanoseconds. Read at each event, because arithmetic with `Duration` costs several times as much as
    /// reading the clock.
    var nanosecondsNow: Int64 { get }

    /// The same time with the finest resolution of the clock, for metrics.
    var preciseNanosecondsNow: Int64 { get }

    /// Fires the timer at `deadline`, on one of the clock's threads.
    func schedule(_ alarm: ScheduledTimer, at deadline: Duration)
}

extension LoadClock {
    public var nanosecondsNow: Int64 { now.nanoseconds }
    public var preciseNanosecondsNow: Int64 { nanosecondsNow }
}

extension Duration {
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }
}

/// An action for a later time, unless it is cancelled.
public final class ScheduledTimer: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    public init(_ action: @escaping @Sendable () -> Void) {
        self.action = Mutex(action)
    }

    public var isPending: Bool {
        action.withLock { $0 != nil }
    }

    /// Runs the action, once. Called by clocks.
    public func fire() {
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    /// Cancels the timer. Any thread. The action is released immediately.
    public func cancel() {
        action.withLock { $0 = nil }
    }
}
