// SPDX-License-Identifier: Apache-2.0

/// Decides whether a load sends its request again after an exchange that failed. A pure state machine, one for each
/// load.
///
/// - After a response has begun, nothing is sent again, whatever the server says. An interim response (1xx) counts,
///   because the server has seen the request.
/// - A request that the server says it did not process is sent again, whatever its method (RFC 9113 §8.7).
/// - A request with an idempotent method is sent again if it got no response on a connection that had been used before.
///   It is sent again only once, because a retry that failed is not retried (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
/// - A load sends its request again at most ``limit`` times. A request that was passed over does not count if its
///   connection serves others. A server that ends each connection after a number of requests serves it soon, because
///   loads that were passed over go first.
struct ResendPolicy {
    /// As often as curl does (`CONN_MAX_RETRIES`). Chromium stops at two.
    static let limit = 5

    /// An exchange that failed.
    struct Failure {
        var eligibility: RetryEligibility
        /// Whether a response had begun, an interim one included.
        var hasResponse = false
        /// Whether its connection had carried another exchange before.
        var isReused = false
        /// RFC 9110 §9.2.2
        var isIdempotent = false
        /// Whether the load may switch to HTTP/1.1.
        var mayUseHTTP1 = false
    }

    enum Decision: Equatable {
        case sendAgain
        /// The load fails.
        case fail
        /// The load fails, because its request was already sent this many times without success.
        case giveUp(afterSending: Int)
    }

    private var count = 0
    private var hadNoResponse = false

    /// Whether a request with an idempotent method is sent again if it gets no response on a connection that was used
    /// before.
    var retriesWithoutResponse: Bool { !hadNoResponse && count < Self.limit }

    mutating func decide(after failure: Failure) -> Decision {
        guard !failure.hasResponse else { return .fail }
        switch failure.eligibility {
        case .seen: return .fail
        case .noResponse:
            guard failure.isReused, failure.isIdempotent, !hadNoResponse else { return .fail }
            hadNoResponse = true
        case .notProcessed(afterOthers: true): return .sendAgain
        case .refused, .notProcessed(afterOthers: false): break
        case .needsHTTP1: guard failure.mayUseHTTP1 else { return .fail }
        }
        guard count < Self.limit else { return .giveUp(afterSending: count + 1) }
        count += 1
        return .sendAgain
    }
}
