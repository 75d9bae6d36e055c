// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCookies

/// Parsing of cookie dates (RFC 6265bis §5.1.1).
@Suite struct CookieDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("1994 nov 6 8:49:37", 784_111_777), ("6 November 94 08:49:37", 784_111_777),
            ("08:49:37 6 NOVEMBER 1994 PST", 784_111_777), ("06/Nov/1994 08:49:37", 784_111_777), ("6th Nov 1994x 8:49:37z", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("1 Jan 69 0:0:0", 3_124_224_000), ("1 Jan 70 0:0:0", 0), ("1 Jan 99 0:0:0", 915_148_800),
            ("1 Jan 00 0:0:0", 946_684_800), ("29 Feb 2000 0:0:0", 951_782_400), ("31 Dec 9999 23:59:59", 253_402_300_799),
            ("1 Jan 1601 00:00:00", -11_644_473_600), ("1 Jan 2000 00:00:00 2 Feb 2001 01:01:01", 946_684_800),
            // The first number of one or two digits is the day, and the second is the year.
            ("70 1 Jan 0:0:0", nil), ("1 70 Jan 0:0:0", 0), ("12 Jan 3 0:0:0", nil), ("1 Jan 0:0:0", nil), ("Jan 1970 0:0:0", nil),
            ("1 Jan 1970", nil), ("1 1970 0:0:0", nil), ("32 Jan 2000 0:0:0", nil), ("0 Jan 2000 0:0:0", nil), ("30 Feb 2000 0:0:0", nil),
            ("29 Feb 1900 0:0:0", nil), ("29 Feb 2001 0:0:0", nil), ("31 Apr 2000 0:0:0", nil), ("1 Jan 1600 0:0:0", nil),
            ("1 Jan 2000 24:0:0", nil), ("1 Jan 2000 0:60:0", nil), ("1 Jan 2000 0:0:60", nil), ("1 Jan 2000 000:0:0", nil),
            ("1 Jan 2000 0:0:000", nil), ("1 Jan 2000 0:0", nil), ("1 Jan 02000 0:0:0", nil), ("001 Jan 2000 0:0:0", nil), ("", nil),
            (";,-", nil),
            ("1 Janvier 2000 0:0:0", 946_684_800), ("1 ja 2000 0:0:0", nil), ("tuesday, 01 jan 2000 00:00:00", 946_684_800),
            ("1\u{80} Jan 2000 0:0:0", 946_684_800),
        ] as [(String, Int?)])
    func dateIsParsed(text: String, seconds: Int?) {
        #expect(CookieDate.seconds(in: Array(text.utf8).span) == seconds.map(Int64.init))
    }

    /// The expected seconds of each day from 1601 to 2000 are counted from the first day.
    @Test func eachDayOfFourCenturiesIsParsed() {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var expectedSeconds: Int64 = -11_644_473_600
        for year in 1601...2000 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for (month, count) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                for day in 1...count {
                    if CookieDate.seconds(in: Array("\(day) \(months[month]) \(year) 0:0:0".utf8).span) != expectedSeconds {
                        Issue.record("\(day) \(months[month]) \(year)")
                        return
                    }
                    expectedSeconds += 86400
                }
            }
        }
    }
}
