// SPDX-License-Identifier: Apache-2.0

/// The life of a blocking load as its plugin sees it: decides when `run`, `stop` and `destroy` may be called.
///
///     made → queued → running → returned → destroyed
///       └───────┴──────── stopped first ──────┘
///
/// `stop` comes at most once, only while `run` runs, and not when the load knows already that it is over.
struct BlockingLoadState: Hashable {
    enum Phase: Hashable, CaseIterable {
        case made
        /// Waits for a thread.
        case queued
        case running
        /// `run` has returned.
        case returned
        /// `destroy` is called, or was.
        case destroyed
    }

    enum StopCall: Hashable, CaseIterable {
        case none
        /// The load's own thread stopped it, from inside a client call: it can't call `stop`, so another one will.
        case owed
        case running
        case returned
    }

    private(set) var phase = Phase.made
    private(set) var stopCall = StopCall.none
    /// The load has reported its end, or a client call has told it that it is over.
    private(set) var knowsEnd = false
    private(set) var isStopped = false
    /// The load is in a client call that waits, and will answer that the load is over as soon as it is.
    private(set) var isWaiting = false

    /// - Returns: whether a thread is to be found for it.
    mutating func start() -> Bool {
        guard phase == .made else { return false }
        phase = .queued
        return true
    }

    /// The thread is there.
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
        /// `run` was never called, and will not be.
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

    /// The load has reported its end, or is being told.
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

    /// A client call without an answer returns to the load, so the load does not learn that it is over.
    ///
    /// - Returns: whether to have `stop` called on another thread.
    mutating func takeOwedStop() -> Bool {
        guard stopCall == .owed else { return false }
        stopCall = .running
        return true
    }

    mutating func stopReturned() {
        stopCall = .returned
    }

    /// `run` has returned.
    ///
    /// - Returns: whether the load still owes its end.
    mutating func leave() -> Bool {
        phase = .returned
        if stopCall == .owed { stopCall = .none }
        return !knowsEnd && !isStopped
    }

    /// - Returns: whether to call `destroy` now; `false` while `stop` has yet to return.
    mutating func destroy() -> Bool {
        guard phase == .returned, stopCall != .running else { return false }
        phase = .destroyed
        return true
    }
}
