// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization

/// Tries the load again after a temporary failure (``RetryPolicy``), or when there is a network
/// (``Loader/Configuration/waitsForConnectivity``). Nested loads are not tried again on their own. If the parent load
/// is tried again, it makes them again.
extension LoadTask {
    /// What follows a handler load that has failed, or whose response is not delivered.
    struct NextAttempt {
        /// The time before it starts.
        let wait: Duration
        /// The request that it loads, without the loader's default fields; `nil` for the current one.
        var request: Request?
        /// Whether it starts before the end of the wait if the network changes.
        var startsAtNetworkChange = false
    }

    /// Whether another attempt can follow a failure or a response.
    var mayHaveAnotherAttempt: Bool {
        replacementRequest != nil || (loader.configuration.waitsForConnectivity || loader.configuration.retries != nil) && parent == nil
    }

    private static let longestConnectivityWait = Duration.seconds(30)

    /// Returns the next attempt, if the last one failed with `error` because the system has no network; `nil` if no
    /// attempt follows. Called only if no response was delivered.
    func attempt(afterLackOfNetwork error: LoadError) -> NextAttempt? {
        guard error.isForLackOfNetwork, loader.configuration.waitsForConnectivity, parent == nil,
            currentRequest.body?.isSpent != true
        else { return nil }
        let count = connectivityWaitCount.load(ordering: .relaxed)
        let wait = min(Duration.seconds(1 << min(count, 5)), Self.longestConnectivityWait)
        return NextAttempt(wait: wait, startsAtNetworkChange: true)
    }

    /// The policy for this task; `nil` if it is never tried again.
    var retryPolicy: RetryPolicy? {
        guard let policy = loader.configuration.retries, parent == nil, !originalRequest.isRetriedByCaller else { return nil }
        return policy
    }

    /// Returns the wait before the next attempt, if the last one failed with `error`; `nil` if no attempt follows.
    /// Called only if no response was delivered.
    func retryWait(after error: LoadError) -> Duration? {
        guard let policy = retryPolicy, let failure = policy.retryableFailure(error) else { return nil }
        return retryWait(after: failure, policy)
    }

    /// Returns the wait before the next attempt, after a `response` that is then not delivered; `nil` if no attempt
    /// follows.
    func retryWait(after response: Response) -> Duration? {
        guard response.source != .cache, let policy = retryPolicy,
            let failure = policy.retryableFailure(response, now: Int64(Date().timeIntervalSince1970))
        else { return nil }
        return retryWait(after: failure, policy)
    }

    private func retryWait(after failure: RetryableFailure, _ policy: RetryPolicy) -> Duration? {
        let request = currentRequest
        guard policy.includes(request.method), request.body?.isSpent != true else { return nil }
        let elapsed = timer.elapsed
        let state = RetryState(policy, retryCount: machine.withLock { $0.retryCount })
        guard case .wait(let wait) = state.decide(after: failure, elapsed: elapsed, random: .random(in: 0..<1)),
            timer.totalLimit.map({ elapsed + wait < $0 }) ?? true
        else { return nil }
        return wait
    }

    /// Ends the handler load, whose response is not delivered. Its client receives `error`.
    func endAttempt(with error: LoadError) {
        machine.withLock { $0.handlerLoad }?.end(with: error)
    }

    /// Starts another attempt after its wait. The handler load has ended with `error`.
    ///
    /// - Returns: `false` if the task must end instead.
    func schedule(_ attempt: NextAttempt, after error: LoadError) -> Bool {
        let request = attempt.request.map { loader.configuration.addingDefaultFields(to: $0) } ?? currentRequest
        let children: [NestedLoad]? = machine.withLock { machine in
            let countsAsRetry = attempt.request == nil && !attempt.startsAtNetworkChange
            return machine.beginAttempt(countsAsRetry: countsAsRetry) ? machine.removeChildren() : nil
        }
        guard let children else { return false }
        for child in children { child.stopLoading() }
        credentialAttempts.withLock { $0.removeUndecidedAttempts() }
        loader.logStep("tried again in \(attempt.wait): \(error)", of: self, requestNumber: requestNumber)
        // The idle time does not count during the wait.
        beginWaitForCaller()
        timer.scheduleAgain(self)
        if attempt.startsAtNetworkChange, connectivityWaitCount.add(1, ordering: .relaxed).oldValue == 0 {
            notifyDelegate(.waitingForConnectivity)
        }
        let changes = attempt.startsAtNetworkChange ? loader.configuration.networkChanges : nil
        let waitingAttempt = WaitingAttempt(on: loader.configuration.clock, changes: changes) { [weak self] in
            self?.endWaitForCaller()
            self?.startAttempt(of: request)
        }
        // Stored before the attempt can start, so that a later attempt replaces this one.
        self.waitingAttempt.withLock { $0 = waitingAttempt }
        waitingAttempt.schedule(after: attempt.wait)
        if machine.withLock({ $0.isOver }) { waitingAttempt.cancel() }
        return true
    }
}
