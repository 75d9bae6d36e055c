// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// Which failed loads are tried again, how often, and how long they wait before that.
///
///     var configuration = Loader.Configuration.default
///     configuration.retries = RetryPolicy(limit: 3)        // waits of up to 1, 2 and 4 seconds
///
/// The caller and its delegate do not receive the errors of failed attempts. The delegate receives the steps,
/// challenges and sent bytes of each attempt, and ``LoadMetrics/timings`` has each attempt as a request. A retry starts
/// at the URL to which redirects have led.
///
/// A load is not tried again after its response was delivered, even if no byte of the body was. It is not tried again
/// if the request's body was read and can't be read again, or after ``Timeouts/total``.
public struct RetryPolicy: Hashable, Sendable {
    /// The maximum number of attempts after the first one; 0 for none.
    public var limit: Int
    /// The wait before the first retry.
    public var initialDelay = Duration.seconds(1)
    /// The factor by which the wait grows with each further retry; 1 for a constant wait.
    public var backoffFactor = 2
    /// The longest wait. If a server asks for a longer one (`Retry-After`), the load is not tried again.
    public var maximumDelay = Duration.seconds(60)
    /// The share of each wait that is random, from 0 to 1: a wait of 4 s with a jitter of 0.5 takes 2 to 4 s. It
    /// separates clients that have failed at the same time. A wait is never shorter than `Retry-After`.
    public var jitter = 0.5
    /// No retry starts later than this after the start of the load; `nil` for no limit.
    public var timeLimit: Duration?
    /// The codes of the errors after which a load is tried again. Codes of a plugin's own domain do not count.
    public var errors: Set<LoadError.Code> = [.timedOut, .nameNotFound, .proxyNotFound, .cannotConnect, .connectionLost, .emptyResponse]
    /// The status codes after which a load is tried again.
    public var statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// Whether requests are tried again whose method is not idempotent, such as `POST`. The server can have processed
    /// the first request (RFC 9110 §9.2.2).
    public var includesNonIdempotentMethods = false

    public init(limit: Int) { self.limit = limit }

    /// Whether requests with `method` are tried again.
    package func includes(_ method: HTTPRequest.Method) -> Bool {
        limit > 0 && (includesNonIdempotentMethods || method.isIdempotent)
    }

    func includes(_ failure: RetryableFailure) -> Bool {
        switch failure {
        case .error(let code): errors.contains(code)
        case .status(let code, _): statuses.contains(code)
        }
    }

    /// Returns the failure, if a later attempt can succeed; otherwise `nil`.
    package func retryableFailure(_ error: LoadError) -> RetryableFailure? {
        error.domain == nil && errors.contains(error.code) ? .error(error.code) : nil
    }

    /// Returns the failure that the response reports, if a later attempt can succeed; otherwise `nil`.
    ///
    /// - Parameter now: seconds since 1970.
    package func retryableFailure(_ response: Response, now: @autoclosure () -> Int64) -> RetryableFailure? {
        guard let code = response.status?.code, statuses.contains(code) else { return nil }
        return .status(code, wait: RetryableFailure.requestedWait(response.fields[.retryAfter], now: now()))
    }
}
