// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// Where the loads and connections of some origins have their turns: one at a time, so that none of them needs a lock. Any thread.
protocol SerialLoop: AnyObject, Sendable {
    /// Whether the caller is in a turn just now.
    var isInTurn: Bool { get }
    /// Takes a turn in the calling thread; ``leave()`` ends it.
    ///
    /// - Returns: `false` where it can't be had at once; then the work goes to ``execute(_:)``.
    func enter() -> Bool
    func leave()
    /// Has `body` called in a turn of its own, after those that wait.
    func execute(_ body: @escaping @Sendable () -> Void)
    /// In nanoseconds since an origin of the loop's own; may be some milliseconds coarse.
    var now: UInt64 { get }
    /// Has `body` called in a turn when the time is over, unless the alarm is called off.
    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> LoadAlarm
}

/// An event loop's thread is the only one that has turns.
final class ThreadLoop: SerialLoop {
    let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    var isInTurn: Bool { eventLoop.inEventLoop }
    func enter() -> Bool { false }
    func leave() {}
    func execute(_ body: @escaping @Sendable () -> Void) { eventLoop.execute(body) }
    var now: UInt64 { eventLoop.now.uptimeNanoseconds }

    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> LoadAlarm {
        let alarm = LoadAlarm(body)
        eventLoop.scheduleTask(in: TimeAmount(time)) { alarm.fire() }
        return alarm
    }
}

/// Something that is touched in the turns of one loop only, on its way there.
struct TurnBound<Value>: @unchecked Sendable {  // … because only what has a turn touches the value
    let value: Value

    init(_ value: Value) { self.value = value }
}
