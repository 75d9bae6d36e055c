// SPDX-License-Identifier: Apache-2.0

/// Decides when a load is tried again. It has no clock; the caller passes the times.
struct RetrySchedule: Equatable, Sendable {
    /// The longest wait without `--retry-delay`. If a server requests a longer wait, there is no
    /// other attempt.
    static let longestWait = Duration.seconds(600)

    let limit: Int
    /// The delay before each retry. `nil`: one second before the first retry, and twice as long before each further
    /// one.
    let delay: Duration?
    let timeLimit: Duration?
    let includesRefusedConnections: Bool
    /// The number of retries that have started.
    private(set) var retryCount = 0

    init(limit: Int, delay: Duration? = nil, timeLimit: Duration? = nil, includesRefusedConnections: Bool = false) {
        (self.limit, self.delay, self.timeLimit, self.includesRefusedConnections) = (limit, delay, timeLimit, includesRefusedConnections)
    }

    var retriesLeft: Int { limit - retryCount }

    /// Whether another attempt follows.
    enum Decision: Equatable, Sendable {
        case wait(Duration)
        /// - Parameter reason: why no attempt follows although retries are left; `nil` if no retries are left, or the
        ///   user requested none.
        case giveUp(reason: String?)
    }

    /// - Parameter elapsed: the time since the first attempt started.
    func decide(after retryableFailure: RetryableFailure, elapsed: Duration) -> Decision {
        guard retryCount < limit else { return .giveUp(reason: nil) }
        var wait = delay ?? .seconds(1 << min(retryCount, 20))
        if delay == nil { wait = min(wait, Self.longestWait) }
        switch retryableFailure {
        case .refused: guard includesRefusedConnections else { return .giveUp(reason: nil) }
        case .status(let requestedWait?):
            guard requestedWait <= Self.longestWait else {
                let (requestedWait, longest) = (requestedWait.secondsText, Self.longestWait.secondsText)
                return .giveUp(
                    reason: "the server asks for a wait of \(requestedWait) s (Retry-After), and a retry waits at most \(longest) s")
            }
            wait = max(wait, requestedWait)
        case .status(nil), .timedOut, .nameNotFound: break
        }
        if let timeLimit, elapsed + wait > timeLimit {
            return .giveUp(
                reason: "the next attempt would start in \(wait.secondsText) s, after the end of --retry-max-time \(timeLimit.secondsText)")
        }
        return .wait(wait)
    }

    mutating func countRetry() { retryCount += 1 }
}
