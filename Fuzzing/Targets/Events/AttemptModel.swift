// SPDX-License-Identifier: Apache-2.0

import Portolan

/// What the contract says of one attempt, written down a second time: by its rules, with an enum for each question, and with no thought of speed.
///
/// It knows no threads: what happens during a delivery comes between ``judge(_:bytes:)`` and ``delivered(_:answer:)``.
struct AttemptModel {
    enum Stage { case made, awaiting, deciding, declined, receiving, trailing, ended, redirected, stopped }

    enum Verdict: Equatable {
        case delivered
        /// Without harm: it overlaps, or the load was stopped.
        case dropped
        case breach(ContractRule)
        /// Too late to fail the load.
        case lateBreach(ContractRule)
    }

    struct Traits {
        var allowsParts = false
        var isBlocking = false
        var hasBody = true
    }

    let traits: Traits
    private(set) var stage = Stage.made
    private(set) var isDelivering = false
    /// The load was told to pause.
    private(set) var isPaused = false
    private var readerHolds = false
    private var callerHolds = false
    private var wasResumedEarly = false
    private var overlapped = false
    /// The end to be told once the delivery is over.
    private(set) var owedEnd: Ending?
    private var sawStop = false
    private(set) var wasToldToStop = false
    /// Bytes to come, where the response said how many.
    private var owedBytes: Int64?
    private(set) var resumes = 0

    init(traits: Traits, isSuspended: Bool) {
        self.traits = traits
        callerHolds = isSuspended
    }

    var isOver: Bool { [.ended, .redirected, .stopped].contains(stage) }

    // MARK: The handler's events

    mutating func start() { stage = .awaiting }

    /// What becomes of an event. After `.delivered`, ``delivered(_:answer:)`` follows.
    mutating func judge(_ event: EventKind) -> Verdict {
        if event == .finish, !isOver, traits.hasBody, let owedBytes, owedBytes > 0 {
            if isDelivering { owedEnd = .breach(of: .lengthIsKept) }
            stop()
            return .breach(.lengthIsKept)
        }
        if isOver { return judgeLate(event) }
        if isDelivering {
            overlapped = true
            return .dropped
        }
        if let rule = rule(against: event) {
            stop()
            return .breach(rule)
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

    private mutating func judgeLate(_ event: EventKind) -> Verdict {
        if stage == .ended { return .lateBreach(event == .finish || event == .failure ? .oneEnd : .nothingAfterEnd) }
        if stage == .redirected, sawStop { return .lateBreach(.nothingAfterRedirect) }
        let sawStopBefore = sawStop
        if event.hasAnswer { sawStop = true }
        if event.hasAnswer, sawStopBefore { return .lateBreach(.stoppedIsLast) }
        return wasToldToStop && !traits.isBlocking ? .lateBreach(.stopIsKept) : .dropped
    }

    /// The length of a response, or the bytes of a piece, that is being delivered.
    ///
    /// - Returns: whether they break the rule that the length is kept, so that the client never sees them.
    mutating func takeLength(_ expected: Int64?) -> Bool {
        let wasOwed = owedBytes
        owedBytes = expected
        return traits.hasBody && (wasOwed ?? 0) > 0
    }

    mutating func takeBytes(_ count: Int64) -> Bool {
        guard let owedBytes else { return false }
        if count > owedBytes { return true }
        self.owedBytes = owedBytes - count
        return false
    }

    /// What the load is answered, and the end that its client is then told.
    mutating func delivered(_ event: EventKind, answer: Flow) -> (Flow, Ending?) {
        isDelivering = false
        if overlapped, stage != .redirected, owedEnd == nil {
            let wasOver = stage == .ended
            if event.hasAnswer { sawStop = true }
            stage = .stopped
            guard !wasOver else { return (.stopped, nil) }
            wasToldToStop = true
            return (.stopped, .breach(of: .eventsAreSerial))
        }
        if isOver {
            if event.hasAnswer { sawStop = true }
            defer { owedEnd = nil }
            return (.stopped, owedEnd)
        }
        guard event.hasAnswer else { return (.keepGoing, nil) }
        switch (event, answer) {
        case (_, .stopped):
            // A caller's stop has ended the load before this: what stops here is a redirect that is taken.
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

    /// The reader wants more.
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
        wasToldToStop = true
    }

    /// Ends it from outside.
    ///
    /// - Returns: the end that is to be told now; one that comes during a delivery is told after it.
    mutating func end(_ ending: Ending) -> Ending? {
        guard !isOver else { return nil }
        stop()
        guard isDelivering else { return ending }
        owedEnd = ending
        return nil
    }

    private mutating func stop() {
        stage = .stopped
        wasToldToStop = true
    }

    private mutating func release() {
        guard isPaused, !readerHolds, !callerHolds, !isOver else { return }
        isPaused = false
        resumes += 1
    }
}
