// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore

/// Decides when a load of the command is tried again, by the library's rules. The reasons for a refusal name the
/// command's options.
struct RetrySchedule: Equatable, Sendable {
    private var state: RetryState

    init(_ policy: RetryPolicy) { state = RetryState(policy) }

    var policy: RetryPolicy { state.policy }
    var limit: Int { policy.limit }
    /// The number of retries that have started.
    var retryCount: Int { state.retryCount }
    var retriesLeft: Int { state.retriesLeft }

    mutating func countRetry() { state.countRetry() }

    /// Whether another attempt follows.
    enum Decision: Equatable, Sendable {
        case wait(Duration)
        /// - Parameter reason: why no attempt follows although retries are left; `nil` if no retries are left, or the
        ///   user requested none.
        case giveUp(reason: String?)
    }

    /// - Parameter elapsed: the time since the first attempt started.
    func decide(after failure: RetryableFailure, elapsed: Duration) -> Decision {
        switch state.decide(after: failure, elapsed: elapsed, random: 0) {
        case .wait(let wait): return .wait(wait)
        case .giveUp(nil): return .giveUp(reason: nil)
        case .giveUp(.requestedWait(let wait)?):
            let (wait, longest) = (wait.secondsText, policy.maximumDelay.secondsText)
            return .giveUp(reason: "the server asks for a wait of \(wait) s (Retry-After), and a retry waits at most \(longest) s")
        case .giveUp(.timeLimit(let limit, let wait)?):
            return .giveUp(
                reason: "the next attempt would start in \(wait.secondsText) s, after the end of --retry-max-time \(limit.secondsText)")
        }
    }
}

extension RetryableFailure {
    /// Accepts the errors after which curl tries again, and refused connections, about which the policy decides.
    init?(_ error: LoadError) {
        var policy = RetryOptions.defaultPolicy
        policy.errors.insert(.cannotConnect)
        guard let failure = policy.retryableFailure(error) else { return nil }
        self = failure
    }

    /// Accepts the same statuses as curl.
    ///
    /// - Parameter now: seconds since 1970.
    init?(_ response: Response, now: Int64) {
        guard let failure = RetryOptions.defaultPolicy.retryableFailure(response, now: now) else { return nil }
        self = failure
    }
}
