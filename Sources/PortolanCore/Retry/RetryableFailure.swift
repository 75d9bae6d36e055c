// SPDX-License-Identifier: Apache-2.0

/// A temporary failure: a later attempt can succeed.
package enum RetryableFailure: Hashable, Sendable {
    case error(LoadError.Code)
    /// - Parameter wait: the delay that the server requests.
    case status(Int, wait: Duration?)

    /// Parses `Retry-After`, which is a number of seconds or a date. A date in the past means no wait.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: `nil` for any other value.
    ///
    /// RFC 9110 §10.2.3
    package static func requestedWait(_ value: String?, now: @autoclosure () -> Int64) -> Duration? {
        guard let value else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int64(value) ?? .max, 1 << 40))
        }
        let time = now()
        return HTTPDate(parsing: value, now: time).map { .seconds(max(0, $0.secondsSince1970 - time)) }
    }
}
