// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A date as people write it, for `-z`.
enum DateArgument {
    /// Returns the seconds since 1970; `nil` if the text is no date.
    ///
    /// A date has a day, a month and a year: `28 Nov 2026`, `Nov 28 2026`, `2026-11-28` or `20261128`, in any order
    /// with a time, a weekday and a time zone. Without a time, it is midnight; without a zone, UTC.
    ///
    /// - Parameter now: seconds since 1970, for years of two digits.
    static func seconds(in text: String, now: Int64) -> Int64? {
        if let date = HTTPDate(parsing: text, now: now) { return date.secondsSince1970 }
        var parts = Parts()
        let words = text.split { $0 == " " || $0 == "\t" || $0 == "," }
        for word in words where !parts.add(word) { return nil }
        return parts.seconds
    }

    private struct Parts {
        var year: Int?
        var month: Int?
        var day: Int?
        var time: (hour: Int, minute: Int, second: Int)?
        /// Seconds east of UTC.
        var offset = 0

        /// - Returns: `false` if the word is no part of a date.
        mutating func add(_ word: Substring) -> Bool {
            if word.contains(":") { return addTime(word) }
            if let sign = word.first, sign == "+" || sign == "-", let offset = DateArgument.offset(word) {
                self.offset = offset
                return true
            }
            if word.contains("-") { return addDate(word.split(separator: "-")) }
            if let number = Int(word) { return addNumber(number, digits: word.count) }
            if let index = DateArgument.index(of: word, in: DateArgument.months) {
                guard month == nil else { return false }
                month = index + 1
                return true
            }
            if DateArgument.index(of: word, in: DateArgument.weekdays) != nil { return true }
            guard let offset = DateArgument.zones[word.uppercased()] else { return false }
            self.offset = offset * 3600
            return true
        }

        /// `2026-11-28` or `28-Nov-2026`.
        private mutating func addDate(_ parts: [Substring]) -> Bool {
            guard parts.count == 3, let first = parts.first, let last = parts.last else { return false }
            if first.count == 4, let year = Int(first), let month = Int(parts[1]), let day = Int(last) {
                (self.year, self.month, self.day) = (year, month, day)
                return true
            }
            return parts.allSatisfy { add($0) }
        }

        private mutating func addNumber(_ number: Int, digits: Int) -> Bool {
            if digits == 8 {
                (year, month, day) = (number / 10000, number / 100 % 100, number % 100)
            } else if day == nil, digits <= 2 {
                day = number
            } else if year == nil, digits == 4 {
                year = number
            } else if year == nil, digits == 2 {
                year = number + (number < 70 ? 2000 : 1900)
            } else {
                return false
            }
            return true
        }

        private mutating func addTime(_ word: Substring) -> Bool {
            let numbers = word.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
            guard time == nil, (2...3).contains(numbers.count), let hour = numbers[0], let minute = numbers[1],
                let second = numbers.count == 3 ? numbers[2] : 0
            else { return false }
            time = (hour, minute, second)
            return true
        }

        var seconds: Int64? {
            guard let year, let month, let day else { return nil }
            let time = time ?? (0, 0, 0)
            guard
                let seconds = HTTPDate.secondsSince1970(
                    year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
            else { return nil }
            return seconds - Int64(offset)
        }
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    /// Hours east of UTC.
    private static let zones = [
        "GMT": 0, "UTC": 0, "Z": 0, "WET": 0, "CET": 1, "CEST": 2, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
        "PST": -8, "PDT": -7,
    ]

    /// The position of the name with which the word begins: `Sep`, `Sept`, `September`; `nil` if there is none.
    private static func index(of word: Substring, in names: [String]) -> Int? {
        guard word.count >= 3, word.allSatisfy(\.isLetter) else { return nil }
        return names.firstIndex { word.lowercased().hasPrefix($0) }
    }

    /// An offset such as `+0100` in seconds; `nil` for another text.
    private static func offset(_ word: Substring) -> Int? {
        guard word.count == 5, let number = Int(word.dropFirst()), number >= 0 else { return nil }
        let seconds = number / 100 * 3600 + number % 100 * 60
        return word.first == "-" ? -seconds : seconds
    }
}
