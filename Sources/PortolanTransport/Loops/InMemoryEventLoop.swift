// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// An event loop for tests and fuzzers without sockets. The owner runs its work and advances its time, in one thread.
package final class InMemoryEventLoop: EventLoop, @unchecked Sendable {  // … because only one thread uses it
    private var pendingOperations: [@Sendable () -> Void] = []
    private var timers = TimerQueue()
    private var time = Duration.seconds(1)

    package init() {}

    package let isOnLoop = true
    package func tryEnter() -> Bool { false }
    package func leave() {}
    package func execute(_ operation: @escaping @Sendable () -> Void) { pendingOperations.append(operation) }
    package func atEndOfIteration(_ operation: @escaping () -> Void) {
        let bound = LoopBound(operation)
        execute { bound.value() }
    }

    package var now: UInt64 { UInt64(time / .nanoseconds(1)) }

    package func schedule(after time: Duration, _ operation: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let timer = ScheduledTimer(operation)
        timers.insert(timer, at: self.time + time)
        return timer
    }

    /// Runs all pending operations, including those that are added during the call.
    package func run() {
        while !pendingOperations.isEmpty {
            let operations = pendingOperations
            pendingOperations = []
            for operation in operations { operation() }
        }
    }

    /// Advances the time, and fires the timers in their order.
    package func advanceTime(by step: Duration) {
        let end = time + step
        while let next = timers.nextDeadline, next <= end {
            time = max(time, next)
            for timer in timers.removeDue(at: time) { timer.fire() }
            run()
        }
        time = end
        run()
    }
}
