// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// A second implementation of the contract for one handler load, by its rules, with one enum for each decision, and
/// without regard to speed.
///
/// It has no threads: events during a delivery come between ``check(_:)`` and ``delivered(_:returned:)``.
struct HandlerLoadModel {
    enum Stage { case made, awaiting, deciding, declined, receiving, trailing, ended, redirected, stopped }

    enum Verdict: Equatable {
        case delivered
        /// Dropped, because the event overlaps another one or the load was stopped.
        case dropped
        case violation(ContractRule)
        /// A violation that is too late to fail the load.
        case lateViolation(ContractRule)
    }

    struct Traits {
        var allowsParts = false
        var isBlocking = false
        var hasBody = true
    }

    let traits: Traits
    private(set) var stage = Stage.made
    private(set) var isDelivering = false
    /// Whether the client paused the load.
    private(set) var isPaused = false
    private var readerHolds = false
    private var callerHolds = false
    private var wasResumedEarly = false
    private var overlapped = false
    /// The end to deliver after the current delivery.
    private(set) var pendingEnd: Ending?
    private var sawStop = false
    private(set) var wasStopped = false
    /// The remaining bytes, if the response announced its length.
    private var remainingBytes: Int64?
    private(set) var resumes = 0

    init(traits: Traits, isSuspended: Bool) {
        self.traits = traits
        callerHolds = isSuspended
    }

    var isOver: Bool { [.ended, .redirected, .stopped].contains(stage) }

    // MARK: The handler's events

    mutating func start() { stage = .awaiting }

    /// Decides about an event. After `.delivered`, the caller calls ``delivered(_:returned:)``.
    mutating func check(_ event: EventKind) -> Verdict {
        if event == .finish, !isOver, traits.hasBody, let remainingBytes, remainingBytes > 0 {
            if isDelivering { pendingEnd = .violation(of: .lengthIsKept) }
            stop()
            return .violation(.lengthIsKept)
        }
        if isOver { return checkLateEvent(event) }
        if isDelivering {
            overlapped = true
            return .dropped
        }
        if let rule = rule(against: event) {
            stop()
            return .violation(rule)
        }
        isDelivering = true
        wasResumedEarly = false
        switch event {
        case .finish, .failure: stage = .ended
        case .response: stage = .receiving
        case .trailers: stage = .trailing
        default: break
        }
        return .delivered
    }

    private func rule(against event: EventKind) -> ContractRule? {
        if isPaused {
            if event == .finish { return .noFinishWhilePaused }
            if event.isDelivery { return .pauseIsKept }
        }
        switch (event, stage) {
        case (.interim, .awaiting), (.redirect, .awaiting): return nil
        case (.interim, .declined), (.redirect, .declined), (.confirmation, .declined): return .nothingAfterRedirect
        case (.interim, _), (.redirect, _): return .headBeforeBodyBeforeTrailers
        case (.confirmation, _): return .confirmsOnlyWhatWasOffered
        case (.response, .receiving): return traits.allowsParts ? nil : .oneResponse
        case (.data, .awaiting), (.trailers, .awaiting), (.finish, .awaiting): return .responseFirst
        case (.data, .declined), (.trailers, .declined), (.finish, .declined): return .responseFirst
        case (.finish, .trailing): return nil
        case (.response, .trailing), (.data, .trailing), (.trailers, .trailing), (.challenge, .trailing), (.newBody, .trailing):
            return .headBeforeBodyBeforeTrailers
        default: return nil
        }
    }

    private mutating func checkLateEvent(_ event: EventKind) -> Verdict {
        if stage == .ended { return .lateViolation(event == .finish || event == .failure ? .oneEnd : .nothingAfterEnd) }
        if stage == .redirected, sawStop { return .lateViolation(.nothingAfterRedirect) }
        let sawStopBefore = sawStop
        if event.returnsFlow { sawStop = true }
        if event.returnsFlow, sawStopBefore { return .lateViolation(.stoppedIsLast) }
        return wasStopped && !traits.isBlocking ? .lateViolation(.stopIsKept) : .dropped
    }

    /// Records the length of a response in delivery, or the number of its delivered bytes.
    ///
    /// - Returns: Whether the rule about the length is violated, so that the client never receives the event.
    mutating func takeLength(_ expected: Int64?) -> Bool {
        let previouslyRemaining = remainingBytes
        remainingBytes = expected
        return traits.hasBody && (previouslyRemaining ?? 0) > 0
    }

    mutating func takeBytes(_ count: Int64) -> Bool {
        guard let remainingBytes else { return false }
        if count > remainingBytes { return true }
        self.remainingBytes = remainingBytes - count
        return false
    }

    /// Returns the flow for the load, and the end that its client then receives.
    mutating func delivered(_ event: EventKind, returned: Flow) -> (Flow, Ending?) {
        isDelivering = false
        if overlapped, stage != .redirected, pendingEnd == nil {
            let wasOver = stage == .ended
            if event.returnsFlow { sawStop = true }
            stage = .stopped
            guard !wasOver else { return (.stopped, nil) }
            wasStopped = true
            return (.stopped, .violation(of: .eventsAreSerial))
        }
        if isOver {
            if event.returnsFlow { sawStop = true }
            defer { pendingEnd = nil }
            return (.stopped, pendingEnd)
        }
        guard event.returnsFlow else { return (.keepGoing, nil) }
        switch (event, returned) {
        case (_, .stopped):
            // A stop by the caller has ended the load before, so this is a redirect that is followed.
            stage = event == .redirect ? .redirected : .stopped
            sawStop = true
            return (.stopped, nil)
        case (.redirect, .pause):
            stage = .deciding
            (isPaused, readerHolds) = (true, true)
            return (.pause, nil)
        case (.redirect, .keepGoing): stage = .declined
        case (_, .pause): if !wasResumedEarly { readerHolds = true }
        case (_, .keepGoing): break
        }
        isPaused = readerHolds || callerHolds
        return (isPaused ? .pause : .keepGoing, nil)
    }

    // MARK: The caller's side

    mutating func suspend() { callerHolds = true }

    mutating func unsuspend() {
        callerHolds = false
        release()
    }

    /// The reader requests more.
    mutating func resume() {
        guard stage != .deciding else { return }
        if isDelivering { wasResumedEarly = true }
        readerHolds = false
        release()
    }

    mutating func declineLate() {
        guard stage == .deciding else { return }
        stage = .declined
        readerHolds = false
        release()
    }

    mutating func takeLate() {
        guard !isOver else { return }
        stage = .redirected
        wasStopped = true
    }

    /// Ends the load from outside.
    ///
    /// - Returns: The end to deliver at once; during a delivery, the end follows it.
    mutating func end(_ ending: Ending) -> Ending? {
        guard !isOver else { return nil }
        stop()
        guard isDelivering else { return ending }
        pendingEnd = ending
        return nil
    }

    private mutating func stop() {
        stage = .stopped
        wasStopped = true
    }

    private mutating func release() {
        guard isPaused, !readerHolds, !callerHolds, !isOver else { return }
        isPaused = false
        resumes += 1
    }
}
