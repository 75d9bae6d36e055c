// SPDX-License-Identifier: Apache-2.0

/// The life cycle of a blocking load as its plugin sees it. Decides when `run`, `stop` and `destroy` may be called.
///
///     made → queued → running → returned → destroyed
///       └───────┴──────── stopped first ──────┘
///
/// `stop` is called at most once, only while `run` is running, and not if the load already knows that it is over.
struct BlockingLoadState: Hashable {
    enum Phase: Hashable, CaseIterable {
        case made
        /// Waits for a thread.
        case queued
        case running
        /// `run` has returned.
        case returned
        /// `destroy` is running or has returned.
        case destroyed
    }

    enum StopCall: Hashable, CaseIterable {
        case none
        /// The load was stopped on its own thread, inside a client call. This thread cannot call `stop`, so another one
        /// will.
        case owed
        case running
        case returned
    }

    private(set) var phase = Phase.made
    private(set) var stopCall = StopCall.none
    /// Whether the load has reported its end, or a client call has returned that it is over.
    private(set) var knowsEnd = false
    private(set) var isStopped = false
    /// Whether the load waits in a client call. That call will return PORTOLAN_STOPPED as soon as the load is over.
    private(set) var isWaiting = false

    /// - Returns: whether the load needs a thread.
    mutating func start() -> Bool {
        guard phase == .made else { return false }
        phase = .queued
        return true
    }

    /// Called when a thread is available.
    ///
    /// - Returns: whether to call `run`.
    mutating func enter() -> Bool {
        guard phase == .queued else { return false }
        phase = .running
        return true
    }

    enum StopAction: Hashable {
        case nothing
        case callStop
        /// `run` was not called, and will not be.
        case destroy
    }

    mutating func stop(onLoadThread: Bool) -> StopAction {
        isStopped = true
        switch phase {
        case .made, .queued:
            phase = .destroyed
            return .destroy
        case .running:
            guard stopCall == .none, !knowsEnd else { return .nothing }
            if isWaiting {
                knowsEnd = true
                return .nothing
            }
            stopCall = onLoadThread ? .owed : .running
            return onLoadThread ? .nothing : .callStop
        case .returned, .destroyed:
            return .nothing
        }
    }

    /// The load has reported its end, or is being notified of it.
    mutating func noteEnd() {
        knowsEnd = true
        if stopCall == .owed { stopCall = .none }
    }

    mutating func beginWait() {
        isWaiting = true
    }

    mutating func endWait() {
        isWaiting = false
    }

    /// Called when a client call without a result returns. The load does not learn from it that it is over.
    ///
    /// - Returns: whether another thread must call `stop`.
    mutating func takeOwedStop() -> Bool {
        guard stopCall == .owed else { return false }
        stopCall = .running
        return true
    }

    mutating func stopReturned() {
        stopCall = .returned
    }

    /// Called when `run` has returned.
    ///
    /// - Returns: whether the load has violated the contract by not reporting its end.
    mutating func leave() -> Bool {
        phase = .returned
        if stopCall == .owed { stopCall = .none }
        return !knowsEnd && !isStopped
    }

    /// - Returns: whether to call `destroy` now; `false` until `stop` has returned.
    mutating func destroy() -> Bool {
        guard phase == .returned, stopCall != .running else { return false }
        phase = .destroyed
        return true
    }
}
