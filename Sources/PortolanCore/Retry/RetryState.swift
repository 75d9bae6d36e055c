// SPDX-License-Identifier: Apache-2.0

/// Decides when a load is tried again. It has no clock and no random numbers; the caller passes them.
package struct RetryState: Hashable, Sendable {
    package let policy: RetryPolicy
    /// The number of retries that have started.
    package private(set) var retryCount: Int

    package init(_ policy: RetryPolicy, retryCount: Int = 0) {
        (self.policy, self.retryCount) = (policy, retryCount)
    }

    package var retriesLeft: Int { policy.limit - retryCount }

    /// Whether another attempt follows.
    package enum Decision: Hashable, Sendable {
        case wait(Duration)
        /// - Parameter reason: why no attempt follows although retries are left; `nil` if none are left, or if the
        ///   policy does not include the failure.
        case giveUp(Reason?)
    }

    package enum Reason: Hashable, Sendable {
        /// The server asks for a longer wait than ``RetryPolicy/maximumDelay``.
        case requestedWait(Duration)
        /// The attempt would start after ``RetryPolicy/timeLimit``.
        case timeLimit(Duration, wait: Duration)
    }

    /// - Parameters:
    ///   - elapsed: the time since the first attempt started.
    ///   - random: a number from 0 to 1, for the jitter.
    package func decide(after failure: RetryableFailure, elapsed: Duration, random: Double) -> Decision {
        guard retryCount < policy.limit, policy.includes(failure) else { return .giveUp(nil) }
        var wait = delay
        let jitter = min(max(policy.jitter, 0), 1)
        if jitter > 0 { wait = max(.zero, wait - wait * (jitter * random)) }
        if case .status(_, let requestedWait?) = failure {
            guard requestedWait <= policy.maximumDelay else { return .giveUp(.requestedWait(requestedWait)) }
            wait = max(wait, requestedWait)
        }
        if let limit = policy.timeLimit, elapsed + wait > limit { return .giveUp(.timeLimit(limit, wait: wait)) }
        return .wait(wait)
    }

    /// The wait before the next retry, without jitter.
    private var delay: Duration {
        // A century, so that no product is out of the range of `Duration`.
        let limit = min(max(policy.maximumDelay, .zero), .seconds(3_200_000_000))
        let factor = min(max(policy.backoffFactor, 1), 1000)
        var delay = min(max(policy.initialDelay, .zero), limit)
        guard factor > 1, delay > .zero else { return delay }
        for _ in 0..<retryCount where delay < limit { delay = delay * factor }
        return min(delay, limit)
    }

    package mutating func countRetry() { retryCount += 1 }
}
