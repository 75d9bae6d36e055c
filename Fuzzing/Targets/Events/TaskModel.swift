// SPDX-License-Identifier: Apache-2.0

import Portolan

/// What the contract says of a whole load, through its attempts: what the delegate hears, and which breaches are reported.
struct TaskModel {
    var gate = GateModel()
    private(set) var breaches: [ContractRule] = []
    /// One for each load that the handler was asked for.
    var attempts: [AttemptModel] = []
    private(set) var launches = 1
    private(set) var isEnded = false
    private(set) var isSuspended = false
    /// A load is inside its start: a redirect that is followed waits until that returns.
    private var isLaunching = false
    private var successorWaits = false
    /// Someone ends the load: no redirect is followed any more.
    private var isEnding = false
    private var redirects = 0
    /// The number of the challenge that waits for an answer.
    private var waitingChallenge: Int?

    static let redirectLimit = 3

    var current: Int { attempts.count - 1 }

    // MARK: Attempts

    mutating func made(_ traits: AttemptModel.Traits) {
        attempts.append(AttemptModel(traits: traits, isSuspended: isSuspended))
    }

    mutating func started() {
        isLaunching = true
        attempts[current].start()
    }

    mutating func startReturned() {
        isLaunching = false
        if successorWaits, !isEnded { launches += 1 }
        successorWaits = false
    }

    // MARK: Events

    /// Judges an event of an attempt's, and notes what follows at once.
    mutating func judge(_ event: EventKind, of attempt: Int) -> AttemptModel.Verdict {
        let verdict = attempts[attempt].judge(event)
        switch verdict {
        case .delivered, .dropped: break
        case .lateBreach(let rule): breaches.append(rule)
        case .breach(let rule):
            breaches.append(rule)
            if attempts[attempt].owedEnd == nil { end(.breach(of: rule)) } else { isEnding = true }
        }
        return verdict
    }

    /// What a redirect that passed the order is worth: whether the delegate is asked.
    mutating func countRedirect(of attempt: Int) -> Bool {
        redirects += 1
        guard redirects > Self.redirectLimit else { return true }
        isEnding = true
        _ = attempts[attempt].end(Ending(code: .tooManyRedirects))
        return false
    }

    /// An event that is being delivered breaks the rule that the length is kept.
    mutating func breakOff(_ attempt: Int) {
        breaches.append(.lengthIsKept)
        _ = attempts[attempt].end(.breach(of: .lengthIsKept))
    }

    /// The client has returned from an event.
    ///
    /// - Returns: what it answers.
    mutating func delivered(_ event: EventKind, of attempt: Int, answer: Flow) -> Flow {
        let (flow, ending) = attempts[attempt].delivered(event, answer: answer)
        if let ending {
            if ending.rule == .eventsAreSerial { breaches.append(.eventsAreSerial) }
            end(ending)
        }
        return flow
    }

    /// The load is over: the delegate hears it once.
    mutating func end(_ ending: Ending?) {
        guard !isEnded else { return }
        isEnded = true
        _ = gate.put(.end(ending), of: current)
        _ = attempts[current].end(.cancelled)
    }

    // MARK: The caller

    mutating func cancel() {
        guard !isEnded else { return gate.cancelWaitingEnd() }
        if successorWaits { return end(.cancelled) }
        isEnding = true
        if let ending = attempts[current].end(.cancelled) { end(ending) }
    }

    mutating func suspend() {
        isSuspended = true
        gate.hold()
        if !isEnded { attempts[current].suspend() }
    }

    /// The caller resumes: what waits for the delegate is told next.
    ///
    /// - Returns: whether the reader wants more after that, whatever it answers.
    mutating func unsuspend() -> Bool {
        isSuspended = false
        if !isEnded { attempts[current].unsuspend() }
        return !gate.release()
    }

    /// The reader wants more.
    mutating func readMore() {
        if !isEnded { attempts[current].resume() }
    }

    // MARK: Redirects

    /// - Parameter wasPutOff: the answer to the handler was "pause".
    mutating func follow(wasPutOff attempt: Int?) {
        let isFollowed = !isEnding && !isEnded
        if let attempt, !isEnded { attempts[attempt].takeLate() }
        guard isFollowed else { return }
        if isLaunching { successorWaits = true } else { launches += 1 }
    }

    mutating func declineLate(_ attempt: Int) {
        if !isEnded { attempts[attempt].declineLate() }
    }

    // MARK: Challenges

    mutating func challenge(_ number: Int) { waitingChallenge = number }

    mutating func challengeWasAnswered(_ number: Int) {
        if waitingChallenge == number { waitingChallenge = nil }
    }

    /// - Returns: whether the delegate hears of it.
    mutating func challengeIsWithdrawn(_ number: Int) -> Bool {
        defer { challengeWasAnswered(number) }
        return waitingChallenge == number
    }
}
