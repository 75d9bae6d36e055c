// SPDX-License-Identifier: Apache-2.0

import PortolanCore

@testable import PortolanHTTP
@testable import PortolanTransport

/// A loop whose turns and time the test gives, in one thread.
final class ManualLoop: SerialLoop, @unchecked Sendable {  // … because one thread of a test touches it
    private var work: [@Sendable () -> Void] = []
    private var alarms = AlarmQueue()
    private var time = Duration.seconds(1)

    let isInTurn = true
    func enter() -> Bool { false }
    func leave() {}
    func execute(_ body: @escaping @Sendable () -> Void) { work.append(body) }
    func atEndOfTurn(_ body: @escaping () -> Void) {
        let bound = TurnBound(body)
        execute { bound.value() }
    }

    var now: UInt64 { UInt64(time / .nanoseconds(1)) }

    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> LoadAlarm {
        let alarm = LoadAlarm(body)
        alarms.insert(alarm, at: self.time + time)
        return alarm
    }

    /// Does what was left to do, and what that leaves.
    func run() {
        while !work.isEmpty {
            let now = work
            work = []
            for body in now { body() }
        }
    }

    /// Each alarm fires at its own time.
    func advanceTime(by step: Duration) {
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
