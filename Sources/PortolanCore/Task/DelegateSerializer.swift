// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Serializes the calls to a task's delegate, from the task's own load and from nested loads.
///
/// A call first acquires the delegate and releases it afterwards. No thread waits, and no lock is held during a call.
/// An event that comes during another call, or while the task is suspended, is queued. The thread that releases the
/// delegate delivers the queued events. Without such events, a delivery costs one compare-and-exchange before it and
/// one after it.
///
/// If the delegate has a ``DeliveryQueue``, all its events are queued, and a job on that queue delivers them. The job
/// releases the delegate when no event is left.
///
/// A series of data events costs less: the first event acquires the delegate and retains it. The delegate then stays
/// acquired, so that each later event only reads the flags. Another event of the same load can take over the retained
/// delegate, because a load's own events never overlap (``EventStateMachine``). Before its first event, a nested load
/// calls ``disableRetention()``. The retention then ends (``endRetention()``) as soon as no data is being delivered.
struct DelegateSerializer: ~Copyable, Sendable {
    /// The delegate is acquired.
    private static let busyFlag: UInt8 = 1 << 0
    /// Events are queued. While this is set, only a holder of the lock sets `busyFlag`.
    private static let pendingFlag: UInt8 = 1 << 1
    /// The task is suspended.
    private static let suspendedFlag: UInt8 = 1 << 2
    /// The end was delivered, and no event follows. Changed under the lock.
    private static let closedFlag: UInt8 = 1 << 3
    /// Data retains the delegate, even between two events. Always set together with `busyFlag`.
    private static let retainedFlag: UInt8 = 1 << 4
    /// Nested loads use the delegate, too, so data no longer retains it.
    private static let sharedFlag: UInt8 = 1 << 5

    /// How the response and the body reach a delegate on a queue.
    enum BodyRoute {
        /// Through the queue, like the other events. The reader pauses while more than `limit` bytes wait.
        case queued(limit: Int)
        /// On the load's threads, even during another call of the delegate. The delegate's return value controls the
        /// reader.
        case bypassing
    }

    struct State {
        var events = DelegateEventQueue()
        /// The reader pauses because too many bytes wait.
        var isReaderPaused = false
        /// The number of events that waited when the task was suspended.
        var countBeforeSuspension = 0
        /// A queued response or queued data is being delivered. Used only with ``BodyRoute/bypassing``.
        var isDelivering = false

        /// Whether a queued response or queued data has not completely reached the delegate.
        var hasDeliveries: Bool { isDelivering || events.deliveryCount > 0 }
    }

    /// Starts a job on the delegate's queue; `nil` if events are delivered on the thread on which they occur.
    let enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    /// `nil` without a queue.
    private let bodyRoute: BodyRoute?
    private let flags = Atomic<UInt8>(0)
    private let state = Mutex(State())

    init(on queue: DeliveryQueue = .immediate, bodyRoute: BodyRoute = .bypassing) {
        enqueue = queue.enqueue
        self.bodyRoute = enqueue == nil ? nil : bodyRoute
    }

    /// If more bytes wait, the reader pauses. `nil` if the delegate's return values control the reader.
    var readerLimit: Int? {
        guard case .queued(let limit) = bodyRoute else { return nil }
        return max(0, limit)
    }

    /// Whether the response and data can bypass the queue now. They cannot while the task is suspended, or while an
    /// earlier response or data is in the queue.
    var canBypass: Bool {
        guard case .bypassing = bodyRoute else { return false }
        return state.withLock { !$0.hasDeliveries && flags.load(ordering: .relaxed) & Self.suspendedFlag == 0 }
    }

    /// Whether the response or data in delivery was queued. The delegate is then acquired.
    var isDeliveringQueuedBytes: Bool { state.withLock { $0.isDelivering } }

    /// Acquires the delegate if it is free.
    ///
    /// - Parameter retains: whether the event is data, which can retain the delegate.
    /// - Returns: whether the caller may call the delegate now. If so, ``release(performing:)`` must follow. Always
    ///   `false` if the delegate has a queue.
    func tryAcquire(retaining retains: Bool = false) -> Bool {
        guard enqueue == nil else { return false }
        let current = flags.load(ordering: .relaxed)
        if current == Self.busyFlag | Self.retainedFlag {
            return retains || exchange(current, for: Self.busyFlag)
        }
        guard current & ~Self.sharedFlag == 0 else { return false }
        return exchange(current, for: current | (retains && current == 0 ? Self.busyFlag | Self.retainedFlag : Self.busyFlag))
    }

    /// Releases the delegate after a call, unless data retains it. First delivers the events that were queued during
    /// the call.
    func release(performing perform: (DelegateEvent) -> Void) {
        let current = flags.load(ordering: .relaxed)
        guard current & Self.retainedFlag == 0 else { return }
        if current & ~Self.sharedFlag == Self.busyFlag, exchange(current, for: current & ~Self.busyFlag) { return }
        while let event = nextEventOrRelease() { perform(event) }
    }

    private func exchange(_ old: UInt8, for new: UInt8) -> Bool {
        flags.compareExchange(expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed).exchanged
    }

    // MARK: Retention by data

    /// From now on, data does not retain the delegate, because nested loads use it, too.
    func disableRetention() {
        flags.bitwiseOr(Self.sharedFlag, ordering: .acquiringAndReleasing)
    }

    var isRetained: Bool { flags.load(ordering: .relaxed) & Self.retainedFlag != 0 }

    /// Ends the retention by data. Call it only while no data is being delivered.
    ///
    /// - Returns: whether this call ended the retention. If so, ``release(performing:)`` must follow.
    func endRetention() -> Bool {
        guard isRetained else { return false }
        return flags.bitwiseAnd(~Self.retainedFlag, ordering: .acquiringAndReleasing).oldValue & Self.retainedFlag != 0
    }

    // MARK: Queued events

    /// Queues an event because the delegate could not be acquired. If the delegate has become free, acquires it.
    ///
    /// - Returns: whether this call acquired the delegate, because it has become free. If so, ``release(performing:)``
    ///   must follow, on the delegate's queue if it has one.
    func deferEventOrAcquire(_ event: DelegateEvent) -> Bool {
        let (isAcquired, dropped) = state.withLock { state -> (Bool, [DelegateEvent]) in
            let current = flags.load(ordering: .relaxed)
            guard current & Self.closedFlag == 0, !state.events.containsEnd else { return (false, [event]) }
            let isSuspended = current & Self.suspendedFlag != 0
            // A failure drops the events that wait because of the suspension. Earlier events are delivered before it.
            let keptCount = isSuspended ? (enqueue == nil ? 0 : state.countBeforeSuspension) : nil
            let dropped = state.events.append(event, keepingAtFailure: keptCount)
            if let readerLimit, state.events.size > readerLimit { state.isReaderPaused = true }
            let old = flags.bitwiseOr(Self.pendingFlag, ordering: .acquiringAndReleasing).oldValue
            return (acquireIfFree(old, hasDeliverableEvent: !isSuspended || event.ignoresSuspension), dropped)
        }
        withExtendedLifetime(dropped) {}
        return isAcquired
    }

    /// The flow for a load whose response or data was queued.
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

    /// Whether too many events wait.
    var isOverfull: Bool { state.withLock { $0.events.isOverfull } }

    /// Replaces a queued end by `error`, and drops the events before it.
    ///
    /// - Returns: whether this call acquired the delegate. If so, ``release(performing:)`` must follow, on the
    ///   delegate's queue if it has one.
    func cancelWaitingEnd(_ error: LoadError) -> Bool {
        let (isAcquired, dropped) = state.withLock { state -> (Bool, [DelegateEvent]) in
            guard state.events.containsEnd else { return (false, []) }
            let dropped = state.events.append(.end(error))
            return (acquireIfFree(flags.load(ordering: .acquiring), hasDeliverableEvent: true), dropped)
        }
        withExtendedLifetime(dropped) {}
        return isAcquired
    }

    /// Drops the queued events and all later ones. Called before the last call of the delegate.
    func close() {
        let dropped = state.withLock { state in
            flags.bitwiseOr(Self.closedFlag, ordering: .relaxed)
            return state.events.removeAll()
        }
        withExtendedLifetime(dropped) {}
    }

    /// The task is suspended. From now on all events are queued.
    func beginSuspension() {
        state.withLock { state in
            let isFirst = flags.bitwiseOr(Self.suspendedFlag, ordering: .acquiringAndReleasing).oldValue & Self.suspendedFlag == 0
            if isFirst { state.countBeforeSuspension = state.events.count }
        }
    }

    /// The task is no longer suspended.
    ///
    /// - Returns: whether this call acquired the delegate. If so, ``release(performing:)`` must follow, on the
    ///   delegate's queue if it has one. `canReadMore` is `false` if the reader continues later: after the delivery of
    ///   a queued response or queued data, or when its pause ends (``endReaderPause()``).
    func endSuspension() -> (isAcquired: Bool, canReadMore: Bool) {
        guard enqueue != nil || flags.load(ordering: .relaxed) & Self.suspendedFlag != 0 else { return (false, true) }
        return state.withLock { state in
            let old = flags.bitwiseAnd(~Self.suspendedFlag, ordering: .acquiringAndReleasing).oldValue
            let canReadMore = readerLimit == nil ? !state.hasDeliveries : !state.isReaderPaused
            return (acquireIfFree(old, hasDeliverableEvent: !state.events.isEmpty), canReadMore)
        }
    }

    /// Acquires the delegate if it is free and an event can be delivered. Called with the lock held.
    private func acquireIfFree(_ old: UInt8, hasDeliverableEvent: Bool) -> Bool {
        guard hasDeliverableEvent, old & Self.busyFlag == 0 else { return false }
        // Another thread can have acquired the delegate since `old` was read, if `pendingFlag` was not set then.
        return flags.bitwiseOr(Self.busyFlag, ordering: .acquiringAndReleasing).oldValue & Self.busyFlag == 0
    }

    private func nextEventOrRelease() -> DelegateEvent? {
        state.withLock { state in
            let isSuspended = flags.load(ordering: .acquiring) & Self.suspendedFlag != 0
            let event = state.events.removeFirst(isSuspended: isSuspended)
            if case .bypassing = bodyRoute { state.isDelivering = event?.isDelivery == true }
            if let event { return event }
            flags.bitwiseAnd(~(Self.busyFlag | (state.events.isEmpty ? Self.pendingFlag : 0)), ordering: .releasing)
            return nil
        }
    }
}
