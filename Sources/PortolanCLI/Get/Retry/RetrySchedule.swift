// SPDX-License-Identifier: Apache-2.0

/// Decides when a load is tried again. It has no clock; the caller passes the times.
struct RetrySchedule: Equatable, Sendable {
    /// The longest wait without `--retry-delay`. If a server requests a longer one, the load is not tried again.
    static let longestWait = Duration.seconds(600)

    let limit: Int
    /// The delay before each try. `nil`: one second before the first, doubled before each further one.
    let delay: Duration?
    let timeLimit: Duration?
    let includesRefused: Bool
    /// The number of further tries so far.
    private(set) var count = 0

    init(limit: Int, delay: Duration? = nil, timeLimit: Duration? = nil, includesRefused: Bool = false) {
        (self.limit, self.delay, self.timeLimit, self.includesRefused) = (limit, delay, timeLimit, includesRefused)
    }

    /// The number of tries left.
    var rest: Int { limit - count }

    /// Whether another try follows.
    enum Decision: Equatable, Sendable {
        case wait(Duration)
        /// - Parameter reason: why no try follows although some are left; `nil` if none are left or none were
        ///   requested.
        case giveUp(reason: String?)
    }

    /// - Parameter elapsed: the time since the first try started.
    func decide(after retryableFailure: RetryableFailure, elapsed: Duration) -> Decision {
        guard count < limit else { return .giveUp(reason: nil) }
        var wait = delay ?? .seconds(1 << min(count, 20))
        if delay == nil { wait = min(wait, Self.longestWait) }
        switch retryableFailure {
        case .refused: guard includesRefused else { return .giveUp(reason: nil) }
        case .status(let wanted?):
            guard wanted <= Self.longestWait else {
                let (wanted, longest) = (wanted.secondsText, Self.longestWait.secondsText)
                return .giveUp(reason: "the server asks for a wait of \(wanted) s (Retry-After), and a retry waits at most \(longest) s")
            }
            wait = max(wait, wanted)
        case .status(nil), .timedOut, .nameNotFound: break
        }
        if let timeLimit, elapsed + wait > timeLimit {
            return .giveUp(
                reason: "the next try would start in \(wait.secondsText) s, after the end of --retry-max-time \(timeLimit.secondsText)")
        }
        return .wait(wait)
    }

    mutating func begin() { count += 1 }
}
