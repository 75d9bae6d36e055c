// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// Models the contract for a whole load with its handler loads: the events that the delegate receives, and the reported
/// violations.
struct TaskModel {
    var gate = GateModel()
    private(set) var violations: [ContractRule] = []
    /// One for each load that the handler made.
    var handlerLoads: [HandlerLoadModel] = []
    private(set) var launches = 1
    private(set) var isEnded = false
    private(set) var isSuspended = false
    /// Whether a load is inside its start; a followed redirect waits until the start returns.
    private var isLaunching = false
    private var successorWaits = false
    /// Whether the load is being ended, so that no further redirect is followed.
    private var isEnding = false
    private var redirects = 0
    /// The number of the challenge without a response.
    private var waitingChallenge: Int?

    static let redirectLimit = 3

    var current: Int { handlerLoads.count - 1 }

    // MARK: Handler loads

    mutating func made(_ traits: HandlerLoadModel.Traits) {
        handlerLoads.append(HandlerLoadModel(traits: traits, isSuspended: isSuspended))
    }

    mutating func started() {
        isLaunching = true
        handlerLoads[current].start()
    }

    mutating func startDidReturn() {
        isLaunching = false
        if successorWaits, !isEnded { launches += 1 }
        successorWaits = false
    }

    // MARK: Events

    /// Decides about an event of a handler load, and records the immediate consequences.
    mutating func check(_ event: EventKind, of handlerLoad: Int) -> HandlerLoadModel.Verdict {
        let verdict = handlerLoads[handlerLoad].check(event)
        switch verdict {
        case .delivered, .dropped: break
        case .lateViolation(let rule): violations.append(rule)
        case .violation(let rule):
            violations.append(rule)
            if handlerLoads[handlerLoad].pendingEnd == nil { end(.violation(of: rule)) } else { isEnding = true }
        }
        return verdict
    }

    /// Counts a redirect that passed the order, and returns whether the delegate decides about it.
    mutating func countRedirect(of handlerLoad: Int) -> Bool {
        redirects += 1
        guard redirects > Self.redirectLimit else { return true }
        isEnding = true
        _ = handlerLoads[handlerLoad].end(Ending(code: .tooManyRedirects))
        return false
    }

    /// An event in delivery violates the rule about the length.
    mutating func breakOff(_ handlerLoad: Int) {
        violations.append(.lengthIsKept)
        _ = handlerLoads[handlerLoad].end(.violation(of: .lengthIsKept))
    }

    /// Called when the client returns from an event.
    ///
    /// - Returns: The client's return value.
    mutating func delivered(_ event: EventKind, of handlerLoad: Int, returned: Flow) -> Flow {
        let (flow, ending) = handlerLoads[handlerLoad].delivered(event, returned: returned)
        if let ending {
            if ending.rule == .eventsAreSerial { violations.append(.eventsAreSerial) }
            end(ending)
        }
        return flow
    }

    /// Ends the load; the delegate receives the end once.
    mutating func end(_ ending: Ending?) {
        guard !isEnded else { return }
        isEnded = true
        _ = gate.enqueue(.end(ending), of: current)
        _ = handlerLoads[current].end(.cancelled)
    }

    // MARK: The caller

    mutating func cancel() {
        guard !isEnded else { return gate.cancelWaitingEnd() }
        if successorWaits { return end(.cancelled) }
        isEnding = true
        if let ending = handlerLoads[current].end(.cancelled) { end(ending) }
    }

    mutating func suspend() {
        isSuspended = true
        gate.hold()
        if !isEnded { handlerLoads[current].suspend() }
    }

    /// The caller resumes the task, and waiting events are delivered next.
    ///
    /// - Returns: Whether the reader then requests more, independent of its return values.
    mutating func unsuspend() -> Bool {
        isSuspended = false
        if !isEnded { handlerLoads[current].unsuspend() }
        return !gate.release()
    }

    /// The reader requests more.
    mutating func readMore() {
        if !isEnded { handlerLoads[current].resume() }
    }

    // MARK: Redirects

    /// - Parameter deferredBy: the handler load that got the return value "pause".
    mutating func follow(deferredBy handlerLoad: Int?) {
        let isFollowed = !isEnding && !isEnded
        if let handlerLoad, !isEnded { handlerLoads[handlerLoad].takeLate() }
        guard isFollowed else { return }
        if isLaunching { successorWaits = true } else { launches += 1 }
    }

    mutating func declineLate(_ handlerLoad: Int) {
        if !isEnded { handlerLoads[handlerLoad].declineLate() }
    }

    // MARK: Challenges

    mutating func challenge(_ number: Int) { waitingChallenge = number }

    mutating func noteChallengeResponse(_ number: Int) {
        if waitingChallenge == number { waitingChallenge = nil }
    }

    /// - Returns: Whether the delegate receives the withdrawal.
    mutating func challengeIsWithdrawn(_ number: Int) -> Bool {
        defer { noteChallengeResponse(number) }
        return waitingChallenge == number
    }
}
