// SPDX-License-Identifier: Apache-2.0

/// Decides which events violate the order in each phase.
extension EventStateMachine {
    /// Returns the rule that `event` would violate now, or `nil` if the event is allowed.
    func violation(by event: Event, rules: Rules) -> ContractRule? {
        switch phase {
        case .making: return .noEventFromMake
        case .made: return .noEventBeforeStart
        case .awaitingResponse, .deciding, .declined, .confirmed, .receiving, .trailing, .ended, .redirected, .stopped: break
        }
        if flags.contains(.paused) {
            switch event {
            case .finish: return .noFinishWhilePaused
            case .interim, .redirect, .confirmation, .response, .data, .trailers: return .pauseIsKept
            // These events are not deliveries: the reader does not have to take anything.
            case .failure, .sent, .step, .challenge, .challengeWithdrawn, .newBody: break
            }
        }
        switch event {
        case .failure, .step, .sent, .challengeWithdrawn: return nil
        case .interim, .redirect: return phase == .awaitingResponse ? nil : lateHead
        case .confirmation: return confirmationViolation(rules)
        case .response: return responseViolation(rules)
        case .data, .trailers, .finish: return bodyViolation(event)
        case .challenge, .newBody: return phase == .confirmed || phase == .trailing ? .headBeforeBodyBeforeTrailers : nil
        }
    }

    private var lateHead: ContractRule {
        phase == .declined ? .nothingAfterRedirect : .headBeforeBodyBeforeTrailers
    }

    private func confirmationViolation(_ rules: Rules) -> ContractRule? {
        switch phase {
        case .awaitingResponse: rules.offersCached ? nil : .confirmsOnlyWhatWasOffered
        case .receiving, .trailing: rules.offersCached ? .confirmedOrReplaced : .confirmsOnlyWhatWasOffered
        case .making, .made, .deciding, .declined, .confirmed, .ended, .redirected, .stopped: lateHead
        }
    }

    private func responseViolation(_ rules: Rules) -> ContractRule? {
        switch phase {
        case .awaitingResponse, .declined: nil
        case .receiving: rules.allowsParts ? nil : .oneResponse
        case .confirmed: .confirmedOrReplaced
        case .making, .made, .deciding, .trailing, .ended, .redirected, .stopped: .headBeforeBodyBeforeTrailers
        }
    }

    private func bodyViolation(_ event: Event) -> ContractRule? {
        switch phase {
        case .awaitingResponse, .declined: .responseFirst
        case .confirmed: event == .finish ? nil : .noDataAfterConfirmation
        case .trailing: event == .finish ? nil : .headBeforeBodyBeforeTrailers
        case .receiving, .making, .made, .deciding, .ended, .redirected, .stopped: nil
        }
    }
}
