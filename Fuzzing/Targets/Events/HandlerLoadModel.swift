// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// A second implementation of the contract for one handler load. It follows the contract's rules one by one, and need
/// not be fast.
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
    private var isPausedByReader = false
    private var isPausedByCaller = false
    private var wasResumedEarly = false
    private var hasOverlap = false
    /// The end to deliver after the current delivery.
    private(set) var pendingEnd: Ending?
    private var receivedStop = false
    private(set) var wasStopped = false
    /// The remaining bytes, if the response announced its length.
    private var remainingBytes: Int64?
    private(set) var resumeCount = 0

    init(traits: Traits, isSuspended: Bool) {
        self.traits = traits
        isPausedByCaller = isSuspended
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
            hasOverlap = true
            return .dropped
        }
        if let rule = violatedRule(by: event) {
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

    /// Returns the rule that the event violates now.
    private func violatedRule(by event: EventKind) -> ContractRule? {
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
        if stage == .redirected, receivedStop { return .lateViolation(.nothingAfterRedirect) }
        let hadReceivedStop = receivedStop
        if event.returnsFlow { receivedStop = true }
        if event.returnsFlow, hadReceivedStop { return .lateViolation(.stoppedIsLast) }
        return wasStopped && !traits.isBlocking ? .lateViolation(.stopIsKept) : .dropped
    }

    /// Records the length that a response announces.
    ///
    /// - Returns: Whether the length of the previous response was not kept, so that the client never receives the
    ///   event.
    mutating func recordLength(_ expected: Int64?) -> Bool {
        let previouslyRemaining = remainingBytes
        remainingBytes = expected
        return traits.hasBody && (previouslyRemaining ?? 0) > 0
    }

    /// Records the number of delivered bytes.
    ///
    /// - Returns: Whether there are more bytes than announced, so that the client never receives the event.
    mutating func recordBytes(_ count: Int64) -> Bool {
        guard let remainingBytes else { return false }
        if count > remainingBytes { return true }
        self.remainingBytes = remainingBytes - count
        return false
    }

    /// Records that the client has returned from an event.
    ///
    /// - Returns: The flow that the load receives, and the end that follows the event.
    mutating func delivered(_ event: EventKind, returned: Flow) -> (Flow, Ending?) {
        isDelivering = false
        if hasOverlap, stage != .redirected, pendingEnd == nil {
            let wasOver = stage == .ended
            if event.returnsFlow { receivedStop = true }
            stage = .stopped
            guard !wasOver else { return (.stopped, nil) }
            wasStopped = true
            return (.stopped, .violation(of: .eventsAreSerial))
        }
        if isOver {
            if event.returnsFlow { receivedStop = true }
            defer { pendingEnd = nil }
            return (.stopped, pendingEnd)
        }
        guard event.returnsFlow else { return (.keepGoing, nil) }
        switch (event, returned) {
        case (_, .stopped):
            // A stop by the caller would have ended the load before, so a redirect was followed.
            stage = event == .redirect ? .redirected : .stopped
            receivedStop = true
            return (.stopped, nil)
        case (.redirect, .pause):
            stage = .deciding
            (isPaused, isPausedByReader) = (true, true)
            return (.pause, nil)
        case (.redirect, .keepGoing): stage = .declined
        case (_, .pause): if !wasResumedEarly { isPausedByReader = true }
        case (_, .keepGoing): break
        }
        isPaused = isPausedByReader || isPausedByCaller
        return (isPaused ? .pause : .keepGoing, nil)
    }

    // MARK: The caller's side

    mutating func suspend() { isPausedByCaller = true }

    mutating func unsuspend() {
        isPausedByCaller = false
        resumeIfUnpaused()
    }

    /// Records that the reader requests more data.
    mutating func resume() {
        guard stage != .deciding else { return }
        if isDelivering { wasResumedEarly = true }
        isPausedByReader = false
        resumeIfUnpaused()
    }

    /// Records a decision against a pending redirect.
    mutating func declineLate() {
        guard stage == .deciding else { return }
        stage = .declined
        isPausedByReader = false
        resumeIfUnpaused()
    }

    /// Records a decision for a pending redirect.
    mutating func followLate() {
        guard !isOver else { return }
        stage = .redirected
        wasStopped = true
    }

    /// Ends the load for a reason other than its own events.
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

    /// Resumes the load if nothing pauses it any more.
    private mutating func resumeIfUnpaused() {
        guard isPaused, !isPausedByReader, !isPausedByCaller, !isOver else { return }
        isPaused = false
        resumeCount += 1
    }
}
