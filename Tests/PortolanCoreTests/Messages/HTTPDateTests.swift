// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Testing

@testable import PortolanCore

@Suite struct HTTPDateTests {
    /// Times in seconds since 1970, and the output of `date -u -d @SECONDS`; `nil` if the year has not four digits.
    static let times: [(seconds: Int64, text: String?)] = [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
        (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (-2_203_891_200, "Thu, 01 Mar 1900 00:00:00 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (253_402_300_800, nil),
        (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"), (-62_167_219_201, nil), (.max, nil), (.min, nil),
    ]

    @Test(arguments: times) func dateIsWrittenAsIMFFixdate(_ seconds: Int64, _ text: String?) {
        #expect(HTTPDate(secondsSince1970: seconds)?.description == text)
    }

    @Test(arguments: times) func writtenDateIsParsedToTheSameTime(_ seconds: Int64, _ text: String?) {
        guard let text else { return }
        #expect(HTTPDate(parsing: text, now: 0)?.secondsSince1970 == seconds)
    }

    /// The short parser for the first form agrees with the one for all forms, on dates with up to two other octets.
    @Test func fixdatesAreParsedAlikeByBothParsers() {
        let octets = Array("09:,: GMTSunFebJDec2é".utf8)
        var random = SeededGenerator(seed: 7)
        var acceptedCount = 0
        for _ in 0..<20_000 {
            let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &random)
            var text = Array((HTTPDate(secondsSince1970: seconds)?.description ?? "").utf8)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                text[Int.random(in: text.indices, using: &random)] = octets[Int.random(in: octets.indices, using: &random)]
            }
            // The longer parser sees a replacement character in the place of an octet that is no text.
            let parsed = HTTPDate(parsing: String(decoding: text, as: UTF8.self), now: 0)?.secondsSince1970
            #expect(HTTPDate.secondsSince1970(ofFixdate: text.span) == parsed, "\(String(decoding: text, as: UTF8.self))")
            acceptedCount += parsed == nil ? 0 : 1
        }
        #expect((5_000...19_000).contains(acceptedCount))
    }

    /// The example of RFC 9110 §5.6.7 in its three forms, and two-digit years, which are parsed at a time in 2026.
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Sun Nov 16 08:49:37 1994", 784_975_777),
            ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800), ("Friday, 01-Jan-76 00:00:00 GMT", 3_345_062_400),
            ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800), ("Sun, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ] as [(String, Int64)])
    func datesOfAllThreeFormsAreParsed(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(parsing: text, now: 1_780_000_000)?.secondsSince1970 == seconds)
    }

    @Test(arguments: [
        "", " ", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994  08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun Nov  06 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, ０6 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", "784111777",
    ])
    func malformedDatesAreRejected(_ text: String) {
        #expect(HTTPDate(parsing: text, now: 0) == nil)
    }

    @Test func truncatedDatesAreRejected() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            for length in 0..<text.count { #expect(HTTPDate(parsing: String(text.prefix(length)), now: 0) == nil) }
        }
    }
}
