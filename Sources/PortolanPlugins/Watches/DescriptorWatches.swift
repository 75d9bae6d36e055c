// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The watches and timers of one load. Unless stated otherwise, call the functions only on the thread that is in a call
/// into the load.
package final class DescriptorWatches: ReadinessListener {
    static let limit = 64
    package static let timerLimit = 8

    private struct Watch {
        let wanted: Readiness
        /// Identifies the arming: a discarded watch may already be ready, and its event may arrive late.
        let arming: UInt64
        var noted: Readiness = []
        /// Whether `noted` contains something that the load was not called for.
        var isNews = false
    }

    private struct Timer {
        let alarm: ScheduledTimer
        /// Identifies the setting: a cancelled timer may already be firing.
        let setting: UInt64
        var hasFired = false
        var isNews = false
    }

    private struct State {
        var watches: [CInt: Watch] = [:]
        var timers: [Int32: Timer] = [:]
        var settings: UInt64 = 0
        var armings: UInt64 = 0
        var isOver = false
    }

    private let state = Mutex(State())
    private let poller: DescriptorPoller
    private let clock: any LoadClock
    /// Called when something new is ready. Any thread.
    private let whenReady: @Sendable () -> Void
    /// Called when a watched descriptor was closed. Any thread.
    private let whenClosed: @Sendable (CInt) -> Void

    /// Starts the process-wide threads for watches and timers, so that they exist before the conformance runner counts
    /// threads.
    package static func prepare() {
        DescriptorPoller.shared.prepare()
        // A clock starts its thread with its first timer. This timer fires when nothing counts threads any more.
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
    package func watch(_ descriptor: CInt, for wanted: Readiness) -> CInt {
        let arming = state.withLock { state -> UInt64? in
            guard !state.isOver, state.watches[descriptor] != nil || state.watches.count < Self.limit else { return nil }
            state.armings += 1
            state.watches[descriptor] = Watch(wanted: wanted, arming: state.armings)
            return state.armings
        }
        guard let arming else { return EMFILE }
        // Outside the lock, because the event of a ready descriptor may arrive before this returns.
        let number = poller.arm(descriptor, for: wanted, self, arming)
        if number != 0 { state.withLock { _ = $0.watches.removeValue(forKey: descriptor) } }
        return number
    }

    package func takeReady(_ descriptor: CInt) -> Readiness {
        state.withLock { state in
            let noted = state.watches[descriptor]?.noted ?? []
            state.watches[descriptor]?.noted = []
            state.watches[descriptor]?.isNews = false
            return noted
        }
    }

    package func unwatch(_ descriptor: CInt) {
        guard state.withLock({ $0.watches.removeValue(forKey: descriptor) }) != nil else { return }
        if !poller.disarm(descriptor, self) { whenClosed(descriptor) }
    }

    /// - Parameter delay: in milliseconds; a negative delay cancels the timer.
    package func setTimer(_ timer: Int32, _ delay: Int64) {
        let (old, new) = state.withLock { state -> (ScheduledTimer?, ScheduledTimer?) in
            let old = state.timers.removeValue(forKey: timer)?.alarm
            guard delay >= 0, !state.isOver else { return (old, nil) }
            state.settings += 1
            let alarm = ScheduledTimer { [weak self, setting = state.settings] in self?.fire(timer, setting) }
            state.timers[timer] = Timer(alarm: alarm, setting: state.settings)
            return (old, alarm)
        }
        old?.cancel()
        guard let new else { return }
        // Uses the precise time, because a deadline from the clock's coarse time would be up to some milliseconds
        // early.
        let now = Duration.nanoseconds(clock.preciseNanosecondsNow)
        clock.schedule(new, at: now + .milliseconds(min(delay, Self.longestDelay)))
    }

    /// One year in milliseconds.
    private static let longestDelay: Int64 = 365 * 86_400_000

    package func takeFired(_ timer: Int32) -> Bool {
        state.withLock { state in
            guard state.timers[timer]?.hasFired == true else { return false }
            state.timers[timer] = nil
            return true
        }
    }

    // MARK: Calls by the host

    /// Returns whether the load must be called for new events. Each event is reported once.
    ///
    /// - Parameter isPaused: whether the load is paused. Readable descriptors then wait, and stay new.
    package func takeNews(isPaused: Bool) -> Bool {
        let (hasNews, rearmed) = state.withLock { state in
            var hasNews = false
            var rearmed: [(CInt, UInt64)] = []
            for timer in state.timers.keys where state.timers[timer]?.isNews == true {
                state.timers[timer]?.isNews = false
                hasNews = true
            }
            for (descriptor, watch) in state.watches where watch.isNews {
                if isPaused, !watch.noted.contains(.writable) {
                    // The event for reading has disarmed writing, too, which a pause does not hold back.
                    if watch.wanted.contains(.writable) { rearmed.append((descriptor, watch.arming)) }
                    continue
                }
                state.watches[descriptor]?.isNews = false
                hasNews = true
            }
            return (hasNews, rearmed)
        }
        for (descriptor, arming) in rearmed { _ = poller.arm(descriptor, for: .writable, self, arming) }
        return hasNews
    }

    /// Ends all watches and timers, and accepts no new ones.
    package func giveUp() {
        let (descriptors, alarms) = state.withLock { state in
            defer { (state.watches, state.timers, state.isOver) = ([:], [:], true) }
            return (Array(state.watches.keys), state.timers.values.map(\.alarm))
        }
        for alarm in alarms { alarm.cancel() }
        for descriptor in descriptors where !poller.disarm(descriptor, self) { whenClosed(descriptor) }
    }

    // MARK: Events, on other threads

    package func becameReady(_ descriptor: CInt, _ arming: UInt64, for readiness: Readiness) {
        let isNews = state.withLock { state in
            guard let watch = state.watches[descriptor], watch.arming == arming else { return false }
            let heard = readiness.intersection(watch.wanted.union(.hungUp))
            guard !heard.isEmpty else { return false }
            state.watches[descriptor]?.noted.formUnion(heard)
            state.watches[descriptor]?.isNews = true
            return true
        }
        if isNews { whenReady() }
    }

    package func wasClosed(_ descriptor: CInt, _ arming: UInt64) {
        let isWatched = state.withLock { state in
            // `unwatch` or `giveUp` may have run first.
            guard state.watches[descriptor]?.arming == arming else { return false }
            state.watches[descriptor] = nil
            return true
        }
        if isWatched { whenClosed(descriptor) }
    }

    private func fire(_ timer: Int32, _ setting: UInt64) {
        let isNews = state.withLock { state in
            guard state.timers[timer]?.setting == setting else { return false }
            state.timers[timer]?.hasFired = true
            state.timers[timer]?.isNews = true
            return true
        }
        if isNews { whenReady() }
    }
}
