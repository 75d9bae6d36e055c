// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The watches and timers of one load. Call the functions only during a call into the load, except for those that
/// report events.
package final class DescriptorWatches: ReadinessListener {
    static let limit = 64
    package static let timerLimit = 8

    private struct Watch {
        let requested: Readiness
        /// The number that was passed to the poller. The event of an earlier watch, with another number, can arrive
        /// late.
        let watchNumber: UInt64
        var ready: Readiness = []
        /// Whether `ready` contains an event for which the load was not called.
        var hasNewEvent = false
    }

    private struct Timer {
        let scheduledTimer: ScheduledTimer
        /// Identifies the timer. An earlier timer, with another number, can fire although it was cancelled.
        let identifier: UInt64
        var hasFired = false
        /// Whether the load was not called after the timer fired.
        var hasNewEvent = false
    }

    private struct State {
        var watches: [CInt: Watch] = [:]
        var timers: [Int32: Timer] = [:]
        var lastTimerIdentifier: UInt64 = 0
        var lastWatchNumber: UInt64 = 0
        var isOver = false
    }

    private let state = Mutex(State())
    private let poller: DescriptorPoller
    private let clock: any LoadClock
    /// Called on any thread when something new is ready.
    private let whenReady: @Sendable () -> Void
    /// Called on any thread when a watched descriptor was closed.
    private let whenClosed: @Sendable (CInt) -> Void

    /// Starts the threads for watches and timers of this process, so that the conformance runner can count threads
    /// later.
    package static func prepare() {
        DescriptorPoller.shared.prepare()
        // The clock starts its thread with its first timer.
        SystemClock.shared.schedule(ScheduledTimer {}, at: MonotonicTime.now + .seconds(86_400))
    }

    package init(
        poller: DescriptorPoller = .shared, clock: any LoadClock = SystemClock.shared, whenReady: @escaping @Sendable () -> Void,
        whenClosed: @escaping @Sendable (CInt) -> Void
    ) {
        self.poller = poller
        self.clock = clock
        self.whenReady = whenReady
        self.whenClosed = whenClosed
    }

    // MARK: Calls by the load

    /// - Returns: 0, or an error number of `errno(3)`.
    package func watch(_ descriptor: CInt, for requested: Readiness) -> CInt {
        let watchNumber = state.withLock { state -> UInt64? in
            guard !state.isOver, state.watches[descriptor] != nil || state.watches.count < Self.limit else { return nil }
            state.lastWatchNumber += 1
            state.watches[descriptor] = Watch(requested: requested, watchNumber: state.lastWatchNumber)
            return state.lastWatchNumber
        }
        guard let watchNumber else { return EMFILE }
        // This runs without the lock, because the event of a ready descriptor can arrive before `arm` returns.
        let errorNumber = poller.arm(descriptor, for: requested, self, watchNumber)
        if errorNumber != 0 { state.withLock { _ = $0.watches.removeValue(forKey: descriptor) } }
        return errorNumber
    }

    /// Returns the events of a descriptor since the last call, and clears them.
    package func takeReady(_ descriptor: CInt) -> Readiness {
        state.withLock { state in
            let ready = state.watches[descriptor]?.ready ?? []
            state.watches[descriptor]?.ready = []
            state.watches[descriptor]?.hasNewEvent = false
            return ready
        }
    }

    package func unwatch(_ descriptor: CInt) {
        guard state.withLock({ $0.watches.removeValue(forKey: descriptor) }) != nil else { return }
        if !poller.disarm(descriptor, self) { whenClosed(descriptor) }
    }

    /// - Parameter delay: in milliseconds. A negative delay cancels the timer.
    package func setTimer(_ timer: Int32, _ delay: Int64) {
        let (oldTimer, newTimer) = state.withLock { state -> (ScheduledTimer?, ScheduledTimer?) in
            let oldTimer = state.timers.removeValue(forKey: timer)?.scheduledTimer
            guard delay >= 0, !state.isOver else { return (oldTimer, nil) }
            state.lastTimerIdentifier += 1
            let newTimer = ScheduledTimer { [weak self, identifier = state.lastTimerIdentifier] in self?.fire(timer, identifier) }
            state.timers[timer] = Timer(scheduledTimer: newTimer, identifier: state.lastTimerIdentifier)
            return (oldTimer, newTimer)
        }
        oldTimer?.cancel()
        guard let newTimer else { return }
        // This is the precise time, because a deadline from the coarse time can be some milliseconds too early.
        let now = Duration.nanoseconds(clock.preciseNanosecondsNow)
        clock.schedule(newTimer, at: now + .milliseconds(min(delay, Self.longestDelay)))
    }

    /// One year in milliseconds.
    private static let longestDelay: Int64 = 365 * 86_400_000

    /// Returns whether a timer has fired, and if so, removes it.
    package func takeFired(_ timer: Int32) -> Bool {
        state.withLock { state in
            guard state.timers[timer]?.hasFired == true else { return false }
            state.timers[timer] = nil
            return true
        }
    }

    // MARK: Calls by the host

    /// Returns whether the load must be called for new events. Returns `true` once for each event.
    ///
    /// - Parameter isPaused: whether the load is paused. Then events of readable descriptors wait until it resumes.
    package func takeNewEvents(isPaused: Bool) -> Bool {
        let (hasNewEvent, rearmedWatches) = state.withLock { state in
            var hasNewEvent = false
            var rearmedWatches: [(CInt, UInt64)] = []
            for timer in state.timers.keys where state.timers[timer]?.hasNewEvent == true {
                state.timers[timer]?.hasNewEvent = false
                hasNewEvent = true
            }
            for (descriptor, watch) in state.watches where watch.hasNewEvent {
                if isPaused, !watch.ready.contains(.writable) {
                    // The event for reading has also ended the watch for writing, which must continue during a pause.
                    if watch.requested.contains(.writable) { rearmedWatches.append((descriptor, watch.watchNumber)) }
                    continue
                }
                state.watches[descriptor]?.hasNewEvent = false
                hasNewEvent = true
            }
            return (hasNewEvent, rearmedWatches)
        }
        for (descriptor, watchNumber) in rearmedWatches { _ = poller.arm(descriptor, for: .writable, self, watchNumber) }
        return hasNewEvent
    }

    /// Ends all watches and timers. Later calls add no new ones.
    package func giveUp() {
        let (descriptors, timers) = state.withLock { state in
            defer { (state.watches, state.timers, state.isOver) = ([:], [:], true) }
            return (Array(state.watches.keys), state.timers.values.map(\.scheduledTimer))
        }
        for timer in timers { timer.cancel() }
        for descriptor in descriptors where !poller.disarm(descriptor, self) { whenClosed(descriptor) }
    }

    // MARK: Events, on other threads

    package func becameReady(_ descriptor: CInt, _ watchNumber: UInt64, for readiness: Readiness) {
        let hasNewEvent = state.withLock { state in
            guard let watch = state.watches[descriptor], watch.watchNumber == watchNumber else { return false }
            let newEvents = readiness.intersection(watch.requested.union(.hungUp))
            guard !newEvents.isEmpty else { return false }
            state.watches[descriptor]?.ready.formUnion(newEvents)
            state.watches[descriptor]?.hasNewEvent = true
            return true
        }
        if hasNewEvent { whenReady() }
    }

    package func wasClosed(_ descriptor: CInt, _ watchNumber: UInt64) {
        let isWatched = state.withLock { state in
            // `unwatch` or `giveUp` can have removed the watch.
            guard state.watches[descriptor]?.watchNumber == watchNumber else { return false }
            state.watches[descriptor] = nil
            return true
        }
        if isWatched { whenClosed(descriptor) }
    }

    private func fire(_ timer: Int32, _ identifier: UInt64) {
        let hasNewEvent = state.withLock { state in
            guard state.timers[timer]?.identifier == identifier else { return false }
            state.timers[timer]?.hasFired = true
            state.timers[timer]?.hasNewEvent = true
            return true
        }
        if hasNewEvent { whenReady() }
    }
}
