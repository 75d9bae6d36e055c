// SPDX-License-Identifier: Apache-2.0

/// Decides whether a load sends its request again after a failed transaction. A pure state machine, one for each load.
///
/// - After a response has begun, the request is never sent again. An interim response (1xx) also shows that the server
///   has seen the request.
/// - If the server reports that it did not process the request, the request is sent again, with any method (RFC 9113
///   §8.7).
/// - If a request with an idempotent method got no response on a reused connection, it is sent again once (RFC 9110
///   §9.2.2, RFC 9112 §9.3.1).
/// - A load sends its request again at most ``limit`` times. If the connection served other requests, a GOAWAY does not
///   count: some servers end each connection after a number of requests. The load then precedes other loads of the same
///   priority in the queue, so the server serves it soon.
struct ResendPolicy {
    /// As often as curl does (`CONN_MAX_RETRIES`). Chromium stops at two.
    static let limit = 5

    /// A failed transaction.
    struct Failure {
        var eligibility: RetryEligibility
        /// Whether a response, also an interim one, had begun.
        var hasResponse = false
        /// Whether the connection had carried another transaction before.
        var isReused = false
        /// RFC 9110 §9.2.2
        var isIdempotent = false
        /// Whether the load can switch to HTTP/1.1.
        var mayUseHTTP1 = false
    }

    enum Decision: Equatable {
        case sendAgain
        /// The load fails.
        case fail
        /// The load fails, because its request was sent this many times without success.
        case giveUp(afterSending: Int)
    }

    private var resendCount = 0
    /// Whether the request was sent again because it got no response on a reused connection.
    private var hadNoResponse = false

    /// Whether a request with an idempotent method is sent again if it gets no response on a reused connection.
    var retriesWithoutResponse: Bool { !hadNoResponse && resendCount < Self.limit }

    mutating func decide(after failure: Failure) -> Decision {
        guard !failure.hasResponse else { return .fail }
        switch failure.eligibility {
        case .possiblyProcessed: return .fail
        case .noResponse:
            guard failure.isReused, failure.isIdempotent, !hadNoResponse else { return .fail }
            hadNoResponse = true
        case .notProcessed(afterOthers: true): return .sendAgain
        case .refused, .notProcessed(afterOthers: false): break
        case .needsHTTP1: guard failure.mayUseHTTP1 else { return .fail }
        }
        guard resendCount < Self.limit else { return .giveUp(afterSending: resendCount + 1) }
        resendCount += 1
        return .sendAgain
    }
}
