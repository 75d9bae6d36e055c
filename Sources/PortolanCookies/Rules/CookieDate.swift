// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Parses the dates of `Expires` attributes.
///
/// The algorithm accepts any text that has a time, a day of the month, a month and a year between delimiters, in any
/// order. It ignores weekdays, time zones and everything else.
///
/// RFC 6265bis §5.1.1
package enum CookieDate {
    /// Returns the seconds since 1970-01-01 00:00:00 UTC; `nil` if the text is no date.
    package static func seconds(in text: Span<UInt8>) -> Int64? {
        var parts = Parts()
        var position = 0
        while position < text.count {
            guard !isDelimiter(text[position]) else {
                position += 1
                continue
            }
            var end = position
            while end < text.count, !isDelimiter(text[end]) { end += 1 }
            parts.add(text.extracting(position..<end))
            position = end
        }
        return parts.seconds
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// The parts of a date that the scan has found. For each part, the first token that fits is used.
    private struct Parts {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        mutating func add(_ token: Span<UInt8>) {
            if time == nil, let value = CookieDate.time(token) {
                time = value
            } else if day == nil, let value = CookieDate.number(token, digits: 1...2) {
                day = value
            } else if month == nil, let value = CookieDate.month(token) {
                month = value
            } else if year == nil, let value = CookieDate.number(token, digits: 2...4) {
                year = value
            }
        }

        var seconds: Int64? {
            guard let time, let day, let month, var year else { return nil }
            if (70...99).contains(year) { year += 1900 } else if year <= 69 { year += 2000 }
            // The RFC allows no leap second.
            guard year >= 1601, time.second <= 59 else { return nil }
            return HTTPDate.secondsSince1970(
                year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
        }
    }

    /// The number at the start of the token; `nil` if its number of digits is not in `digits`.
    private static func number(_ token: Span<UInt8>, digits: ClosedRange<Int>) -> Int? {
        var (value, count) = (0, 0)
        while count < token.count, let digit = digit(token[count]) {
            guard count < digits.upperBound else { return nil }
            value = value * 10 + digit
            count += 1
        }
        return digits.contains(count) ? value : nil
    }

    /// The hour, minute and second at the start of the token: three numbers of one or two digits, with colons between.
    private static func time(_ token: Span<UInt8>) -> (Int, Int, Int)? {
        var numbers = (0, 0, 0)
        var position = 0
        for index in 0..<3 {
            if index > 0 {
                guard position < token.count, token[position] == UInt8(ascii: ":") else { return nil }
                position += 1
            }
            let start = position
            while position < token.count, digit(token[position]) != nil { position += 1 }
            guard let value = number(token.extracting(start..<position), digits: 1...2) else { return nil }
            switch index {
            case 0: numbers.0 = value
            case 1: numbers.1 = value
            default: numbers.2 = value
            }
        }
        return numbers
    }

    /// The month whose first three letters begin the token; 1 for January.
    private static func month(_ token: Span<UInt8>) -> Int? {
        guard token.count >= 3 else { return nil }
        let letters = (token[0] | 0x20, token[1] | 0x20, token[2] | 0x20)
        return months.firstIndex { letters == $0 }.map { $0 + 1 }
    }

    private static let months: [(UInt8, UInt8, UInt8)] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map {
        let bytes = Array($0.utf8)
        return (bytes[0], bytes[1], bytes[2])
    }

    private static func digit(_ byte: UInt8) -> Int? { byte &- 0x30 < 10 ? Int(byte &- 0x30) : nil }
}
