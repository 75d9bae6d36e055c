// SPDX-License-Identifier: Apache-2.0

/// When a load is tried again. No clock of its own.
struct RetrySchedule: Equatable, Sendable {
    /// The longest wait, whoever asks for it: a server that wants more is believed, and not waited for.
    static let longestWait = Duration.seconds(600)

    let limit: Int
    /// Before each try; `nil`: one second before the first, and twice as long before each other.
    let delay: Duration?
    let timeLimit: Duration?
    let includesRefused: Bool
    /// How many times the load was tried again.
    private(set) var count = 0

    init(limit: Int, delay: Duration? = nil, timeLimit: Duration? = nil, includesRefused: Bool = false) {
        (self.limit, self.delay, self.timeLimit, self.includesRefused) = (limit, delay, timeLimit, includesRefused)
    }

    /// How many tries are left.
    var rest: Int { limit - count }

    /// Whether there is another try.
    enum Decision: Equatable, Sendable {
        case wait(Duration)
        /// - Parameter reason: why not, although tries are left; `nil` where none are, or none were asked for.
        case giveUp(reason: String?)
    }

    /// - Parameter elapsed: since the first try began.
    func decide(after setback: Setback, elapsed: Duration) -> Decision {
        guard count < limit else { return .giveUp(reason: nil) }
        var wait = delay ?? .seconds(1 << min(count, 20))
        if delay == nil { wait = min(wait, Self.longestWait) }
        switch setback {
        case .refused: guard includesRefused else { return .giveUp(reason: nil) }
        case .status(let wanted?):
            guard wanted <= Self.longestWait else {
                let (wanted, longest) = (wanted.secondsText, Self.longestWait.secondsText)
                return .giveUp(reason: "the server wants \(wanted) s to pass (Retry-After), and a try waits for \(longest) s at most")
            }
            wait = max(wait, wanted)
        case .status(nil), .timedOut, .nameNotFound: break
        }
        if let timeLimit, elapsed + wait > timeLimit {
            return .giveUp(
                reason: "the next one would begin in \(wait.secondsText) s, after the end of --retry-max-time \(timeLimit.secondsText)")
        }
        return .wait(wait)
    }

    mutating func begin() { count += 1 }
}
