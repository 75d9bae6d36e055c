// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// An event loop whose owner runs its work and advances its time, in one thread. For tests and fuzzers without sockets.
package final class InMemoryEventLoop: EventLoop, @unchecked Sendable {  // … because one thread touches it
    private var work: [@Sendable () -> Void] = []
    private var alarms = TimerQueue()
    private var time = Duration.seconds(1)

    package init() {}

    package let isOnLoop = true
    package func enter() -> Bool { false }
    package func leave() {}
    package func execute(_ body: @escaping @Sendable () -> Void) { work.append(body) }
    package func atEndOfIteration(_ body: @escaping () -> Void) {
        let bound = LoopBound(body)
        execute { bound.value() }
    }

    package var now: UInt64 { UInt64(time / .nanoseconds(1)) }

    package func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let alarm = ScheduledTimer(body)
        alarms.insert(alarm, at: self.time + time)
        return alarm
    }

    /// Runs the work that waits, and the work that it adds.
    package func run() {
        while !work.isEmpty {
            let bodies = work
            work = []
            for body in bodies { body() }
        }
    }

    /// Advances time. Each timer fires at its own time.
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
