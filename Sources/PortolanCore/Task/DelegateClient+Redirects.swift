// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Decides each redirect, by the policy and by the delegate, and lets the task follow it.
extension DelegateClient {
    func wasRedirected(to request: Request, redirectResponse response: Response) -> Flow {
        guard let task else { return .stopped }
        task.loader.note(response)
        settleCredentials(by: response, of: task)
        do throws(LoadError) {
            let policy = task.loader.configuration.redirects
            guard
                let successor = try policy.successor(
                    of: task.currentRequest, proposed: request, response: response, count: redirectCount, isUpgrade: isUpgrade)
            else {
                return .keepGoing
            }
            return decide(on: successor, response, of: task)
        } catch {
            task.end(with: error)
            return .stopped
        }
    }

    private func decide(on successor: Request, _ response: Response, of task: LoadTask) -> Flow {
        let box = DecisionBox { [weak task] in task?.follow(successor, wasDeferred: true) }
        let decide = { @Sendable [weak task] (decision: RedirectDecision) in
            guard box.answer(decision) == .isLate, let task else { return }
            switch decision {
            case .follow(let request): task.follow(request, wasDeferred: true)
            case .deliver: task.declineRedirect()
            }
        }
        task.notifyDelegate(.redirect(successor, response, decide))
        switch box.answerSoFar() {
        case .follow(let request):
            task.follow(request, wasDeferred: false)
            return .stopped
        case .deliver: return .keepGoing
        case nil: return .pause
        }
    }
}

/// One decision, which may come before or after the load stops waiting for it. A caller that releases the callback
/// without a decision follows the redirect.
private final class DecisionBox: Sendable {
    enum Arrival { case inTime, isLate, again }

    private enum State {
        case asked
        case answered(RedirectDecision)
        case deferred, done
    }

    private let state = Mutex(State.asked)
    private let whenDropped: @Sendable () -> Void

    init(whenDropped: @escaping @Sendable () -> Void) {
        self.whenDropped = whenDropped
    }

    deinit {
        if case .deferred = state.withLock({ $0 }) { whenDropped() }
    }

    func answer(_ decision: RedirectDecision) -> Arrival {
        state.withLock { state in
            switch state {
            case .asked:
                state = .answered(decision)
                return .inTime
            case .deferred:
                state = .done
                return .isLate
            case .answered, .done: return .again
            }
        }
    }

    /// Returns the decision; `nil` if there is none yet, so that it will be late.
    func answerSoFar() -> RedirectDecision? {
        state.withLock { state in
            guard case .answered(let decision) = state else {
                state = .deferred
                return nil
            }
            state = .done
            return decision
        }
    }
}
