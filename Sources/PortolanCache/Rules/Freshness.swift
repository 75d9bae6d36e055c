// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore

/// How long a stored response is fresh, and how old it is.
///
/// RFC 9111 §4.2
package struct Freshness: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        case maxAge, expires, heuristic, none
    }

    /// The seconds from the creation of the response until it is stale.
    package let lifetime: Int64
    package let source: Source
    /// The seconds since the origin server created or validated the response.
    package let age: Int64

    package init(of response: StoredResponse, now: Int64) {
        let origin = response.freshness
        (lifetime, source) = (origin.lifetime, origin.source)
        age = Self.age(initial: origin.initialAge, responseTime: response.responseTime, now: now)
    }

    /// The values that do not change while a response is stored. Times are in seconds.
    struct Origin: Hashable, Sendable {
        let lifetime: Int64
        let source: Source
        /// The age when the response was received: `corrected_initial_age` of RFC 9111 §4.2.3.
        let initialAge: Int64
        /// The value of `Date`, or else the time of reception, since 1970.
        let date: Int64

        init(status: HTTPResponse.Status, fields: HTTPFields, directives: ResponseDirectives, requestTime: Int64, responseTime: Int64) {
            date = HTTPDate.seconds(of: .date, in: fields, now: responseTime) ?? responseTime
            (lifetime, source) = Freshness.lifetime(
                status: status, fields: fields, directives: directives, date: date, responseTime: responseTime)
            initialAge = Freshness.initialAge(fields: fields, date: date, requestTime: requestTime, responseTime: responseTime)
        }
    }

    package var isFresh: Bool { lifetime > age }
    /// The seconds since the response became stale; negative while it is fresh.
    package var staleness: Int64 { age - lifetime }

    // MARK: - Lifetime

    /// The largest heuristic lifetime in seconds: a day.
    package static let heuristicLimit: Int64 = 86400

    /// RFC 9110 §15.1
    package static func isHeuristicallyCacheable(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// The freshness lifetime: the first of `max-age`, `Expires` and a heuristic.
    ///
    /// An explicit lifetime that is malformed is 0, as is a date in the past. `Expires` is relative to `Date`, so the
    /// clocks of the server and of this machine need not agree.
    ///
    /// RFC 9111 §4.2.1, §5.3
    static func lifetime(
        status: HTTPResponse.Status, fields: HTTPFields, directives: ResponseDirectives, date: Int64, responseTime: Int64
    ) -> (Int64, Source) {
        if let maxAge = directives.maxAge { return (maxAge, .maxAge) }
        if fields.contains(.expires) {
            guard let expires = HTTPDate.seconds(of: .expires, in: fields, now: responseTime) else { return (0, .expires) }
            return (clamped(DeltaSeconds.difference(expires, date)), .expires)
        }
        guard isHeuristicallyCacheable(status) || directives.isPublic,
            let modified = HTTPDate.seconds(of: .lastModified, in: fields, now: responseTime)
        else { return (0, .none) }
        return (min(clamped(DeltaSeconds.difference(date, modified)) / 10, heuristicLimit), .heuristic)
    }

    /// Whether the fields say how long the response is fresh.
    static func isExplicit(_ fields: HTTPFields, _ directives: ResponseDirectives) -> Bool {
        directives.maxAge != nil || fields.contains(.expires)
    }

    // MARK: - Age

    /// The current age.
    ///
    /// A response without `Date` was created when it was received (RFC 9110 §6.6.1). If the clock of this machine was
    /// set back since, the difference counts as resident time, so that the response is not fresh for too long.
    ///
    /// RFC 9111 §4.2.3
    static func age(initial: Int64, responseTime: Int64, now: Int64) -> Int64 {
        let residentTime = DeltaSeconds.difference(now, responseTime)
        return clamped(DeltaSeconds.sum(initial, clamped(residentTime == .min ? .max : abs(residentTime))))
    }

    /// RFC 9111 §4.2.3
    static func initialAge(fields: HTTPFields, date: Int64, requestTime: Int64, responseTime: Int64) -> Int64 {
        let apparentAge = clamped(DeltaSeconds.difference(responseTime, date))
        let responseDelay = clamped(DeltaSeconds.difference(responseTime, requestTime))
        return max(apparentAge, clamped(DeltaSeconds.sum(ageValue(fields), responseDelay)))
    }

    /// The value of `Age`: the first member of the first field. A malformed value is ignored.
    ///
    /// RFC 9111 §5.1
    static func ageValue(_ fields: HTTPFields) -> Int64 {
        guard let octets = fields.firstOctets(of: .age) else { return 0 }
        var members = ListMembers()
        return members.next(in: octets.span).flatMap { DeltaSeconds.parse(octets.span.extracting($0)) } ?? 0
    }

    /// Negative numbers are 0. Large ones are 2^31 (RFC 9111 §1.2.2).
    private static func clamped(_ seconds: Int64) -> Int64 { min(max(0, seconds), DeltaSeconds.largest) }
}
