// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import PortolanCore

    /// Whether, and when, a transfer that has failed is tried again.
    enum RetryDecision: Equatable {
        case fail
        /// - Parameter time: in seconds since 1970.
        case retry(at: Double)

        /// The longest wait, unless the server asks for a longer one.
        static let longestDelay = 600.0
        /// The longest wait that a server can ask for.
        static let longestRequestedDelay = 86_400.0
        /// After these errors, no byte of the request was sent.
        private static let errorsBeforeSending: Set<LoadError.Code> = [.nameNotFound, .proxyNotFound, .cannotConnect]

        private static let policy = RetryPolicy(limit: 1)

        /// Whether a later attempt can succeed.
        static func isTemporary(_ error: LoadError) -> Bool {
            policy.retryableFailure(error) != nil || error.domain == nil && (error.code == .truncated || error.code == .noResources)
        }

        /// - Parameters:
        ///   - error: why the last attempt failed.
        ///   - response: the last response, if there was one.
        ///   - isRepeatable: whether the server may receive the request twice.
        ///   - wasRedirected: whether the server has answered the request with a redirect.
        ///   - failures: how many attempts have failed, including this one.
        ///   - delay: the wait after the first failure. It doubles with each further one.
        ///   - now: in seconds since 1970.
        ///   - random: from 0 to 1.
        init(
            _ error: LoadError, _ response: Response?, isRepeatable: Bool, wasRedirected: Bool, failures: Int, delay: Duration, now: Double,
            random: Double = .random(in: 0...1)
        ) {
            let failure = response.flatMap { Self.policy.retryableFailure($0, now: Int64(now)) }
            let wasSent = wasRedirected || !Self.errorsBeforeSending.contains(error.code)
            guard Self.isTemporary(error) || failure != nil, isRepeatable || !wasSent else {
                self = .fail
                return
            }
            var requested = 0.0
            if case .status(_, let wait?)? = failure { requested = min(wait / .seconds(1), Self.longestRequestedDelay) }
            let backoff = min(delay / .seconds(1) * Double(1 << max(0, min(failures, 40) - 1)), Self.longestDelay)
            self = .retry(at: now + max(backoff * (0.5 + random / 2), requested))
        }
    }
#endif
