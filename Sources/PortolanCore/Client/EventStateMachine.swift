// SPDX-License-Identifier: Apache-2.0

/// Enforces the order of one load's events: decides for each call between a load and its client whether it is allowed.
///
/// A pure state machine of four bytes. It fits in an atomic, so an event costs one exchange before and one after its
/// delivery.
struct EventStateMachine: Equatable, Sendable {
    enum Phase: UInt8, CaseIterable {
        /// `makeLoad` has not returned.
        case making
        /// Made, not started.
        case made
        case awaitingResponse
        /// The client has deferred its decision about a redirect.
        case deciding
        /// The client declined a redirect. Its response and body must follow.
        case declined
        /// The stored response is still valid. Only the finish may follow.
        case confirmed
        case receiving
        /// The trailers have arrived.
        case trailing
        /// The load reported its end.
        case ended
        /// The client followed a redirect.
        case redirected
        /// The core or the client ended the load.
        case stopped
    }

    struct Flags: OptionSet, Equatable {
        let rawValue: UInt16
        /// The client is processing an event.
        static let delivering = Self(rawValue: 1 << 0)
        /// The load was asked to pause, and not yet to resume.
        static let paused = Self(rawValue: 1 << 1)
        /// Reasons to pause: a slow reader, or the caller's suspend.
        static let heldByReader = Self(rawValue: 1 << 2)
        static let heldBySuspension = Self(rawValue: 1 << 3)
        /// The reader requested more before the client returned `.pause` from the current event.
        static let resumedEarly = Self(rawValue: 1 << 4)
        /// Another event arrived during a delivery. The delivering thread reports the violation (ORDER-05).
        static let overlapped = Self(rawValue: 1 << 5)
        /// The load was ended during a delivery. The delivering thread reports the end.
        static let owesEnd = Self(rawValue: 1 << 6)
        /// A call that returns a ``Flow`` has returned `.stopped` to the load.
        static let sawStopped = Self(rawValue: 1 << 7)
        /// `stopLoading` has returned, and the load sends no events after that.
        static let stopReturned = Self(rawValue: 1 << 8)

        /// A redirect was declined before the client returned from the redirect event.
        static let declinedEarly = Self(rawValue: 1 << 9)
        /// A nested load waits for the delegate, which this load's data may retain. The delivering thread yields the
        /// delegate.
        static let owesDelegate = Self(rawValue: 1 << 10)

        static let holds: Self = [.heldByReader, .heldBySuspension]
    }

    /// The calls that a load can make to its client.
    enum Event: CaseIterable {
        case interim, redirect, confirmation, response, data, trailers, finish, failure
        case challenge, challengeWithdrawn, sent, step, newBody

        /// Whether the return value can tell the load that it was stopped.
        var returnsFlow: Bool {
            switch self {
            case .redirect, .response, .data: true
            case .interim, .confirmation, .trailers, .finish, .failure, .challenge, .challengeWithdrawn, .sent, .step, .newBody: false
            }
        }
    }

    /// The conditions of one load that the order of events depends on.
    struct Rules: Equatable, Sendable {
        var allowsParts = false
        var offersCached = false
    }

    enum Verdict: Equatable {
        case deliver
        /// The load was stopped. The event is dropped silently.
        case drop
        /// The load must fail with a violation of this rule.
        case violation(ContractRule)
        /// The load has already ended. The violation can only be reported.
        case lateViolation(ContractRule)
    }

    private(set) var phase: Phase
    private(set) var flags: Flags

    init(phase: Phase = .making, flags: Flags = []) {
        self.phase = phase
        self.flags = flags
    }

    var isOver: Bool {
        switch phase {
        case .ended, .redirected, .stopped: true
        case .making, .made, .awaitingResponse, .deciding, .declined, .confirmed, .receiving, .trailing: false
        }
    }

    // MARK: The load's calls

    /// Begins an event from the load. After `.deliver`, ``endDelivery(of:flow:)`` must follow.
    mutating func begin(_ event: Event, rules: Rules) -> Verdict {
        if isOver { return afterEnd(event) }
        if flags.contains(.delivering) {
            flags.insert(.overlapped)
            return .drop
        }
        if let rule = violation(by: event, rules: rules) { return .violation(rule) }
        flags.insert(.delivering)
        flags.remove([.resumedEarly, .declinedEarly])
        switch event {
        case .finish, .failure: phase = .ended
        case .response: phase = .receiving
        case .confirmation: phase = .confirmed
        case .trailers: phase = .trailing
        case .interim, .redirect, .data, .challenge, .challengeWithdrawn, .sent, .step, .newBody: break
        }
        return .deliver
    }

    enum Delivered: Equatable {
        case flow(Flow)
        /// The load is over, and the client has been notified.
        case over
        /// The load is over, and the client has not been notified yet.
        case report(ContractRule?)
    }

    /// The client has returned from the event that ``begin(_:rules:)`` allowed.
    mutating func endDelivery(of event: Event, flow: Flow) -> Delivered {
        flags.remove(.delivering)
        if flags.contains(.overlapped), phase != .redirected, !flags.contains(.owesEnd) {
            let endWasReported = phase == .ended
            stop(sawStopped: event.returnsFlow)
            return endWasReported ? .over : .report(.eventsAreSerial)
        }
        if isOver {
            if event.returnsFlow { flags.insert(.sawStopped) }
            return flags.contains(.owesEnd) ? .report(nil) : .over
        }
        guard event.returnsFlow else { return .flow(.keepGoing) }
        if event == .redirect { return redirectReturned(flow) }
        switch flow {
        case .stopped:
            stop(sawStopped: true)
            return .over
        case .pause where !flags.contains(.resumedEarly):
            flags.insert(.heldByReader)
        case .pause, .keepGoing:
            break
        }
        return .flow(pauseIfHeld())
    }

    private mutating func redirectReturned(_ flow: Flow) -> Delivered {
        switch flow {
        case .stopped:
            phase = .redirected
            flags.insert(.sawStopped)
            return .over
        case .pause where !flags.contains(.declinedEarly):
            phase = .deciding
            flags.insert([.paused, .heldByReader])
            return .flow(.pause)
        case .pause, .keepGoing:
            phase = .declined
            return .flow(pauseIfHeld())
        }
    }

    private mutating func pauseIfHeld() -> Flow {
        guard !flags.isDisjoint(with: .holds) else { return .keepGoing }
        flags.insert(.paused)
        return .pause
    }

    private mutating func stop(sawStopped: Bool) {
        phase = .stopped
        if sawStopped { flags.insert(.sawStopped) }
    }

    // MARK: The core's calls

    /// `makeLoad` has returned.
    mutating func made() {
        if phase == .making { phase = .made }
    }

    /// - Returns: whether the caller must start the load.
    mutating func start() -> Bool {
        guard phase == .made else { return false }
        phase = .awaitingResponse
        return true
    }

    enum End: Equatable {
        /// The load was already over.
        case nothing
        /// A redirect was followed. No end is reported.
        case redirected
        /// Report the end now.
        case now
        /// An event is being delivered. The delivering thread reports the end.
        case later
    }

    /// Ends the load on behalf of the core or the caller.
    mutating func end() -> End {
        guard !isOver else { return phase == .redirected ? .redirected : .nothing }
        phase = .stopped
        guard flags.contains(.delivering) else { return .now }
        flags.insert(.owesEnd)
        return .later
    }

    /// Records that a nested load waits for the delegate.
    ///
    /// - Returns: whether an event is being delivered. Its thread then yields the delegate, if this load still retains
    ///   it.
    mutating func requestYield() -> Bool {
        flags.insert(.owesDelegate)
        return flags.contains(.delivering)
    }

    /// Clears the request to yield, after the end of a delivery.
    ///
    /// - Returns: whether the caller must yield the delegate.
    mutating func takePendingYield() -> Bool {
        flags.remove(.owesDelegate) != nil
    }

    /// Follows a redirect whose decision was deferred.
    ///
    /// - Returns: whether the caller must stop the load.
    mutating func takeRedirect() -> Bool {
        guard !isOver else { return false }
        phase = .redirected
        return true
    }

    /// Records that `stopLoading` has returned. After that the load begins no other call, except with
    /// ``ProtocolLoad/stopsInTurn``.
    mutating func stopReturned() {
        flags.insert(.stopReturned)
    }

    /// The reader wants more. Has no effect while a redirect is being decided.
    ///
    /// - Returns: whether the caller must resume the load.
    mutating func resume() -> Bool {
        guard phase != .deciding else { return false }
        if flags.contains(.delivering) { flags.insert(.resumedEarly) }
        return release(.heldByReader)
    }

    /// Declines a redirect.
    ///
    /// - Returns: whether the caller must resume the load.
    mutating func declineRedirect() -> Bool {
        guard phase == .deciding else {
            if flags.contains(.delivering) { flags.insert(.declinedEarly) }
            return false
        }
        phase = .declined
        return release(.heldByReader)
    }

    mutating func suspend() {
        flags.insert(.heldBySuspension)
    }

    /// - Returns: whether the caller must resume the load.
    mutating func unsuspend() -> Bool {
        release(.heldBySuspension)
    }

    private mutating func release(_ hold: Flags) -> Bool {
        flags.remove(hold)
        guard flags.contains(.paused), flags.isDisjoint(with: .holds), !isOver else { return false }
        flags.remove(.paused)
        return true
    }

    // MARK: After the end

    private mutating func afterEnd(_ event: Event) -> Verdict {
        switch phase {
        case .redirected where flags.contains(.sawStopped):
            return .lateViolation(.nothingAfterRedirect)
        case .ended:
            return .lateViolation(event == .finish || event == .failure ? .oneEnd : .nothingAfterEnd)
        case .making, .made, .awaitingResponse, .deciding, .declined, .confirmed, .receiving, .trailing, .stopped, .redirected:
            break
        }
        defer { if event.returnsFlow { flags.insert(.sawStopped) } }
        if event.returnsFlow, flags.contains(.sawStopped) { return .lateViolation(.stoppedIsLast) }
        return flags.contains(.stopReturned) ? .lateViolation(.stopIsKept) : .drop
    }
}
