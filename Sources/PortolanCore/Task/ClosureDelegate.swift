// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A delegate made of closures. Each closure is optional. The closures that decide are asynchronous, except `onCache`.
///
///     let delegate = ClosureDelegate(onChallenge: { challenge in
///         guard case .password = challenge.protectionSpace.kind, challenge.previousFailureCount == 0 else {
///             return .performDefault
///         }
///         return .use(.password(user: "me", password: await askUser()))
///     })
///     let (body, _) = try await loader.data(for: request, delegate: delegate)
///
/// For one load at a time. When a decision is no longer needed, the task that runs the closure is cancelled. A closure
/// that is isolated to an actor runs on that actor: `{ @MainActor request, response in … }`.
public final class ClosureDelegate: LoadDelegate {
    private let onRedirect: (@Sendable (Request, Response) async -> RedirectDecision)?
    private let onChallenge: (@Sendable (AuthenticationChallenge) async -> ChallengeAnswer)?
    private let onNewBody: (@Sendable (LoadTask) async -> Body?)?
    private let onCache: (@Sendable (CacheableResponse) -> CacheableResponse?)?
    private let onProgress: (@Sendable (LoadProgress) -> Void)?
    private let onEnd: (@Sendable (LoadTask, LoadError?) -> Void)?
    /// The task that runs the closure of the pending decision. It is cancelled if the decision is no longer needed.
    private let decisionTask = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - onRedirect: decides about a redirect to the proposed request. Without it, redirects are followed.
    ///   - onChallenge: answers a challenge. Without it, challenges get default handling.
    ///   - onNewBody: returns the body to send again; `nil` fails the load. Without it, the request's own body is sent
    ///     again if it can be read twice.
    ///   - onCache: returns what the loader's cache stores of the response; `nil` for nothing. It decides at once.
    ///     Without it, the response is stored unchanged.
    ///   - onProgress: called after bytes were sent or received, in the order of events. One call can cover several
    ///     pieces.
    ///   - onEnd: called last, with the error, or `nil` if the load is complete. Then ``LoadTask/metrics`` are
    ///     complete, too.
    public init(
        onRedirect: (@Sendable (_ proposed: Request, _ response: Response) async -> RedirectDecision)? = nil,
        onChallenge: (@Sendable (AuthenticationChallenge) async -> ChallengeAnswer)? = nil,
        onNewBody: (@Sendable (LoadTask) async -> Body?)? = nil,
        onCache: (@Sendable (CacheableResponse) -> CacheableResponse?)? = nil, onProgress: (@Sendable (LoadProgress) -> Void)? = nil,
        onEnd: (@Sendable (LoadTask, LoadError?) -> Void)? = nil
    ) {
        (self.onRedirect, self.onChallenge, self.onNewBody) = (onRedirect, onChallenge, onNewBody)
        (self.onCache, self.onProgress, self.onEnd) = (onCache, onProgress, onEnd)
    }

    public func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        guard let onRedirect else { return decide(.follow(request)) }
        runDecision { decide(await onRedirect(request, response)) }
    }

    public func loadTask(
        _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void
    ) {
        if let onCache { decide(onCache(response)) } else { decide(response) }
    }

    public func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        guard let onChallenge else { return task.forward(challenge) }
        runDecision { challenge.answer(await onChallenge(challenge)) }
    }

    public func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) {
        if onChallenge == nil { task.forwardCancellation(of: challenge) }
        cancelDecision()
    }

    public func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        cancelDecision()
        onEnd?(task, error)
    }

    private func runDecision(_ decide: @escaping @Sendable () async -> Void) {
        decisionTask.withLock { $0 = Task { await decide() } }
    }

    private func cancelDecision() { decisionTask.withLock { $0.take() }?.cancel() }

    public func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        guard let onNewBody else {
            let body = task.currentRequest.body
            return answer(body.flatMap { $0.isRewindable ? $0 : nil })
        }
        runDecision { answer(await onNewBody(task)) }
    }

    public func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        onProgress?(task.progress)
        return .keepGoing
    }

    public func loadTaskDidSend(_ task: LoadTask) { onProgress?(task.progress) }
    public func loadTaskDidReceiveBytes(_ task: LoadTask) { onProgress?(task.progress) }
}
