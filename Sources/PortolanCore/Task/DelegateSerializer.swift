// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets one call at a time through to a task's delegate, whichever load asks for it: the task's own, or one inside it.
///
/// Nobody waits, and no lock is held during a call: what comes during another call, or while the task is suspended, is put off, and told by
/// whoever leaves. Without any of that an event costs one exchange before and one after its delivery.
///
/// A run of data costs less: it enters once and holds, so that each event after the first only looks. Another event of the same load takes
/// the gate over, for a load's own events never overlap (``EventStateMachine``). Whoever else wants in asks with ``share()``, and for good: then
/// the run is made to leave (``endRetention()``) when none of its events is with the delegate.
struct DelegateSerializer: ~Copyable, Sendable {
    /// A call is with the delegate.
    private static let busy: UInt8 = 1 << 0
    /// Something was put off. Only a holder of the lock sets `busy` then.
    private static let pending: UInt8 = 1 << 1
    /// The task is suspended.
    private static let suspended: UInt8 = 1 << 2
    /// The end was told: nothing comes after it. Changed with the lock.
    private static let closed: UInt8 = 1 << 3
    /// A run of data holds in, also between its events; always with `busy`.
    private static let retained: UInt8 = 1 << 4
    /// Others than the load itself want in at times: no run of data holds in any more.
    private static let shared: UInt8 = 1 << 5

    private let flags = Atomic<UInt8>(0)
    private let queue = Mutex(DelegateEventQueue())

    /// - Parameter holds: whether what enters is data, which may stay in.
    /// - Returns: whether the delegate may be called now; then ``release(performing:)`` must follow.
    func tryAcquire(holding holds: Bool = false) -> Bool {
        let seen = flags.load(ordering: .relaxed)
        if seen == Self.busy | Self.retained {
            return holds || exchange(seen, for: Self.busy)
        }
        guard seen & ~Self.shared == 0 else { return false }
        return exchange(seen, for: seen | (holds && seen == 0 ? Self.busy | Self.retained : Self.busy))
    }

    /// The call has returned: tells what was put off meanwhile, unless the event holds in.
    func release(performing perform: (DelegateEvent) -> Void) {
        let seen = flags.load(ordering: .relaxed)
        guard seen & Self.retained == 0 else { return }
        if seen & ~Self.shared == Self.busy, exchange(seen, for: seen & ~Self.busy) { return }
        while let event = takeOrRelease() { perform(event) }
    }

    private func exchange(_ old: UInt8, for new: UInt8) -> Bool {
        flags.compareExchange(expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed).exchanged
    }

    // MARK: A run of data that holds in

    /// Others want in, now and later.
    func share() {
        flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing)
    }

    var isRetained: Bool { flags.load(ordering: .relaxed) & Self.retained != 0 }

    /// Ends the stay of a run of data. Only while none of its events is with the delegate.
    ///
    /// - Returns: whether this ended it, and nobody else: then ``release(performing:)`` must follow.
    func endRetention() -> Bool {
        guard isRetained else { return false }
        return flags.bitwiseAnd(~Self.retained, ordering: .acquiringAndReleasing).oldValue & Self.retained != 0
    }

    // MARK: What is put off

    /// Keeps an event that found the gate shut.
    ///
    /// - Returns: whether it opened meanwhile: then ``release(performing:)`` must follow, as after a call.
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

    /// Whether more waits than a sound load ever has.
    var isOverfull: Bool { queue.withLock { $0.isOverfull } }

    /// Tells of `error` in place of an end that a suspension holds back, and of all that waits before it.
    ///
    /// - Returns: whether the delegate may be called: then ``release(performing:)`` must follow.
    func cancelWaitingEnd(_ error: LoadError) -> Bool {
        let (enters, dropped) = queue.withLock { queue -> (Bool, [DelegateEvent]) in
            guard queue.holdsEnd else { return (false, []) }
            let dropped = queue.put(.end(error))
            return (acquireIfFree(flags.load(ordering: .acquiring), isWorthIt: true), dropped)
        }
        withExtendedLifetime(dropped) {}
        return enters
    }

    /// From inside the last call: nothing passes after it.
    func close() {
        let dropped = queue.withLock { queue in
            flags.bitwiseOr(Self.closed, ordering: .relaxed)
            return queue.removeAll()
        }
        withExtendedLifetime(dropped) {}
    }

    /// The task is suspended: from now on everything is put off.
    func beginSuspension() {
        flags.bitwiseOr(Self.suspended, ordering: .acquiringAndReleasing)
    }

    /// The task is no longer suspended.
    ///
    /// - Returns: whether ``release(performing:)`` must follow, and whether responses or data were put off: then their answers say how to go on.
    func endSuspension() -> (enters: Bool, hasDeliveries: Bool) {
        guard flags.load(ordering: .relaxed) & Self.suspended != 0 else { return (false, false) }
        return queue.withLock { queue in
            let old = flags.bitwiseAnd(~Self.suspended, ordering: .acquiringAndReleasing).oldValue
            return (acquireIfFree(old, isWorthIt: !queue.isEmpty), queue.deliveries > 0)
        }
    }

    /// With the lock.
    private func acquireIfFree(_ old: UInt8, isWorthIt: Bool) -> Bool {
        guard isWorthIt, old & Self.busy == 0 else { return false }
        // It must not have been entered since `old` was seen: `pending` keeps others from that, unless it was not set.
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
