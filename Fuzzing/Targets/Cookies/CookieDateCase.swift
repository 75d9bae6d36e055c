// SPDX-License-Identifier: Apache-2.0

@_spi(Fuzzing) import PortolanCookies

/// Parses a cookie date, and compares it with an implementation that follows RFC 6265bis §5.1.1 step by step.
enum CookieDateCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let seconds = CookieFuzzing.seconds(inDate: input)
        let expected = reference(input)
        try require(
            seconds == expected,
            "\(String(decoding: input, as: UTF8.self).debugDescription) is \(String(describing: seconds)) instead of "
                + String(describing: expected))
    }

    private static func reference(_ input: [UInt8]) -> Int64? {
        var (time, day, month, year): ([Int]?, Int?, Int?, Int?)
        for token in input.split(whereSeparator: isDelimiter).map(Array.init) {
            if time == nil, let value = Self.time(token) { time = value; continue }
            if day == nil, let value = digits(token, 1...2) { day = value; continue }
            if month == nil, let value = Self.month(token) { month = value; continue }
            if year == nil, let value = digits(token, 2...4) { year = value }
        }
        guard let time, let day, let month, var year else { return nil }
        if year >= 70, year <= 99 { year += 1900 }
        if year >= 0, year <= 69 { year += 2000 }
        guard day >= 1, day <= dayCount(ofMonth: month, year), year >= 1601, time[0] <= 23, time[1] <= 59, time[2] <= 59 else { return nil }
        var days = 0
        for earlierYear in 1601..<year { days += isLeap(earlierYear) ? 366 : 365 }
        for earlierMonth in 1..<month { days += dayCount(ofMonth: earlierMonth, year) }
        // There are 134,774 days from 1601-01-01 to 1970-01-01.
        return Int64(days + day - 1 - 134_774) * 86400 + Int64(time[0] * 3600 + time[1] * 60 + time[2])
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte == 0x09 || (0x20...0x2F).contains(byte) || (0x3B...0x40).contains(byte) || (0x5B...0x60).contains(byte)
            || (0x7B...0x7E).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// `N*M DIGIT [ non-digit *OCTET ]`
    private static func digits(_ token: [UInt8], _ count: ClosedRange<Int>) -> Int? {
        let leadingDigits = token.prefix(while: isDigit)
        return count.contains(leadingDigits.count) ? Int(String(decoding: leadingDigits, as: UTF8.self)) : nil
    }

    /// `time-field ":" time-field ":" time-field [ non-digit *OCTET ]`
    private static func time(_ token: [UInt8]) -> [Int]? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false).map(Array.init)
        guard fields.count == 3, fields[0].allSatisfy(isDigit), fields[1].allSatisfy(isDigit) else { return nil }
        let numbers = fields.compactMap { digits($0, 1...2) }
        return numbers.count == 3 ? numbers : nil
    }

    private static func month(_ token: [UInt8]) -> Int? {
        let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        let start = token.prefix(3).map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        return names.firstIndex { Array($0.utf8) == start }.map { $0 + 1 }
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func dayCount(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
