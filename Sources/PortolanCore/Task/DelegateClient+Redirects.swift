// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Decides each redirect: first the policy, then the delegate. If neither declines, the task follows the redirect.
extension DelegateClient {
    func wasRedirected(to request: Request, redirectResponse response: Response) -> Flow {
        guard let task else { return .stopped }
        task.loader.updatePolicies(from: response, of: task)
        updateCredentials(by: response, of: task)
        do throws(LoadError) {
            let policy = task.loader.configuration.redirects
            guard
                let successor = try policy.successor(
                    of: task.currentRequest, proposed: request, response: response, count: redirectCount - task.metrics.upgradeCount,
                    upgradesToHTTPS: upgradesToHTTPS)
            else {
                return .keepGoing
            }
            task.loader.logRemovedFields(from: request, leaving: successor, task)
            return askDelegate(about: successor, response, of: task)
        } catch {
            task.end(with: error)
            return .stopped
        }
    }

    private func askDelegate(about successor: Request, _ response: Response, of task: LoadTask) -> Flow {
        let box = DecisionBox { [weak task] in task?.follow(successor, wasDeferred: true) }
        let answer = { @Sendable [weak task] (decision: RedirectDecision) in
            guard box.record(decision) == .late, let task else { return }
            switch decision {
            case .follow(let request): task.follow(request, wasDeferred: true)
            case .deliver: task.declineRedirect()
            }
        }
        task.notifyDelegate(.redirect(successor, response, answer))
        switch box.endDelivery() {
        case .follow(let request):
            task.follow(request, wasDeferred: false)
            return .stopped
        case .deliver: return .keepGoing
        case nil: return .pause
        }
    }
}

/// The delegate's decision about a redirect. It can come during the delivery of the redirect, or later. If the delegate
/// releases the callback without a decision, the task follows the redirect.
private final class DecisionBox: Sendable {
    /// When a decision arrives.
    enum Arrival {
        /// During the delivery of the redirect.
        case inTime
        /// After the delivery.
        case late
        /// Not the first decision. It is ignored.
        case repeated
    }

    private enum State {
        /// The redirect is being delivered, and there is no decision yet.
        case delivering
        case decided(RedirectDecision)
        /// The delivery ended without a decision.
        case deferred
        case done
    }

    private let state = Mutex(State.delivering)
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    deinit {
        if case .deferred = state.withLock({ $0 }) { onRelease() }
    }

    func record(_ decision: RedirectDecision) -> Arrival {
        state.withLock { state in
            switch state {
            case .delivering:
                state = .decided(decision)
                return .inTime
            case .deferred:
                state = .done
                return .late
            case .decided, .done: return .repeated
            }
        }
    }

    /// Ends the delivery of the redirect.
    ///
    /// - Returns: the decision; `nil` if the delegate defers it.
    func endDelivery() -> RedirectDecision? {
        state.withLock { state in
            guard case .decided(let decision) = state else {
                state = .deferred
                return nil
            }
            state = .done
            return decision
        }
    }
}
