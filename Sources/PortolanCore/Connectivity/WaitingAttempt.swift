// SPDX-License-Identifier: Apache-2.0

/// The next attempt of a task, which waits for its start: it starts at a set time, or earlier if the network changes.
final class WaitingAttempt: Sendable {
    /// The wait after a change. A new link has no address and no route for some time, and changes come in groups.
    private static let delay = Duration.milliseconds(100)

    private let clock: any LoadClock
    private let timer: ScheduledTimer
    private let observer: NetworkChanges.Observer?

    /// - Parameters:
    ///   - changes: if the network changes before the set time, the attempt starts shortly after that change. `nil` if
    ///     only the time starts it.
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
