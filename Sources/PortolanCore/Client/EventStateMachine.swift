// SPDX-License-Identifier: Apache-2.0

/// Enforces the order of one load's events: decides for each call between a load and its client whether it is allowed.
///
/// A state machine of four bytes, without I/O. It fits in an atomic variable, so an event costs one
/// compare-and-exchange before its delivery and one after it.
struct EventStateMachine: Equatable, Sendable {
    enum Phase: UInt8, CaseIterable {
        /// ``ProtocolHandler/makeLoad(for:cachedResponse:client:)`` has not returned.
        case makingLoad
        /// The load exists, and is not started.
        case loadMade
        case awaitingResponse
        /// The client deferred its decision about a redirect.
        case decidingRedirect
        /// The client declined a redirect. Its response and body must follow.
        case redirectDeclined
        /// The stored response is still valid. No response, data or trailers can follow.
        case cacheConfirmed
        case receiving
        /// The trailers have arrived.
        case trailersReceived
        /// The load reported its end.
        case ended
        /// The client followed a redirect.
        case redirected
        /// The core or the client stopped the load.
        case stopped
    }

    struct Flags: OptionSet, Equatable {
        let rawValue: UInt16
        /// The client is processing an event.
        static let delivering = Self(rawValue: 1 << 0)
        /// A call returned `.pause` to the load, and the load was not resumed after it.
        static let paused = Self(rawValue: 1 << 1)
        /// The client returned `.pause`, and did not request more.
        static let pausedByReader = Self(rawValue: 1 << 2)
        /// The caller suspended the task.
        static let pausedBySuspension = Self(rawValue: 1 << 3)
        /// The reader requested more during the current delivery. If the client then returns `.pause`, the load
        /// continues anyway.
        static let resumedDuringDelivery = Self(rawValue: 1 << 4)
        /// Another event arrived during a delivery. The delivering thread reports the violation (ORDER-05).
        static let hasOverlap = Self(rawValue: 1 << 5)
        /// The load was stopped during a delivery. The delivering thread reports the end.
        static let endIsPending = Self(rawValue: 1 << 6)
        /// A call that returns a ``Flow`` has returned `.stopped` to the load.
        static let hasReturnedStopped = Self(rawValue: 1 << 7)
        /// ``ProtocolLoad/stopLoading()`` has returned. The load must send no events after that.
        static let stopLoadingReturned = Self(rawValue: 1 << 8)

        /// The redirect was declined during its delivery.
        static let declinedDuringDelivery = Self(rawValue: 1 << 9)
        /// A nested load waits for the delegate, which this load's data can retain (``DelegateSerializer``). The
        /// delivering thread releases the delegate after the delivery.
        static let delegateReleaseIsPending = Self(rawValue: 1 << 10)

        static let pauseReasons: Self = [.pausedByReader, .pausedBySuspension]
    }

    /// The calls that a load can make to its client.
    enum Event: CaseIterable {
        case interim, redirect, confirmation, response, data, trailers, finish, failure
        case challenge, challengeCancelled, sent, step, newBody

        /// Whether the call returns a ``Flow``, which can tell the load that it was stopped.
        var returnsFlow: Bool {
            switch self {
            case .redirect, .response, .data: true
            case .interim, .confirmation, .trailers, .finish, .failure, .challenge, .challengeCancelled, .sent, .step, .newBody: false
            }
        }
    }

    /// The conditions of one load that the order of events depends on.
    struct Rules: Equatable, Sendable {
        var allowsParts = false
        var offersCachedResponse = false
    }

    enum Verdict: Equatable {
        case deliver
        /// The event is dropped silently: the load was stopped, or another event is being delivered.
        case drop
        /// The load must fail with a violation of this rule.
        case violation(ContractRule)
        /// The load has already ended. The violation can only be reported.
        case lateViolation(ContractRule)
    }

    private(set) var phase: Phase
    private(set) var flags: Flags

    init(phase: Phase = .makingLoad, flags: Flags = []) {
        self.phase = phase
        self.flags = flags
    }

    var isOver: Bool {
        switch phase {
        case .ended, .redirected, .stopped: true
        case .makingLoad, .loadMade, .awaitingResponse, .decidingRedirect, .redirectDeclined, .cacheConfirmed, .receiving,
            .trailersReceived:
            false
        }
    }

    // MARK: The load's calls

    /// Begins an event from the load. After `.deliver`, ``endDelivery(of:flow:)`` must follow.
    mutating func begin(_ event: Event, rules: Rules) -> Verdict {
        if isOver { return verdictAfterEnd(of: event) }
        if flags.contains(.delivering) {
            flags.insert(.hasOverlap)
            return .drop
        }
        if let rule = violation(by: event, rules: rules) { return .violation(rule) }
        flags.insert(.delivering)
        flags.remove([.resumedDuringDelivery, .declinedDuringDelivery])
        switch event {
        case .finish, .failure: phase = .ended
        case .response: phase = .receiving
        case .confirmation: phase = .cacheConfirmed
        case .trailers: phase = .trailersReceived
        case .interim, .redirect, .data, .challenge, .challengeCancelled, .sent, .step, .newBody: break
        }
        return .deliver
    }

    enum DeliveryResult: Equatable {
        /// The load continues with this flow.
        case flow(Flow)
        /// The load is over, and the client has been notified.
        case ended
        /// The load is over, and the client must be notified: of a violation of this rule, or of the pending end.
        case mustReportEnd(ContractRule?)
    }

    /// The client has returned from the event that ``begin(_:rules:)`` allowed.
    mutating func endDelivery(of event: Event, flow: Flow) -> DeliveryResult {
        flags.remove(.delivering)
        if flags.contains(.hasOverlap), phase != .redirected, !flags.contains(.endIsPending) {
            let endWasReported = phase == .ended
            stop(hasReturnedStopped: event.returnsFlow)
            return endWasReported ? .ended : .mustReportEnd(.eventsAreSerial)
        }
        if isOver {
            if event.returnsFlow { flags.insert(.hasReturnedStopped) }
            return flags.contains(.endIsPending) ? .mustReportEnd(nil) : .ended
        }
        guard event.returnsFlow else { return .flow(.keepGoing) }
        if event == .redirect { return endRedirectDelivery(flow) }
        switch flow {
        case .stopped:
            stop(hasReturnedStopped: true)
            return .ended
        case .pause where !flags.contains(.resumedDuringDelivery):
            flags.insert(.pausedByReader)
        case .pause, .keepGoing:
            break
        }
        return .flow(pauseIfNeeded())
    }

    private mutating func endRedirectDelivery(_ flow: Flow) -> DeliveryResult {
        switch flow {
        case .stopped:
            phase = .redirected
            flags.insert(.hasReturnedStopped)
            return .ended
        case .pause where !flags.contains(.declinedDuringDelivery):
            phase = .decidingRedirect
            flags.insert([.paused, .pausedByReader])
            return .flow(.pause)
        case .pause, .keepGoing:
            phase = .redirectDeclined
            return .flow(pauseIfNeeded())
        }
    }

    private mutating func pauseIfNeeded() -> Flow {
        guard !flags.isDisjoint(with: .pauseReasons) else { return .keepGoing }
        flags.insert(.paused)
        return .pause
    }

    private mutating func stop(hasReturnedStopped: Bool) {
        phase = .stopped
        if hasReturnedStopped { flags.insert(.hasReturnedStopped) }
    }

    // MARK: The core's calls

    /// `makeLoad` has returned the load.
    mutating func loadWasMade() {
        if phase == .makingLoad { phase = .loadMade }
    }

    /// - Returns: whether the caller must start the load.
    mutating func start() -> Bool {
        guard phase == .loadMade else { return false }
        phase = .awaitingResponse
        return true
    }

    enum EndAction: Equatable {
        /// None: the load was already over.
        case none
        /// None: a redirect was followed, and no end is reported.
        case redirected
        case reportNow
        /// An event is being delivered. The delivering thread reports the end.
        case reportLater
    }

    /// Ends the load on behalf of the core or the caller.
    ///
    /// - Returns: what the caller must do about the client.
    mutating func end() -> EndAction {
        guard !isOver else { return phase == .redirected ? .redirected : .none }
        phase = .stopped
        guard flags.contains(.delivering) else { return .reportNow }
        flags.insert(.endIsPending)
        return .reportLater
    }

    /// Records that a nested load waits for the delegate.
    ///
    /// - Returns: whether an event is being delivered. If so, its thread releases the delegate after the delivery.
    mutating func requestDelegateRelease() -> Bool {
        flags.insert(.delegateReleaseIsPending)
        return flags.contains(.delivering)
    }

    /// Clears the request to release the delegate, after the end of a delivery.
    ///
    /// - Returns: whether the caller must release the delegate.
    mutating func clearDelegateReleaseRequest() -> Bool {
        flags.remove(.delegateReleaseIsPending) != nil
    }

    /// The caller follows a redirect whose decision was deferred.
    ///
    /// - Returns: whether the caller must stop the load.
    mutating func followRedirect() -> Bool {
        guard !isOver else { return false }
        phase = .redirected
        return true
    }

    /// Records that `stopLoading` has returned. After that the load must not call its client, unless it has
    /// ``ProtocolLoad/stopsAsynchronously``.
    mutating func stopLoadingHasReturned() {
        flags.insert(.stopLoadingReturned)
    }

    /// The reader requests more. Has no effect while a redirect is being decided.
    ///
    /// - Returns: whether the caller must resume the load.
    mutating func resume() -> Bool {
        guard phase != .decidingRedirect else { return false }
        if flags.contains(.delivering) { flags.insert(.resumedDuringDelivery) }
        return removePauseReason(.pausedByReader)
    }

    /// The caller declines a redirect.
    ///
    /// - Returns: whether the caller must resume the load.
    mutating func declineRedirect() -> Bool {
        guard phase == .decidingRedirect else {
            if flags.contains(.delivering) { flags.insert(.declinedDuringDelivery) }
            return false
        }
        phase = .redirectDeclined
        return removePauseReason(.pausedByReader)
    }

    mutating func suspend() {
        flags.insert(.pausedBySuspension)
    }

    /// - Returns: whether the caller must resume the load.
    mutating func unsuspend() -> Bool {
        removePauseReason(.pausedBySuspension)
    }

    /// - Returns: whether the caller must resume the load, because there is no other reason to pause.
    private mutating func removePauseReason(_ reason: Flags) -> Bool {
        flags.remove(reason)
        guard flags.contains(.paused), flags.isDisjoint(with: .pauseReasons), !isOver else { return false }
        flags.remove(.paused)
        return true
    }

    // MARK: Events after the end

    private mutating func verdictAfterEnd(of event: Event) -> Verdict {
        switch phase {
        case .redirected where flags.contains(.hasReturnedStopped):
            return .lateViolation(.nothingAfterRedirect)
        case .ended:
            return .lateViolation(event == .finish || event == .failure ? .oneEnd : .nothingAfterEnd)
        case .makingLoad, .loadMade, .awaitingResponse, .decidingRedirect, .redirectDeclined, .cacheConfirmed, .receiving,
            .trailersReceived, .stopped, .redirected:
            break
        }
        defer { if event.returnsFlow { flags.insert(.hasReturnedStopped) } }
        if event.returnsFlow, flags.contains(.hasReturnedStopped) { return .lateViolation(.stoppedIsLast) }
        return flags.contains(.stopLoadingReturned) ? .lateViolation(.stopIsKept) : .drop
    }
}
