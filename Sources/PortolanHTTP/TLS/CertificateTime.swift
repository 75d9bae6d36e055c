// SPDX-License-Identifier: Apache-2.0

/// A moment as certificates write it: in UTC, to the second.
///
/// RFC 5280 §4.1.2.5
struct CertificateTime: Hashable, Sendable, Comparable {
    /// Since 1970.
    let seconds: Int64
    /// The day, as `2026-01-31`.
    let day: String

    init(_ element: DERReader.Element) throws(DERReader.SyntaxError) {
        let digits = element.content.dropLast()
        guard element.content.last == UInt8(ascii: "Z"), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw DERReader.SyntaxError()
        }
        let values = digits.map { Int($0 - 0x30) }
        let fields: [Int]
        switch (element.tag, values.count) {
        // UTCTime: two digits for a year from 1950 to 2049.
        case (0x17, 12):
            let year = values[0] * 10 + values[1]
            fields = [year < 50 ? 2000 + year : 1900 + year] + Self.pairs(values[2...])
        // GeneralizedTime
        case (0x18, 14): fields = [values[..<4].reduce(0) { $0 * 10 + $1 }] + Self.pairs(values[4...])
        default: throw DERReader.SyntaxError()
        }
        let (year, month, day) = (fields[0], fields[1], fields[2])
        guard (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day), fields[3] < 24, fields[4] < 60, fields[5] < 60
        else {
            throw DERReader.SyntaxError()
        }
        let time = fields[3] * 3600 + fields[4] * 60 + fields[5]
        seconds = Int64(Self.daysSince1970(year, month, day)) * 86_400 + Int64(time)
        self.day = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
    }

    static func < (a: Self, b: Self) -> Bool { a.seconds < b.seconds }

    private static func pairs(_ digits: ArraySlice<Int>) -> [Int] {
        stride(from: digits.startIndex, to: digits.endIndex, by: 2).map { digits[$0] * 10 + digits[$0 + 1] }
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func days(in month: Int, of year: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// In the Gregorian calendar, for years from 0 to 9999.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Days before a year, counted from year 1; year 0 has 366.
        let before = year - 1
        let leaps = year == 0 ? -1 : before / 4 - before / 100 + before / 400
        let months = (1..<month).reduce(0) { $0 + days(in: $1, of: year) }
        return before * 365 + leaps + months + day - 1 - 719_162
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
