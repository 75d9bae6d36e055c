// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The behavior of a play's delegate.
extension EventPlay {
    /// Records an event, and plays the delegate's steps of the script inside it.
    @discardableResult
    func hears(_ event: Heard) -> Flow {
        guard let isDirect = begin(event) else { return .keepGoing }
        defer { model.gate.leave() }
        let flow = playInside()
        guard event.hasAnswer, !isQueued else { return flow }
        if flow == .stopped { model.cancel() }
        if isDirect { return answer(flow) }
        if flow == .keepGoing { model.readMore() }
        return flow
    }

    /// - Returns: Whether the load itself delivers the event; `false` if a waiting event is delivered; `nil` if the
    ///   delegate does nothing inside.
    private func begin(_ event: Heard) -> Bool? {
        heard.append(event)
        if case .end = event {
            model.gate.enterEnd()
            return nil
        }
        if isQueued { return true }
        guard let isDirect = model.gate.enter() else {
            finding = finding ?? FuzzFinding("the delegate was told \(event), which nobody owed it; heard: \(heard)")
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
    private func answer(_ flow: Flow) -> Flow {
        if !answers.isEmpty { answers[answers.count - 1] = flow }
        return flow
    }

    func hears(redirectTo request: Request, _ decide: @escaping @Sendable (RedirectDecision) -> Void) {
        guard let isDirect = begin(.redirect) else { return }
        defer { model.gate.leave() }
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        let attempt = model.gate.current?.attempt ?? model.current
        switch byte & 3 {
        case 0:
            if !isQueued { model.follow(wasPutOff: isDirect ? nil : attempt) }
            if isDirect { _ = answer(.stopped) }
            decide(.follow(request))
        case 1:
            if isDirect { _ = answer(.keepGoing) } else { model.declineLate(attempt) }
            decide(.deliver)
        case 2:
            if isDirect { _ = answer(.pause) }
            decisions.append((attempt, request, decide))
        default:
            if isDirect { _ = answer(.pause) }
            model.follow(wasPutOff: attempt)  // released without a decision
        }
    }

    func hears(_ challenge: AuthenticationChallenge) {
        let number = replies.count - 1
        guard begin(.challenge) != nil else { return }
        defer { model.gate.leave() }
        let question = model.gate.current?.question ?? number
        switch playInside() {
        case .keepGoing: openChallenges.append((question, challenge))
        case .pause:
            model.challengeWasAnswered(question)
            challenge.answer(.cancel)
        case .stopped: model.challengeWasAnswered(question)  // released without a response
        }
    }

    func hears(newBody answer: @escaping @Sendable (Body?) -> Void) {
        if hears(.newBody) == .keepGoing { bodyQuestions.append(answer) } else { answer(nil) }
    }
}
