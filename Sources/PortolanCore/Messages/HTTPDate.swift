// SPDX-License-Identifier: Apache-2.0

/// A date in the format of HTTP, to the second, in UTC: `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// RFC 9110 §5.6.7, IMF-fixdate
package struct HTTPDate: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
    package let secondsSince1970: Int64

    /// - Parameter seconds: since 1970-01-01 00:00:00 UTC, without leap seconds.
    /// - Returns: `nil` outside the years 0 to 9999, for which there is no format.
    package init?(secondsSince1970 seconds: Int64) {
        let (day, second) = Self.floorDivide(seconds, by: 86400)
        // Day 0 of the count below is 0000-03-01, so that a leap day is the last day of its year. 400 years have
        // 146,097 days.
        let (era, dayOfEra) = Self.floorDivide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 2 : monthFromMarch - 10
        let year = era * 400 + yearOfEra + (month < 2 ? 1 : 0)
        guard (0...9999).contains(year) else { return nil }

        // 1970-01-01 was a Thursday.
        let weekday = Self.weekdays[Int(Self.floorDivide(day + 4, by: 7).remainder)]
        let date = "\(Self.digits(dayOfMonth, 2)) \(Self.months[Int(month)]) \(Self.digits(year, 4))"
        let time = "\(Self.digits(second / 3600, 2)):\(Self.digits(second / 60 % 60, 2)):\(Self.digits(second % 60, 2))"
        description = "\(weekday), \(date) \(time) GMT"
        secondsSince1970 = seconds
    }

    static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Rounds down, so that the remainder is never negative.
    private static func floorDivide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func digits(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: width - text.utf8.count) + text
    }
}
