// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Where the loads and connections of some origins have their turns: one at a time, so that none of them needs a lock. Any thread.
package protocol EventLoop: AnyObject, Sendable {
    /// Whether the caller is in a turn just now.
    var isInTurn: Bool { get }
    /// Takes a turn in the calling thread; ``leave()`` ends it.
    ///
    /// - Returns: `false` where it can't be had at once; then the work goes to ``execute(_:)``.
    func enter() -> Bool
    func leave()
    /// Has `body` called in a turn of its own, after those that wait.
    func execute(_ body: @escaping @Sendable () -> Void)
    /// Has `body` called at the end of the turn, in the thread that has it. In a turn only.
    func atEndOfTurn(_ body: @escaping () -> Void)
    /// In nanoseconds since an origin of the loop's own; may be some milliseconds coarse.
    var now: UInt64 { get }
    /// Has `body` called in a turn when the time is over, unless the alarm is called off.
    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// Something that is touched in the turns of one loop only, on its way there.
package struct TurnBound<Value>: @unchecked Sendable {  // … because only what has a turn touches the value
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
