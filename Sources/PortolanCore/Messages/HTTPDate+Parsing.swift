// SPDX-License-Identifier: Apache-2.0

extension HTTPDate {
    /// Parses a date in one of the three forms that a recipient must accept:
    ///
    ///     Sun, 06 Nov 1994 08:49:37 GMT
    ///     Sunday, 06-Nov-94 08:49:37 GMT
    ///     Sun Nov  6 08:49:37 1994
    ///
    /// Names are case-sensitive, as in the grammar. The day of the week is not checked against the date. Second 60 of a
    /// minute is the first second of the next minute.
    ///
    /// - Parameter now: the current time in seconds since 1970. It determines the century of a two-digit year, which is
    ///   at most fifty years in the future.
    ///
    /// RFC 9110 §5.6.7
    package init?(parsing text: String, now: Int64) {
        // The longest text is a Wednesday in the second form.
        guard text.utf8.count <= 33, let date = DateFields(text, now: now),
            let seconds = Self.secondsSince1970(
                year: date.year, month: date.month, day: date.day, hour: date.hour, minute: date.minute, second: date.second)
        else { return nil }
        self.init(secondsSince1970: seconds)
    }

    /// Parses a date in the first form, which nearly all servers send, without making a text.
    ///
    /// - Returns: `nil` for another form, and for a date or a time that does not exist.
    package static func secondsSince1970(ofFixdate octets: Span<UInt8>) -> Int64? {
        guard octets.count == 29, octets[3] == UInt8(ascii: ","), octets[19] == UInt8(ascii: ":"), octets[22] == UInt8(ascii: ":"),
            [4, 7, 11, 16, 25].allSatisfy({ octets[$0] == UInt8(ascii: " ") }),
            octets[26] == UInt8(ascii: "G"), octets[27] == UInt8(ascii: "M"), octets[28] == UInt8(ascii: "T"),
            index(in: weekdays, at: 0, octets) != nil, let month = index(in: months, at: 8, octets),
            let day = number(octets, 5..<7), let year = number(octets, 12..<16), let hour = number(octets, 17..<19),
            let minute = number(octets, 20..<22), let second = number(octets, 23..<25)
        else { return nil }
        return secondsSince1970(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    /// Returns the index of the three-letter name at a position; `nil` for any other text.
    private static func index(in names: [String], at position: Int, _ octets: Span<UInt8>) -> Int? {
        names.firstIndex { name in
            let letters = name.utf8
            var index = position
            return letters.allSatisfy { letter in
                defer { index += 1 }
                return octets[index] == letter
            }
        }
    }

    private static func number(_ octets: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var number = 0
        for index in range {
            let digit = octets[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + Int(digit)
        }
        return number
    }

    /// Converts a date in UTC to seconds since 1970-01-01.
    ///
    /// - Parameters:
    ///   - year: a year of the Gregorian calendar, at most 9999.
    ///   - month: counted from 1.
    ///   - second: 60 is the first second of the next minute.
    /// - Returns: `nil` for a date or a time that does not exist, such as February 30.
    package static func secondsSince1970(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) -> Int64? {
        guard (1...12).contains(month), (1...dayCount(ofMonth: month, year)).contains(day), (0..<24).contains(hour),
            (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        // Years begin in March, so that a leap day is the last day of its year. 400 years have 146,097 days.
        let yearFromMarch = Int64(month <= 2 ? year - 1 : year)
        let era = (yearFromMarch >= 0 ? yearFromMarch : yearFromMarch - 399) / 400
        let yearOfEra = yearFromMarch - era * 400
        let monthFromMarch = Int64(month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return days * 86400 + Int64(hour * 3600 + minute * 60 + second)
    }

    private static func dayCount(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// The numbers in the text of a date. The date need not exist: February 30 is possible.
private struct DateFields {
    let year: Int
    /// Counted from 1.
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    private static let longWeekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    init?(_ text: String, now: Int64) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        let (date, year, time): ([Substring], Int?, Substring)
        if words.count == 6, words[5] == "GMT", Self.isWeekday(words[0], of: HTTPDate.weekdays) {
            (date, year, time) = ([words[1], words[2]], Self.number(words[3], digits: 4), words[4])
        } else if words.count == 4, words[3] == "GMT", Self.isWeekday(words[0], of: Self.longWeekdays) {
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            (date, year, time) = (parts, Self.number(parts[2], digits: 2).map { Self.year(endingIn: $0, now: now) }, words[2])
        } else if words.count == 5, HTTPDate.weekdays.contains(String(words[0])) {
            (date, year, time) = ([words[2], words[1]], Self.number(words[4], digits: 4), words[3])
        } else if words.count == 6, words[2].isEmpty, words[3].utf8.count == 1, HTTPDate.weekdays.contains(String(words[0])) {
            (date, year, time) = (["0" + words[3], words[1]], Self.number(words[5], digits: 4), words[4])
        } else {
            return nil
        }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Self.number($0, digits: 2) }
        guard let year, let day = Self.number(date[0], digits: 2), let month = HTTPDate.months.firstIndex(of: String(date[1])),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2]
        else { return nil }
        (self.year, self.month, self.day) = (year, month + 1, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    private static func isWeekday(_ word: Substring, of names: [String]) -> Bool {
        word.last == "," && names.contains(String(word.dropLast()))
    }

    private static func number(_ word: Substring, digits: Int) -> Int? {
        guard word.utf8.count == digits, word.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(word)
    }

    private static func year(endingIn digits: Int, now: Int64) -> Int {
        let present = 1970 + Int(clamping: now / 31_556_952)  // the average number of seconds in a Gregorian year
        let year = present / 100 * 100 + digits
        return year > present + 50 ? year - 100 : year
    }
}
