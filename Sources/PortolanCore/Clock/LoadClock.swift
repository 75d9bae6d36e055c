// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The clock that loads use. A test can use its own clock and control the time.
public protocol LoadClock: Sendable {
    /// The time since the clock's origin. It never decreases. Its resolution can be some milliseconds.
    var now: Duration { get }

    /// ``now`` in nanoseconds. Loads read it at each event, because arithmetic with `Duration` is several times slower
    /// than reading the clock.
    var nanosecondsNow: Int64 { get }

    /// The time in nanoseconds with the best resolution of the clock, for metrics.
    var preciseNanosecondsNow: Int64 { get }

    /// Fires the timer at `deadline`, on one of the clock's threads.
    func schedule(_ timer: ScheduledTimer, at deadline: Duration)
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

/// A timer that runs an action once, unless it is cancelled before.
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

    /// Cancels the timer. Can be called on any thread. The action is released immediately.
    public func cancel() {
        action.withLock { $0 = nil }
    }
}
