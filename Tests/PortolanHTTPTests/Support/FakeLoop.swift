// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

@testable import PortolanHTTP

/// A loop whose turns and whose time are the test's.
final class FakeLoop: SerialLoop {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var alarms: [(time: UInt64, alarm: LoadAlarm)] = []
        var now: UInt64 = 1_000_000_000
    }

    private let state = Mutex(State())

    let isInTurn = true
    func enter() -> Bool { true }
    func leave() {}
    var now: UInt64 { state.withLock { $0.now } }

    func execute(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(body) } }

    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> LoadAlarm {
        let alarm = LoadAlarm(body)
        let delay = UInt64(time / .nanoseconds(1))
        state.withLock { $0.alarms.append(($0.now + delay, alarm)) }
        return alarm
    }

    /// Makes all calls that wait, and those that they lead to.
    func run() {
        while true {
            let calls = state.withLock { state in
                defer { state.calls = [] }
                return state.calls
            }
            if calls.isEmpty { return }
            for call in calls { call() }
        }
    }

    func advance(by time: Duration) {
        let due = state.withLock { state in
            state.now += UInt64(time / .nanoseconds(1))
            let due = state.alarms.filter { $0.time <= state.now }.sorted { $0.time < $1.time }
            state.alarms.removeAll { $0.time <= state.now }
            return due
        }
        for (_, alarm) in due { alarm.fire() }
        run()
    }
}
