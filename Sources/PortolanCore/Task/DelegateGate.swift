// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets one call at a time through to a task's delegate, whichever load asks for it: the task's own, or one inside it.
///
/// Nobody waits, and no lock is held during a call: what comes during another call, or while the task is suspended, is put off, and told by
/// whoever leaves. Without any of that an event costs one exchange before and one after its delivery.
///
/// A run of data costs less: it enters once and stays, so that each event after the first only looks. Another event of the same load takes
/// the gate over, for a load's own events never overlap (``EventOrder``). Whoever else wants in asks with ``share()``, and for good: then
/// the run is made to leave (``stopKeeping()``) when none of its events is with the delegate.
struct DelegateGate: ~Copyable, Sendable {
    /// A call is with the delegate.
    private static let busy: UInt8 = 1 << 0
    /// Something was put off. Only a holder of the lock sets `busy` then.
    private static let waiting: UInt8 = 1 << 1
    /// The task is suspended.
    private static let held: UInt8 = 1 << 2
    /// The end was told: nothing comes after it. Changed with the lock.
    private static let closed: UInt8 = 1 << 3
    /// A run of data stays in, also between its events; always with `busy`.
    private static let kept: UInt8 = 1 << 4
    /// Others than the load itself want in at times: no run of data stays in any more.
    private static let shared: UInt8 = 1 << 5

    private let flags = Atomic<UInt8>(0)
    private let queue = Mutex(DelegateEventQueue())

    /// - Parameter stays: whether what enters is data, which may stay in.
    /// - Returns: whether the delegate may be called now; then ``leave(performing:)`` must follow.
    func enter(toStay stays: Bool = false) -> Bool {
        let seen = flags.load(ordering: .relaxed)
        if seen == Self.busy | Self.kept {
            return stays || exchange(seen, for: Self.busy)
        }
        guard seen & ~Self.shared == 0 else { return false }
        return exchange(seen, for: seen | (stays && seen == 0 ? Self.busy | Self.kept : Self.busy))
    }

    /// The call has returned: tells what was put off meanwhile, unless the event stays in.
    func leave(performing perform: (DelegateEvent) -> Void) {
        let seen = flags.load(ordering: .relaxed)
        guard seen & Self.kept == 0 else { return }
        if seen & ~Self.shared == Self.busy, exchange(seen, for: seen & ~Self.busy) { return }
        while let event = takeOrLeave() { perform(event) }
    }

    private func exchange(_ old: UInt8, for new: UInt8) -> Bool {
        flags.compareExchange(expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed).exchanged
    }

    // MARK: A run of data that stays in

    /// Others want in, now and later.
    func share() {
        flags.bitwiseOr(Self.shared, ordering: .acquiringAndReleasing)
    }

    var isKept: Bool { flags.load(ordering: .relaxed) & Self.kept != 0 }

    /// Ends the stay of a run of data. Only while none of its events is with the delegate.
    ///
    /// - Returns: whether this ended it, and nobody else: then ``leave(performing:)`` must follow.
    func stopKeeping() -> Bool {
        guard isKept else { return false }
        return flags.bitwiseAnd(~Self.kept, ordering: .acquiringAndReleasing).oldValue & Self.kept != 0
    }

    // MARK: What is put off

    /// Keeps an event that found the gate shut.
    ///
    /// - Returns: whether it opened meanwhile: then ``leave(performing:)`` must follow, as after a call.
    func putOff(_ event: DelegateEvent) -> Bool {
        let (enters, dropped) = queue.withLock { queue -> (Bool, [DelegateEvent]) in
            let seen = flags.load(ordering: .relaxed)
            guard seen & Self.closed == 0 else { return (false, [event]) }
            let isHeld = seen & Self.held != 0
            let dropped = queue.put(event, droppingAtFailure: isHeld)
            let old = flags.bitwiseOr(Self.waiting, ordering: .acquiringAndReleasing).oldValue
            return (takeTurn(old, isWorthIt: !isHeld || event.ignoresSuspension), dropped)
        }
        withExtendedLifetime(dropped) {}
        return enters
    }

    /// Whether more waits than a sound load ever has.
    var isOverfull: Bool { queue.withLock { $0.isOverfull } }

    /// Tells of `error` in place of an end that a suspension holds back, and of all that waits before it.
    ///
    /// - Returns: whether the delegate may be called: then ``leave(performing:)`` must follow.
    func cancelWaitingEnd(_ error: LoadError) -> Bool {
        let (enters, dropped) = queue.withLock { queue -> (Bool, [DelegateEvent]) in
            guard queue.holdsEnd else { return (false, []) }
            let dropped = queue.put(.end(error))
            return (takeTurn(flags.load(ordering: .acquiring), isWorthIt: true), dropped)
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
    func hold() {
        flags.bitwiseOr(Self.held, ordering: .acquiringAndReleasing)
    }

    /// The task is no longer suspended.
    ///
    /// - Returns: whether ``leave(performing:)`` must follow, and whether responses or data were put off: then their answers say how to go on.
    func release() -> (enters: Bool, hasDeliveries: Bool) {
        guard flags.load(ordering: .relaxed) & Self.held != 0 else { return (false, false) }
        return queue.withLock { queue in
            let old = flags.bitwiseAnd(~Self.held, ordering: .acquiringAndReleasing).oldValue
            return (takeTurn(old, isWorthIt: !queue.isEmpty), queue.deliveries > 0)
        }
    }

    /// With the lock.
    private func takeTurn(_ old: UInt8, isWorthIt: Bool) -> Bool {
        guard isWorthIt, old & Self.busy == 0 else { return false }
        // It must not have been entered since `old` was seen: `waiting` keeps others from that, unless it was not set.
        return flags.bitwiseOr(Self.busy, ordering: .acquiringAndReleasing).oldValue & Self.busy == 0
    }

    private func takeOrLeave() -> DelegateEvent? {
        queue.withLock { queue in
            let isHeld = flags.load(ordering: .acquiring) & Self.held != 0
            if let event = queue.take(isSuspended: isHeld) { return event }
            flags.bitwiseAnd(~(Self.busy | (queue.isEmpty ? Self.waiting : 0)), ordering: .releasing)
            return nil
        }
    }
}
