// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// A loop whose turns and time its owner gives, in one thread: for fuzzers, which have no sockets.
final class InMemoryLoop: SerialLoop, @unchecked Sendable {  // … because one thread touches it
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

    /// Does what waits for a turn, and what comes of that.
    func run() {
        while !work.isEmpty {
            let bodies = work
            work = []
            for body in bodies { body() }
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
