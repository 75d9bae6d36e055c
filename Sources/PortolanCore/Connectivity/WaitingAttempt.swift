// SPDX-License-Identifier: Apache-2.0

/// The next attempt of a task, until it starts: at a time, or at a change of the network before.
final class WaitingAttempt: Sendable {
    /// The wait after a change. A new link has no address and no route for some time, and changes come in groups.
    private static let delay = Duration.milliseconds(100)

    private let clock: any LoadClock
    private let timer: ScheduledTimer
    private let observer: NetworkChanges.Observer?

    /// - Parameters:
    ///   - changes: also start the attempt at the next change; `nil` for the time alone.
    ///   - start: called once, unless the attempt is cancelled.
    init(on clock: any LoadClock, changes: NetworkChanges?, start: @escaping @Sendable () -> Void) {
        let timer = ScheduledTimer(start)
        (self.clock, self.timer) = (clock, timer)
        observer = changes?.observeNext {
            clock.schedule(ScheduledTimer { timer.fire() }, at: clock.now + Self.delay)
        }
    }

    func schedule(after wait: Duration) { clock.schedule(timer, at: clock.now + wait) }

    func cancel() { timer.cancel() }
}
