// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Serializes the calls to a task's delegate, from the task's own load and from nested loads.
///
/// Non-blocking, and no lock is held during a call. Events that come during another call, or while the task is
/// suspended, are queued. The thread that releases the delegate delivers them. Without such events, a delivery costs
/// one exchange before and one after it.
///
/// A run of data costs less: it acquires the delegate once and retains it, so that each later event only reads the
/// flags. Another event of the same load takes the delegate over, because a load's own events never overlap
/// (``EventStateMachine``). Nested loads call ``share()`` once and for all later events. The run of data then has to
/// release the delegate (``endRetention()``) as soon as none of its events is being delivered.
struct DelegateSerializer: ~Copyable, Sendable {
    /// The delegate is acquired.
    private static let busy: UInt8 = 1 << 0
    /// Events are queued. Only a holder of the lock sets `busy` then.
    private static let pending: UInt8 = 1 << 1
    /// The task is suspended.
    private static let suspended: UInt8 = 1 << 2
    /// The end was delivered: nothing follows it. Changed under the lock.
    private static let closed: UInt8 = 1 << 3
    /// A run of data retains the delegate, also between its events. Always set together with `busy`.
    private static let retained: UInt8 = 1 << 4
    /// Nested loads use the delegate, too: a run of data no longer retains it.
    private static let shared: UInt8 = 1 << 5

    private let flags = Atomic<UInt8>(0)
    private let queue = Mutex(DelegateEventQueue())

    /// - Parameter holds: whether the event is data, which may retain the delegate.
    /// - Returns: whether the delegate may be called now. If so, ``release(performing:)`` must follow.
    func tryAcquire(holding holds: Bool = false) -> Bool {
        let seen = flags.load(ordering: .relaxed)
        if seen == Self.busy | Self.retained {
            return holds || exchange(seen, for: Self.busy)
        }
        guard seen & ~Self.shared == 0 else { return false }
        return exchange(seen, for: seen | (holds && seen == 0 ? Self.busy | Self.retained : Self.busy))
    }

    /// The call has returned. Delivers the events that were queued meanwhile, unless a run of data retains the
    /// delegate.
    func release(performing perform: (DelegateEvent) -> Void) {
        let seen = flags.load(ordering: .relaxed)
        guard seen & Self.retained == 0 else { return }
        if seen & ~Self.shared == Self.busy, exchange(seen, for: seen & ~Self.busy) { return }
        while let event = takeOrRelease() { perform(event) }
    }

    private func exchange(_ old: UInt8, for new: UInt8) -> Bool {
        flags.compareExchange(expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed).exchanged
    }

    // MARK: Retention by a run of data

    /// Records that nested loads use the delegate, now and later.
    func share() {
        flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing)
    }

    var isRetained: Bool { flags.load(ordering: .relaxed) & Self.retained != 0 }

    /// Ends the retention by a run of data. Call it only while none of its events is being delivered.
    ///
    /// - Returns: whether this call ended it, and no other one did. If so, ``release(performing:)`` must follow.
    func endRetention() -> Bool {
        guard isRetained else { return false }
        return flags.bitwiseAnd(~Self.retained, ordering: .acquiringAndReleasing).oldValue & Self.retained != 0
    }

    // MARK: Queued events

    /// Queues an event because the delegate could not be acquired.
    ///
    /// - Returns: whether the delegate became free meanwhile. If so, ``release(performing:)`` must follow, as after a
    ///   call.
    func deferEvent(_ event: DelegateEvent) -> Bool {
        let (enters, dropped) = queue.withLock { queue -> (Bool, [DelegateEvent]) in
            let seen = flags.load(ordering: .relaxed)
            guard seen & Self.closed == 0 else { return (false, [event]) }
            let isHeld = seen & Self.suspended != 0
            let dropped = queue.put(event, droppingAtFailure: isHeld)
            let old = flags.bitwiseOr(Self.pending, ordering: .acquiringAndReleasing).oldValue
            return (acquireIfFree(old, isWorthIt: !isHeld || event.ignoresSuspension), dropped)
        }
        withExtendedLifetime(dropped) {}
        return enters
    }

    /// Whether more events wait than any correct load has.
    var isOverfull: Bool { queue.withLock { $0.isOverfull } }

    /// Delivers `error` in place of an end that a suspension holds back, and drops the events before it.
    ///
    /// - Returns: whether the delegate may be called. If so, ``release(performing:)`` must follow.
    func cancelWaitingEnd(_ error: LoadError) -> Bool {
        let (enters, dropped) = queue.withLock { queue -> (Bool, [DelegateEvent]) in
            guard queue.holdsEnd else { return (false, []) }
            let dropped = queue.put(.end(error))
            return (acquireIfFree(flags.load(ordering: .acquiring), isWorthIt: true), dropped)
        }
        withExtendedLifetime(dropped) {}
        return enters
    }

    /// Called before the last delegate call: nothing passes after that.
    func close() {
        let dropped = queue.withLock { queue in
            flags.bitwiseOr(Self.closed, ordering: .relaxed)
            return queue.removeAll()
        }
        withExtendedLifetime(dropped) {}
    }

    /// The task is suspended. From now on all events are queued.
    func beginSuspension() {
        flags.bitwiseOr(Self.suspended, ordering: .acquiringAndReleasing)
    }

    /// The task is no longer suspended.
    ///
    /// - Returns: whether ``release(performing:)`` must follow, and whether responses or data were queued. In that case
    ///   their return values decide how the load continues.
    func endSuspension() -> (enters: Bool, hasDeliveries: Bool) {
        guard flags.load(ordering: .relaxed) & Self.suspended != 0 else { return (false, false) }
        return queue.withLock { queue in
            let old = flags.bitwiseAnd(~Self.suspended, ordering: .acquiringAndReleasing).oldValue
            return (acquireIfFree(old, isWorthIt: !queue.isEmpty), queue.deliveries > 0)
        }
    }

    /// Called with the lock held.
    private func acquireIfFree(_ old: UInt8, isWorthIt: Bool) -> Bool {
        guard isWorthIt, old & Self.busy == 0 else { return false }
        // The delegate must not have been acquired since `old` was read. `pending` prevents that, unless it was not
        // set.
        return flags.bitwiseOr(Self.busy, ordering: .acquiringAndReleasing).oldValue & Self.busy == 0
    }

    private func takeOrRelease() -> DelegateEvent? {
        queue.withLock { queue in
            let isHeld = flags.load(ordering: .acquiring) & Self.suspended != 0
            if let event = queue.take(isSuspended: isHeld) { return event }
            flags.bitwiseAnd(~(Self.busy | (queue.isEmpty ? Self.pending : 0)), ordering: .releasing)
            return nil
        }
    }
}
