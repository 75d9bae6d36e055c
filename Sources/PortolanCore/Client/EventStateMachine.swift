// SPDX-License-Identifier: Apache-2.0

/// The order of one load's events: decides for each call between a load and its client whether it may pass.
///
/// A pure machine of four bytes, so that it fits in an atomic and an event costs one exchange before and one after its delivery.
struct EventStateMachine: Equatable, Sendable {
    enum Phase: UInt8, CaseIterable {
        /// `makeLoad` has not returned.
        case making
        /// Made, not started.
        case made
        case awaitingResponse
        /// A redirect was offered and the client takes its time.
        case deciding
        /// A redirect was not taken: its response and body must follow.
        case declined
        /// The stored response is still right: only the finish may follow.
        case confirmed
        case receiving
        /// The trailers have come.
        case trailing
        /// The load reported its end.
        case ended
        /// A redirect was taken.
        case redirected
        /// The core or the client ended the load.
        case stopped
    }

    struct Flags: OptionSet, Equatable {
        let rawValue: UInt16
        /// An event is with the client just now.
        static let delivering = Self(rawValue: 1 << 0)
        /// The load was told to pause, and not yet to resume.
        static let paused = Self(rawValue: 1 << 1)
        /// Reasons to pause: a slow reader, the caller's suspend.
        static let heldByReader = Self(rawValue: 1 << 2)
        static let heldBySuspension = Self(rawValue: 1 << 3)
        /// The reader asked for more while the event that it answers with `.pause` was still with it.
        static let resumedEarly = Self(rawValue: 1 << 4)
        /// Another event came during a delivery: ORDER-05, to be reported by whoever delivers.
        static let overlapped = Self(rawValue: 1 << 5)
        /// Someone ended the load during a delivery: whoever delivers reports it.
        static let owesEnd = Self(rawValue: 1 << 6)
        /// The load was answered `.stopped` by a call that has an answer.
        static let sawStopped = Self(rawValue: 1 << 7)
        /// `stopLoading` has returned, of a load whose events end with that.
        static let stopReturned = Self(rawValue: 1 << 8)

        /// A redirect was declined while the question was still with the client.
        static let declinedEarly = Self(rawValue: 1 << 9)
        /// Somebody else wants the gate to the delegate, which this load's data may keep: whoever delivers hands it over.
        static let owesDelegate = Self(rawValue: 1 << 10)

        static let holds: Self = [.heldByReader, .heldBySuspension]
    }

    /// What a load may call its client with.
    enum Event: CaseIterable {
        case interim, redirect, confirmation, response, data, trailers, finish, failure
        case challenge, challengeWithdrawn, sent, step, newBody

        /// Whether the load learns from the answer that it was stopped.
        var hasAnswer: Bool {
            switch self {
            case .redirect, .response, .data: true
            case .interim, .confirmation, .trailers, .finish, .failure, .challenge, .challengeWithdrawn, .sent, .step, .newBody: false
            }
        }
    }

    /// What the handler's traits allow.
    struct Rules: Equatable, Sendable {
        var allowsParts = false
        var offersCached = false
    }

    enum Verdict: Equatable {
        case deliver
        /// The load was stopped: nothing passes, and nothing is wrong.
        case drop
        /// The load must fail for it.
        case violation(ContractRule)
        /// The load has ended already: it can only be reported.
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

    /// A call of the load's begins. After `.deliver`, ``endDelivery(of:answer:)`` must follow.
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
        case answer(Flow)
        /// The load is over, and the client knows.
        case over
        /// The load is over, and the client has yet to hear why.
        case report(ContractRule?)
    }

    /// The client has returned from the event that ``begin(_:rules:)`` let pass.
    mutating func endDelivery(of event: Event, answer: Flow) -> Delivered {
        flags.remove(.delivering)
        if flags.contains(.overlapped), phase != .redirected, !flags.contains(.owesEnd) {
            let endWasReported = phase == .ended
            stop(sawStopped: event.hasAnswer)
            return endWasReported ? .over : .report(.eventsAreSerial)
        }
        if isOver {
            if event.hasAnswer { flags.insert(.sawStopped) }
            return flags.contains(.owesEnd) ? .report(nil) : .over
        }
        guard event.hasAnswer else { return .answer(.keepGoing) }
        if event == .redirect { return redirectAnswered(answer) }
        switch answer {
        case .stopped:
            stop(sawStopped: true)
            return .over
        case .pause where !flags.contains(.resumedEarly):
            flags.insert(.heldByReader)
        case .pause, .keepGoing:
            break
        }
        return .answer(pauseIfHeld())
    }

    private mutating func redirectAnswered(_ answer: Flow) -> Delivered {
        switch answer {
        case .stopped:
            phase = .redirected
            flags.insert(.sawStopped)
            return .over
        case .pause where !flags.contains(.declinedEarly):
            phase = .deciding
            flags.insert([.paused, .heldByReader])
            return .answer(.pause)
        case .pause, .keepGoing:
            phase = .declined
            return .answer(pauseIfHeld())
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

    /// - Returns: whether the load is to be started.
    mutating func start() -> Bool {
        guard phase == .made else { return false }
        phase = .awaitingResponse
        return true
    }

    enum End: Equatable {
        /// It was over already.
        case nothing
        /// A redirect was taken: nobody reports an end.
        case redirected
        /// Report the end now.
        case now
        /// An event is being delivered: its thread reports the end.
        case later
    }

    /// Ends the load for the core's or the caller's reasons.
    mutating func end() -> End {
        guard !isOver else { return phase == .redirected ? .redirected : .nothing }
        phase = .stopped
        guard flags.contains(.delivering) else { return .now }
        flags.insert(.owesEnd)
        return .later
    }

    /// Somebody else wants the gate to the delegate.
    ///
    /// - Returns: whether an event is being delivered: then its thread hands the gate over, where it is still kept then.
    mutating func requestYield() -> Bool {
        flags.insert(.owesDelegate)
        return flags.contains(.delivering)
    }

    /// After the end of a delivery.
    ///
    /// - Returns: whether the gate is to be handed over.
    mutating func takePendingYield() -> Bool {
        flags.remove(.owesDelegate) != nil
    }

    /// The redirect that was offered is taken after all.
    ///
    /// - Returns: whether the load is to be told to stop.
    mutating func takeRedirect() -> Bool {
        guard !isOver else { return false }
        phase = .redirected
        return true
    }

    /// `stopLoading` has returned, and with that the load promises that no other call begins (not with ``ProtocolLoad/stopsInTurn``).
    mutating func stopReturned() {
        flags.insert(.stopReturned)
    }

    /// The reader wants more. While a redirect is being decided there is nothing to give.
    ///
    /// - Returns: whether the load is to be resumed.
    mutating func resume() -> Bool {
        guard phase != .deciding else { return false }
        if flags.contains(.delivering) { flags.insert(.resumedEarly) }
        return release(.heldByReader)
    }

    /// A redirect that was offered is not taken.
    ///
    /// - Returns: whether the load is to be resumed.
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

    /// - Returns: whether the load is to be resumed.
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
        defer { if event.hasAnswer { flags.insert(.sawStopped) } }
        if event.hasAnswer, flags.contains(.sawStopped) { return .lateViolation(.stoppedIsLast) }
        return flags.contains(.stopReturned) ? .lateViolation(.stopIsKept) : .drop
    }
}
