// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Runs the loads and connections of some origins. Only one thread at a time runs on the event loop, so they need no
/// locks. Any thread.
package protocol EventLoop: AnyObject, Sendable {
    /// Whether the calling thread runs on the event loop.
    var isOnLoop: Bool { get }
    /// Lets the calling thread run on the event loop until ``leave()``, if no other thread does.
    ///
    /// - Returns: `false` if the event loop is not free. Then pass the work to ``execute(_:)``.
    func tryEnter() -> Bool
    func leave()
    /// Calls `body` on the event loop later, after all work that was passed earlier.
    func execute(_ body: @escaping @Sendable () -> Void)
    /// Calls `body` in the current thread, before that thread leaves the event loop. Call it on the event loop only.
    func atEndOfIteration(_ body: @escaping () -> Void)
    /// The monotonic time in nanoseconds. Its resolution can be some milliseconds.
    var now: UInt64 { get }
    /// Calls `body` on the event loop after this time, unless the timer is cancelled.
    func schedule(after time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// Carries a value to the event loop that uses it.
package struct LoopBound<Value>: @unchecked Sendable {  // … because only code on the event loop uses the value
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
