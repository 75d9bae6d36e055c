// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore

/// A temporary failure: a later attempt can succeed.
enum RetryableFailure: Equatable {
    case timedOut
    case nameNotFound
    /// The connection failed.
    case refused
    /// - Parameter wait: the delay that the server requests.
    case status(wait: Duration?)

    init?(_ error: LoadError) {
        guard error.domain == nil else { return nil }
        switch error.code {
        case .timedOut: self = .timedOut
        case .nameNotFound, .proxyNotFound: self = .nameNotFound
        case .cannotConnect: self = .refused
        default: return nil
        }
    }

    /// Accepts the same statuses as curl.
    ///
    /// - Parameter now: seconds since 1970.
    init?(_ response: Response, now: Int64) {
        switch response.status?.code {
        case 408, 429, 500, 502, 503, 504: self = .status(wait: Self.wait(response.fields[.retryAfter], now: now))
        default: return nil
        }
    }

    /// Parses `Retry-After`, which is a number of seconds or a date. A date in the past means no wait.
    ///
    /// - Returns: `nil` for any other value.
    ///
    /// RFC 9110 §10.2.3
    static func wait(_ value: String?, now: Int64) -> Duration? {
        guard let value else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int64(value) ?? .max, 1 << 40))
        }
        return HTTPDate(parsing: value, now: now).map { .seconds(max(0, $0.secondsSince1970 - now)) }
    }
}
