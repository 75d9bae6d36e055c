// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// Decides each redirect, by the policy and by the caller, and lets the task follow it.
package final class RedirectStage: ForwardingClient {
    package let next: any ProtocolClient
    private let policy: RedirectPolicy
    private weak let control: (any LoadTaskControl)?
    private let count = Mutex(0)

    package init(policy: RedirectPolicy, control: any LoadTaskControl, next: any ProtocolClient) {
        self.policy = policy
        self.control = control
        self.next = next
    }

    package func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        guard let control else { return .stopped }
        switch policy.mode {
        case .follow: break
        case .manual: return .keepGoing
        case .error:
            control.end(
                with: LoadError(.badRedirect, message: "redirected to \(request.url.shortDescription), but redirects are errors here"))
            return .stopped
        }
        do throws(LoadError) {
            let successor = try successor(of: request, after: control.currentRequest)
            return decide(on: successor, redirectResponse, with: control)
        } catch {
            control.end(with: error)
            return .stopped
        }
    }

    /// Fails the load for a redirect response that the handler could not offer as a redirect, because it cannot be
    /// followed. The Fetch Standard calls this a network error.
    package func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        if let error = refusal(of: response) {
            control?.end(with: error)
            return .stopped
        }
        return next.didReceive(response, storage: storage)
    }

    private func refusal(of response: Response) -> LoadError? {
        guard let status = response.status, status.kind == .redirection, policy.mode != .manual else { return nil }
        switch (RedirectTarget(of: response), policy.mode) {
        case (.noRedirect, _), (.unnamed, .follow), (.url, .follow), (_, .manual): return nil
        case (_, .error):
            return LoadError(
                .badRedirect,
                message: "\(response.url.shortDescription) answered with a redirect (\(status.code)), but redirects are errors here")
        case (.malformed(let problem), .follow):
            return LoadError(
                .badRedirect, message: "the redirect (\(status.code)) from \(response.url.shortDescription) leads nowhere: \(problem)",
                cause: LoadError(.badURL, message: problem))
        case (.ambiguous(let problem), .follow):
            return LoadError(
                .badRedirect, message: "the redirect (\(status.code)) from \(response.url.shortDescription) leads nowhere: \(problem)")
        }
    }

    private func successor(of proposed: Request, after current: Request) throws(LoadError) -> Request {
        let followed = count.withLock { count in
            defer { count += 1 }
            return count
        }
        return try policy.successor(of: current, proposed: proposed, count: followed)
    }

    private func decide(on successor: Request, _ response: Response, with control: any LoadTaskControl) -> Flow {
        let box = DecisionBox { [weak control] in control?.follow(ifSendable: successor, wasDeferred: true) }
        control.ask(successor, response) { [weak control] decision in
            guard box.answer(decision) == .isLate, let control else { return }
            switch decision {
            case .follow(let request): control.follow(ifSendable: request, wasDeferred: true)
            case .deliver: control.declineRedirect()
            }
        }
        switch box.answerSoFar() {
        case .follow(let request):
            control.follow(ifSendable: request, wasDeferred: false)
            return .stopped
        case .deliver: return .keepGoing
        case nil: return .pause
        }
    }
}

extension LoadTaskControl {
    /// Follows the redirect, unless a body that can no longer be read would have to be sent again. In that case the
    /// load fails, as in the Fetch Standard.
    fileprivate func follow(ifSendable request: Request, wasDeferred: Bool) {
        guard request.body?.isSpent == true else { return follow(request, wasDeferred: wasDeferred) }
        end(
            with: LoadError(
                .bodyFailed,
                message: "the redirect to \(request.url.shortDescription) asks for the body again, and it can be read only once",
                remedy: .sendRepeatableBody))
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
