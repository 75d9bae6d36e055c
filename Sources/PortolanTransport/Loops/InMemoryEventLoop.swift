// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// A loop whose turns and time its owner gives, in one thread: for tests and fuzzers without sockets.
package final class InMemoryEventLoop: EventLoop, @unchecked Sendable {  // … because one thread touches it
    private var work: [@Sendable () -> Void] = []
    private var alarms = TimerQueue()
    private var time = Duration.seconds(1)

    package init() {}

    package let isInTurn = true
    package func enter() -> Bool { false }
    package func leave() {}
    package func execute(_ body: @escaping @Sendable () -> Void) { work.append(body) }
    package func atEndOfTurn(_ body: @escaping () -> Void) {
        let bound = TurnBound(body)
        execute { bound.value() }
    }

    package var now: UInt64 { UInt64(time / .nanoseconds(1)) }

    package func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let alarm = ScheduledTimer(body)
        alarms.insert(alarm, at: self.time + time)
        return alarm
    }

    /// Does what waits for a turn, and what comes of that.
    package func run() {
        while !work.isEmpty {
            let bodies = work
            work = []
            for body in bodies { body() }
        }
    }

    /// Each alarm fires at its own time.
    package func advanceTime(by step: Duration) {
        let end = time + step
        while let next = alarms.nextDeadline, next <= end {
            time = max(time, next)
            for alarm in alarms.removeDue(at: time) { alarm.fire() }
            run()
        }
        time = end
        run()
    }
}
