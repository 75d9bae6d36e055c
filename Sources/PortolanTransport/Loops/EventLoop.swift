// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Runs the loads and connections of some origins. Only one thread at a time runs on the event loop, so loads and
/// connections need no locks. Any thread can call the methods whose descriptions name no other condition.
package protocol EventLoop: AnyObject, Sendable {
    /// Whether the calling thread runs on the event loop.
    var isOnLoop: Bool { get }
    /// Lets the calling thread run on the event loop until ``leave()``, if no other thread does.
    ///
    /// - Returns: `false` if the event loop is not free. Then pass the operation to ``execute(_:)``.
    func tryEnter() -> Bool
    /// Lets other threads run on the event loop. The calling thread must run on it.
    func leave()
    /// Calls `operation` on the event loop later, after all operations that were passed earlier.
    func execute(_ operation: @escaping @Sendable () -> Void)
    /// Calls `operation` in the current thread, before that thread leaves the event loop. Call this method on the event
    /// loop only.
    func atEndOfIteration(_ operation: @escaping () -> Void)
    /// The monotonic time in nanoseconds. Its resolution can be some milliseconds.
    var now: UInt64 { get }
    /// Calls `operation` on the event loop after this time, unless the timer is cancelled. Call this method on the
    /// event loop only.
    func schedule(after time: Duration, _ operation: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// Carries a value to the event loop that uses it.
package struct LoopBound<Value>: @unchecked Sendable {  // … because only code on the event loop uses the value
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
