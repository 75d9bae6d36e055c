// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Runs the loads and connections of some origins, one at a time, so that none of them needs a lock. Any thread.
package protocol EventLoop: AnyObject, Sendable {
    /// Whether the caller runs on the event loop.
    var isOnLoop: Bool { get }
    /// Lets the calling thread run on the event loop until ``leave()``.
    ///
    /// - Returns: `false` if the loop is not free at once. Then pass the work to ``execute(_:)``.
    func enter() -> Bool
    func leave()
    /// Calls `body` separately on the event loop, after the work that waits.
    func execute(_ body: @escaping @Sendable () -> Void)
    /// Calls `body` before the current thread leaves the event loop, in that thread. Call it on the event loop only.
    func atEndOfIteration(_ body: @escaping () -> Void)
    /// The time in nanoseconds since an origin that the loop chooses. It may be some milliseconds coarse.
    var now: UInt64 { get }
    /// Calls `body` on the event loop when the time is over, unless the timer is cancelled.
    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// A value on its way to the one event loop that may touch it.
package struct LoopBound<Value>: @unchecked Sendable {  // … because only code on the event loop touches the value
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
