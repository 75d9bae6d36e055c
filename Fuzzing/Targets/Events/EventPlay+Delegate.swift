// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The behavior of a play's delegate.
extension EventPlay {
    /// Records an event, and plays the script's steps that the delegate does while it handles the event.
    @discardableResult
    func didReceive(_ event: DelegateEvent) -> Flow {
        guard let isDirect = beginHandling(event) else { return .keepGoing }
        defer { model.gate.leave() }
        let flow = playStepInDelegate()
        guard event.returnsFlow, !isQueued else { return flow }
        if flow == .stopped { model.cancel() }
        if isDirect { return recordFlow(flow) }
        if flow == .keepGoing { model.readMore() }
        return flow
    }

    /// - Returns: `true` if the load itself delivers the event; `false` if the event waited before; `nil` if the
    ///   delegate plays no steps while it handles the event.
    private func beginHandling(_ event: DelegateEvent) -> Bool? {
        received.append(event)
        if case .end = event {
            model.gate.enterEnd()
            return nil
        }
        if isQueued { return true }
        guard let isDirect = model.gate.enter() else {
            finding = finding ?? FuzzFinding("the delegate received the unexpected event \(event); received: \(received)")
            return nil
        }
        return isDirect
    }

    /// Plays at most one step while the delegate handles an event.
    ///
    /// - Returns: The return value of the delegate.
    private func playStepInDelegate() -> Flow {
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        switch byte & 7 {
        case 7: return .stopped
        case 5, 6: return .pause
        default: return .keepGoing
        }
    }

    /// Records the flow that the delegate returns to the load.
    private func recordFlow(_ flow: Flow) -> Flow {
        if !returnedFlows.isEmpty { returnedFlows[returnedFlows.count - 1] = flow }
        return flow
    }

    func didReceive(redirectTo request: Request, _ decide: @escaping @Sendable (RedirectDecision) -> Void) {
        guard let isDirect = beginHandling(.redirect) else { return }
        defer { model.gate.leave() }
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        let handlerLoad = model.gate.current?.handlerLoad ?? model.currentIndex
        switch byte & 3 {
        case 0:
            if !isQueued { model.follow(deferredBy: isDirect ? nil : handlerLoad) }
            if isDirect { _ = recordFlow(.stopped) }
            decide(.follow(request))
        case 1:
            if isDirect { _ = recordFlow(.keepGoing) } else { model.declineLate(handlerLoad) }
            decide(.deliver)
        case 2:
            if isDirect { _ = recordFlow(.pause) }
            decisions.append((handlerLoad, request, decide))
        default:
            if isDirect { _ = recordFlow(.pause) }
            model.follow(deferredBy: handlerLoad)  // because `decide` is released without a decision
        }
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        let lastRequestNumber = responseCounts.count - 1
        guard beginHandling(.challenge) != nil else { return }
        defer { model.gate.leave() }
        let requestNumber = model.gate.current?.requestNumber ?? lastRequestNumber
        switch playStepInDelegate() {
        case .keepGoing: openChallenges.append((requestNumber, challenge))
        case .pause:
            model.recordChallengeResponse(requestNumber)
            challenge.answer(.cancel)
        case .stopped: model.recordChallengeResponse(requestNumber)  // because the challenge is released without a response
        }
    }

    func didReceive(newBody decide: @escaping @Sendable (Body?) -> Void) {
        if didReceive(.newBody) == .keepGoing { bodyRequests.append(decide) } else { decide(nil) }
    }
}
