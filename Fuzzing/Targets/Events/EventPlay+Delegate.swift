// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The behavior of a play's delegate.
extension EventPlay {
    /// Records an event, and plays the delegate's steps of the script inside it.
    @discardableResult
    func didReceive(_ event: DelegateEvent) -> Flow {
        guard let isDirect = begin(event) else { return .keepGoing }
        defer { model.gate.leave() }
        let flow = playInside()
        guard event.returnsFlow, !isQueued else { return flow }
        if flow == .stopped { model.cancel() }
        if isDirect { return recordFlow(flow) }
        if flow == .keepGoing { model.readMore() }
        return flow
    }

    /// - Returns: Whether the load itself delivers the event; `false` if a waiting event is delivered; `nil` if the
    ///   delegate does nothing inside.
    private func begin(_ event: DelegateEvent) -> Bool? {
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

    /// - Returns: The return value of the delegate.
    private func playInside() -> Flow {
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        switch byte & 7 {
        case 7: return .stopped
        case 5, 6: return .pause
        default: return .keepGoing
        }
    }

    /// Records the flow that the load receives.
    private func recordFlow(_ flow: Flow) -> Flow {
        if !returnedFlows.isEmpty { returnedFlows[returnedFlows.count - 1] = flow }
        return flow
    }

    func didReceive(redirectTo request: Request, _ decide: @escaping @Sendable (RedirectDecision) -> Void) {
        guard let isDirect = begin(.redirect) else { return }
        defer { model.gate.leave() }
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        let handlerLoad = model.gate.current?.handlerLoad ?? model.current
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
            model.follow(deferredBy: handlerLoad)  // released without a decision
        }
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        let number = responseCounts.count - 1
        guard begin(.challenge) != nil else { return }
        defer { model.gate.leave() }
        let requestNumber = model.gate.current?.requestNumber ?? number
        switch playInside() {
        case .keepGoing: openChallenges.append((requestNumber, challenge))
        case .pause:
            model.noteChallengeResponse(requestNumber)
            challenge.answer(.cancel)
        case .stopped: model.noteChallengeResponse(requestNumber)  // released without a response
        }
    }

    func didReceive(newBody decide: @escaping @Sendable (Body?) -> Void) {
        if didReceive(.newBody) == .keepGoing { bodyRequests.append(decide) } else { decide(nil) }
    }
}
