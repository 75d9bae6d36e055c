// SPDX-License-Identifier: Apache-2.0

/// Decides which rule an event violates in each phase.
extension EventStateMachine {
    /// Returns the rule that `event` would violate now, or `nil` if the event is allowed.
    func violation(by event: Event, rules: Rules) -> ContractRule? {
        switch phase {
        case .makingLoad: return .noEventFromMake
        case .loadMade: return .noEventBeforeStart
        case .awaitingResponse, .decidingRedirect, .redirectDeclined, .cacheConfirmed, .receiving, .trailersReceived, .ended, .redirected,
            .stopped:
            break
        }
        if flags.contains(.paused) {
            switch event {
            case .finish: return .noFinishWhilePaused
            case .interim, .redirect, .confirmation, .response, .data, .trailers: return .pauseIsKept
            // Allowed during a pause, because the reader receives no content with them.
            case .failure, .sent, .step, .challenge, .challengeCancelled, .newBody: break
            }
        }
        switch event {
        case .failure, .step, .sent, .challengeCancelled: return nil
        case .interim, .redirect: return phase == .awaitingResponse ? nil : violationByLateHead
        case .confirmation: return confirmationViolation(rules)
        case .response: return responseViolation(rules)
        case .data, .trailers, .finish: return bodyViolation(event)
        case .challenge, .newBody: return phase == .cacheConfirmed || phase == .trailersReceived ? .headBeforeBodyBeforeTrailers : nil
        }
    }

    private var violationByLateHead: ContractRule {
        phase == .redirectDeclined ? .nothingAfterRedirect : .headBeforeBodyBeforeTrailers
    }

    private func confirmationViolation(_ rules: Rules) -> ContractRule? {
        switch phase {
        case .awaitingResponse: rules.offersCachedResponse ? nil : .confirmsOnlyWhatWasOffered
        case .receiving, .trailersReceived: rules.offersCachedResponse ? .confirmedOrReplaced : .confirmsOnlyWhatWasOffered
        case .makingLoad, .loadMade, .decidingRedirect, .redirectDeclined, .cacheConfirmed, .ended, .redirected, .stopped:
            violationByLateHead
        }
    }

    private func responseViolation(_ rules: Rules) -> ContractRule? {
        switch phase {
        case .awaitingResponse, .redirectDeclined: nil
        case .receiving: rules.allowsParts ? nil : .oneResponse
        case .cacheConfirmed: .confirmedOrReplaced
        case .makingLoad, .loadMade, .decidingRedirect, .trailersReceived, .ended, .redirected, .stopped: .headBeforeBodyBeforeTrailers
        }
    }

    private func bodyViolation(_ event: Event) -> ContractRule? {
        switch phase {
        case .awaitingResponse, .redirectDeclined: .responseFirst
        case .cacheConfirmed: event == .finish ? nil : .noDataAfterConfirmation
        case .trailersReceived: event == .finish ? nil : .headBeforeBodyBeforeTrailers
        case .receiving, .makingLoad, .loadMade, .decidingRedirect, .ended, .redirected, .stopped: nil
        }
    }
}
