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
    private(set) var expectedLoadCount = 1
    private(set) var isEnded = false
    private(set) var isSuspended = false
    /// Whether a load's `startLoading()` is running. A followed redirect waits until it returns.
    private var isInsideStart = false
    private var hasPendingRedirect = false
    /// Whether the load is about to end, so that no further redirect is followed.
    private var isEnding = false
    private var redirectCount = 0
    /// The number of the challenge without a response.
    private var openChallengeNumber: Int?

    static let redirectLimit = 3

    var currentIndex: Int { handlerLoads.count - 1 }

    // MARK: Handler loads

    mutating func didMakeLoad(_ traits: HandlerLoadModel.Traits) {
        handlerLoads.append(HandlerLoadModel(traits: traits, isSuspended: isSuspended))
    }

    mutating func didStartLoad() {
        isInsideStart = true
        handlerLoads[currentIndex].start()
    }

    mutating func didReturnFromStart() {
        isInsideStart = false
        if hasPendingRedirect, !isEnded { expectedLoadCount += 1 }
        hasPendingRedirect = false
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

    /// Counts a redirect that is in order, and returns whether the delegate decides about it.
    mutating func countRedirect(of handlerLoad: Int) -> Bool {
        redirectCount += 1
        guard redirectCount > Self.redirectLimit else { return true }
        isEnding = true
        _ = handlerLoads[handlerLoad].end(Ending(code: .tooManyRedirects))
        return false
    }

    /// Ends the load because an event violates the rule about the length.
    mutating func failForLength(_ handlerLoad: Int) {
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
        _ = gate.enqueue(.end(ending), of: currentIndex)
        _ = handlerLoads[currentIndex].end(.cancelled)
    }

    // MARK: The caller

    mutating func cancel() {
        guard !isEnded else { return gate.cancelWaitingEnd() }
        if hasPendingRedirect { return end(.cancelled) }
        isEnding = true
        if let ending = handlerLoads[currentIndex].end(.cancelled) { end(ending) }
    }

    mutating func suspend() {
        isSuspended = true
        gate.suspend()
        if !isEnded { handlerLoads[currentIndex].suspend() }
    }

    /// Records that the caller resumes the task, so that waiting events are delivered next.
    ///
    /// - Returns: Whether the reader then requests more data whatever the delegate returns.
    mutating func unsuspend() -> Bool {
        isSuspended = false
        if !isEnded { handlerLoads[currentIndex].unsuspend() }
        return !gate.resume()
    }

    /// Records that the reader requests more data.
    mutating func readMore() {
        if !isEnded { handlerLoads[currentIndex].resume() }
    }

    // MARK: Redirects

    /// - Parameter deferredBy: the handler load that got the return value "pause".
    mutating func follow(deferredBy handlerLoad: Int?) {
        let isFollowed = !isEnding && !isEnded
        if let handlerLoad, !isEnded { handlerLoads[handlerLoad].followLate() }
        guard isFollowed else { return }
        if isInsideStart { hasPendingRedirect = true } else { expectedLoadCount += 1 }
    }

    mutating func declineLate(_ handlerLoad: Int) {
        if !isEnded { handlerLoads[handlerLoad].declineLate() }
    }

    // MARK: Challenges

    mutating func openChallenge(_ number: Int) { openChallengeNumber = number }

    mutating func recordChallengeResponse(_ number: Int) {
        if openChallengeNumber == number { openChallengeNumber = nil }
    }

    /// - Returns: Whether the delegate receives the withdrawal.
    mutating func withdrawChallenge(_ number: Int) -> Bool {
        defer { recordChallengeResponse(number) }
        return openChallengeNumber == number
    }
}
