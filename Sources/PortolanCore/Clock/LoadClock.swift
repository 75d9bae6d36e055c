// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The time that loads go by: tests have one of their own, and move it.
public protocol LoadClock: Sendable {
    /// Time since an origin of the clock's own; never goes back. May be a few milliseconds coarse.
    var now: Duration { get }

    /// ``now`` in nanoseconds, which is asked at each event: arithmetic with `Duration` costs several times what the clock does.
    var nanosecondsNow: Int64 { get }

    /// The same time, as finely as the clock can say it: for metrics.
    var preciseNanosecondsNow: Int64 { get }

    /// Calls the alarm's action when `deadline` has come, on a thread of the clock's.
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

/// Something to do at a time, unless it is called off.
public final class ScheduledTimer: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    public init(_ action: @escaping @Sendable () -> Void) {
        self.action = Mutex(action)
    }

    public var isPending: Bool {
        action.withLock { $0 != nil }
    }

    /// For clocks: does it, once.
    public func fire() {
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    /// Any thread. The action is let go of at once.
    public func cancel() {
        action.withLock { $0 = nil }
    }
}
