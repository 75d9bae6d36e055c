// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// When the next connection of an event stream is made. It has no clock.
///
/// HTML, "reestablish the connection"
struct ReconnectionSchedule {
    /// The longest wait, unless the server asks for more.
    private static let longestWait = Duration.seconds(60)
    /// The shortest wait, even if the server asks for less, so that no server can make the client reconnect without a
    /// pause.
    private static let shortestWait = Duration.milliseconds(100)

    /// The wait that the server asks for; 3 s until it asks.
    var retryDelay = Duration.seconds(3)
    /// The number of consecutive attempts without a response.
    private(set) var failureCount = 0

    mutating func didRespond() { failureCount = 0 }
    mutating func didFail() { failureCount += 1 }

    /// The wait before the next connection.
    var wait: Duration {
        let delay = max(retryDelay, Self.shortestWait)
        guard failureCount > 1 else { return delay }
        let doubled = max(delay, .seconds(1)) * (1 << min(failureCount - 1, 6))
        return max(delay, min(doubled, Self.longestWait))
    }

    /// Whether a new connection can help after `error`.
    static func allowsConnection(after error: LoadError) -> Bool {
        guard error.domain == nil else { return false }
        return switch error.code {
        case .timedOut, .nameNotFound, .proxyNotFound, .cannotConnect, .connectionLost, .emptyResponse, .truncated, .ioFailed: true
        default: false
        }
    }
}
