// SPDX-License-Identifier: Apache-2.0

/// The life cycle of a blocking load in its plugin. Decides when to call `run`, `stop` and `destroy`.
///
///     created → queued → running → returned → destroyed
///          └────────┴──────── stopped first ──────┘
///
/// `stop` is called at most once, only if `run` is running when the load is stopped, and not if the load already knows
/// that it has ended.
struct BlockingLoadState: Hashable {
    enum Phase: Hashable, CaseIterable {
        case created
        /// The load waits for a thread.
        case queued
        case running
        /// `run` has returned.
        case returned
        /// `destroy` is running or has returned.
        case destroyed
    }

    enum StopCall: Hashable, CaseIterable {
        case none
        /// The load was stopped inside one of its client calls. The load's thread cannot call `stop`, so another thread
        /// will call it.
        case pending
        case running
        case returned
    }

    private(set) var phase = Phase.created
    private(set) var stopCall = StopCall.none
    /// Whether the load knows that it has ended: it has reported its end, or a client call has returned
    /// PORTOLAN_STOPPED.
    private(set) var knowsEnd = false
    private(set) var isStopped = false
    /// Whether the load waits in a client call. If the load is stopped, that call returns
    /// PORTOLAN_STOPPED.
    private(set) var isWaiting = false

    /// - Returns: whether the load needs a thread.
    mutating func start() -> Bool {
        guard phase == .created else { return false }
        phase = .queued
        return true
    }

    /// Called when a thread is available.
    ///
    /// - Returns: whether to call `run`.
    mutating func beginRunning() -> Bool {
        guard phase == .queued else { return false }
        phase = .running
        return true
    }

    enum StopAction: Hashable {
        case nothing
        case callStop
        /// Call only `destroy`, because `run` was never called.
        case destroy
    }

    mutating func stop(onLoadThread: Bool) -> StopAction {
        isStopped = true
        switch phase {
        case .created, .queued:
            phase = .destroyed
            return .destroy
        case .running:
            guard stopCall == .none, !knowsEnd else { return .nothing }
            if isWaiting {
                knowsEnd = true
                return .nothing
            }
            stopCall = onLoadThread ? .pending : .running
            return onLoadThread ? .nothing : .callStop
        case .returned, .destroyed:
            return .nothing
        }
    }

    /// Called when the load has reported its end, or a client call returns PORTOLAN_STOPPED.
    mutating func recordEnd() {
        knowsEnd = true
        if stopCall == .pending { stopCall = .none }
    }

    mutating func beginWait() {
        isWaiting = true
    }

    mutating func endWait() {
        isWaiting = false
    }

    /// Called when a client call without a result returns. The load does not learn from such a call that it
    /// was stopped.
    ///
    /// - Returns: whether another thread must call `stop`.
    mutating func beginPendingStop() -> Bool {
        guard stopCall == .pending else { return false }
        stopCall = .running
        return true
    }

    mutating func stopDidReturn() {
        stopCall = .returned
    }

    /// Called when `run` has returned.
    ///
    /// - Returns: whether the load has violated the contract, because it did not report its end.
    mutating func runDidReturn() -> Bool {
        phase = .returned
        if stopCall == .pending { stopCall = .none }
        return !knowsEnd && !isStopped
    }

    /// - Returns: whether to call `destroy` now. `false` until `stop` has returned.
    mutating func destroy() -> Bool {
        guard phase == .returned, stopCall != .running else { return false }
        phase = .destroyed
        return true
    }
}
