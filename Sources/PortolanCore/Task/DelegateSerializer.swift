// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Serializes the calls to a task's delegate, from the task's own load and from nested loads.
///
/// Non-blocking, and no lock is held during a call. Events that come during another call, or while the task is
/// suspended, are queued. The thread that releases the delegate delivers them. Without such events, a delivery costs
/// one exchange before and one after it.
///
/// If the delegate has a ``DeliveryQueue``, all its events are queued, and a job on that queue delivers them. The job
/// holds the delegate until no event is left.
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

    /// How the response and the body reach a delegate on a queue.
    enum Bytes {
        /// With the other events. The reader pauses while more than `limit` bytes wait.
        case queued(limit: Int)
        /// On the load's threads, even during another call of the delegate. Its return value is for the reader.
        case bypassing
    }

    struct State {
        var events = DelegateEventQueue()
        /// The reader pauses because too many bytes wait.
        var isReaderPaused = false
        /// The number of events that waited when the task was suspended.
        var countBeforeSuspension = 0
        /// A response or data that was queued is being delivered. Only for ``Bytes/bypassing``.
        var isDelivering = false

        /// Whether a response or data that was queued has not reached the delegate.
        var hasDeliveries: Bool { isDelivering || events.deliveries > 0 }
    }

    /// Starts a job on the delegate's queue; `nil`: events are delivered on the thread on which they happen.
    let enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    /// `nil` without a queue.
    private let bytes: Bytes?
    private let flags = Atomic<UInt8>(0)
    private let state = Mutex(State())

    init(on queue: DeliveryQueue = .immediate, bytes: Bytes = .bypassing) {
        enqueue = queue.enqueue
        self.bytes = enqueue == nil ? nil : bytes
    }

    /// The number of bytes above which the reader pauses; `nil` if the delegate's return values control the reader.
    var readerLimit: Int? {
        guard case .queued(let limit) = bytes else { return nil }
        return max(0, limit)
    }

    /// Whether the response and the body do not take the queue now. Each of them that is queued, because the task is
    /// suspended, holds the later ones back until it is delivered.
    var letsBytesBypass: Bool {
        guard case .bypassing = bytes else { return false }
        return state.withLock { !$0.hasDeliveries && flags.load(ordering: .relaxed) & Self.suspended == 0 }
    }

    /// Whether the delivery that is in progress is one that was queued. The delegate is acquired during it.
    var isDeliveringQueuedBytes: Bool { state.withLock { $0.isDelivering } }

    /// - Parameter holds: whether the event is data, which may retain the delegate.
    /// - Returns: whether the delegate may be called now. If so, ``release(performing:)`` must follow. Always `false`
    ///   if the delegate has a queue.
    func tryAcquire(holding holds: Bool = false) -> Bool {
        guard enqueue == nil else { return false }
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
    ///   call, on the delegate's queue if it has one.
    func deferEvent(_ event: DelegateEvent) -> Bool {
        let (enters, dropped) = state.withLock { state -> (Bool, [DelegateEvent]) in
            let seen = flags.load(ordering: .relaxed)
            guard seen & Self.closed == 0, !state.events.holdsEnd else { return (false, [event]) }
            let isHeld = seen & Self.suspended != 0
            // A failure does not wait for the events that the suspension holds back, but for those before it.
            let kept = isHeld ? (enqueue == nil ? 0 : state.countBeforeSuspension) : nil
            let dropped = state.events.put(event, keepingAtFailure: kept)
            if let readerLimit, state.events.size > readerLimit { state.isReaderPaused = true }
            let old = flags.bitwiseOr(Self.pending, ordering: .acquiringAndReleasing).oldValue
            return (acquireIfFree(old, isWorthIt: !isHeld || event.ignoresSuspension), dropped)
        }
        withExtendedLifetime(dropped) {}
        return enters
    }

    /// What a reader has to do whose response or data was queued.
    var flowAfterDeferral: Flow {
        guard readerLimit != nil else { return .pause }
        return state.withLock { $0.isReaderPaused ? .pause : .keepGoing }
    }

    /// Ends the reader's pause once half of the limit is free.
    ///
    /// - Returns: whether the caller must resume the reader.
    func endReaderPause() -> Bool {
        guard let readerLimit else { return false }
        return state.withLock { state in
            guard state.isReaderPaused, state.events.size <= readerLimit / 2 else { return false }
            state.isReaderPaused = false
            return true
        }
    }

    /// Whether more events wait than any correct load has.
    var isOverfull: Bool { state.withLock { $0.events.isOverfull } }

    /// Delivers `error` in place of an end that waits, and drops the events before it.
    ///
    /// - Returns: whether the delegate may be called. If so, ``release(performing:)`` must follow, on the delegate's
    ///   queue if it has one.
    func cancelWaitingEnd(_ error: LoadError) -> Bool {
        let (enters, dropped) = state.withLock { state -> (Bool, [DelegateEvent]) in
            guard state.events.holdsEnd else { return (false, []) }
            let dropped = state.events.put(.end(error))
            return (acquireIfFree(flags.load(ordering: .acquiring), isWorthIt: true), dropped)
        }
        withExtendedLifetime(dropped) {}
        return enters
    }

    /// Called before the last delegate call: nothing passes after that.
    func close() {
        let dropped = state.withLock { state in
            flags.bitwiseOr(Self.closed, ordering: .relaxed)
            return state.events.removeAll()
        }
        withExtendedLifetime(dropped) {}
    }

    /// The task is suspended. From now on all events are queued.
    func beginSuspension() {
        state.withLock { state in
            let isFirst = flags.bitwiseOr(Self.suspended, ordering: .acquiringAndReleasing).oldValue & Self.suspended == 0
            if isFirst { state.countBeforeSuspension = state.events.count }
        }
    }

    /// The task is no longer suspended.
    ///
    /// - Returns: whether ``release(performing:)`` must follow, on the delegate's queue if it has one, and whether the
    ///   reader may read more. It may not if responses or data wait whose delivery decides about that.
    func endSuspension() -> (enters: Bool, readsMore: Bool) {
        guard enqueue != nil || flags.load(ordering: .relaxed) & Self.suspended != 0 else { return (false, true) }
        return state.withLock { state in
            let old = flags.bitwiseAnd(~Self.suspended, ordering: .acquiringAndReleasing).oldValue
            let readsMore = readerLimit == nil ? !state.hasDeliveries : !state.isReaderPaused
            return (acquireIfFree(old, isWorthIt: !state.events.isEmpty), readsMore)
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
        state.withLock { state in
            let isHeld = flags.load(ordering: .acquiring) & Self.suspended != 0
            let event = state.events.take(isSuspended: isHeld)
            if case .bypassing = bytes { state.isDelivering = event?.isDelivery == true }
            if let event { return event }
            flags.bitwiseAnd(~(Self.busy | (state.events.isEmpty ? Self.pending : 0)), ordering: .releasing)
            return nil
        }
    }
}
