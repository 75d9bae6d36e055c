// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanCache

/// Freshness lifetime and age (RFC 9111 §4.2, §5.1, §5.3).
@Suite struct FreshnessTests {
    /// §4.2: the three forms, in any case, only GMT. `Date` is ``CacheFixtures/now``.
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 09:49:37 GMT", 3600), ("Sunday, 06-Nov-94 09:49:37 GMT", 3600), ("Sun Nov  6 09:49:37 1994", 3600),
            ("SUN, 06 Nov 1994 09:49:37 GMT", 3600), ("Sun, 06 NOV 1994 09:49:37 GMT", 3600), ("sun, 06 nov 1994 09:49:37 gMT", 3600),
            ("SUNDAY, 06-nov-94 09:49:37 gmt", 3600), ("sun nov  6 09:49:37 1994", 3600),
            ("Tue, 19 Jan 2038 14:14:08 GMT", 1_363_411_471), ("Sun, 21 Nov 2286 04:46:39 GMT", 2_147_483_648),
            // In the past, or malformed.
            ("Sun, 06 Nov 1994 07:49:37 GMT", 0), ("0", 0), ("-1", 0), ("", 0), ("Sun, 06 Nov 1994 09:49:37 UTC", 0),
            ("Sun, 06 Nov 1994 09:49:37 AEST", 0), ("Sun, 06 Nov 1994 09:49:37", 0), ("Sun, 06 Nov 94 09:49:37 GMT", 0),
            ("Sun 06 Nov 1994 09:49:37 GMT", 0), ("Sun, 06  Nov  1994 09:49:37 GMT", 0), ("Sun, 06-Nov-1994 09:49:37 GMT", 0),
            ("Sun, 06 Nov 1994 09.49.37 GMT", 0), ("Sun, 06 Nov 1994 9:49:37 GMT", 0), ("Sun, 30 Feb 1994 09:49:37 GMT", 0),
            ("Sun, 06 Nov 1994 09:49:37 GMT, Sun, 06 Nov 1994 09:49:37 GMT", 0), ("3600", 0),
            ("x | Expires: Sun, 06 Nov 1994 09:49:37 GMT", 0), ("Sun, 06 Nov 1994 09:49:37 GMT | Expires: 0", 3600),
        ] as [(String, Int64)])
    func section421LifetimeByExpires(expires: String, seconds: Int64) throws {
        let response = try CacheFixtures.response("Date: \(try CacheFixtures.date(0)) | Expires: \(expires)")
        let freshness = Freshness(of: response, now: CacheFixtures.now)
        #expect(freshness.lifetime == seconds && freshness.source == .expires)
    }

    /// §4.2.1: `max-age` precedes `Expires`, which precedes a heuristic.
    @Test func section421Precedence() throws {
        let dates = "Date: \(try CacheFixtures.date(0)) | Last-Modified: \(try CacheFixtures.date(-1000))"
        let expires = "Expires: \(try CacheFixtures.date(60))"
        for (text, lifetime, source) in [
            ("\(dates) | \(expires) | Cache-Control: max-age=5", 5, Freshness.Source.maxAge),
            ("\(dates) | Expires: 0 | Cache-Control: max-age=5", 5, .maxAge),
            ("\(dates) | \(expires) | Cache-Control: max-age=x", 0, .maxAge), ("\(dates) | \(expires)", 60, .expires),
            ("\(dates) | Expires: 0", 0, .expires), (dates, 100, .heuristic),
            ("\(dates) | Cache-Control: s-maxage=9", 100, .heuristic), ("Date: x", 0, .none),
        ] as [(String, Int64, Freshness.Source)] {
            let freshness = Freshness(of: try CacheFixtures.response(text), now: CacheFixtures.now)
            #expect(freshness.lifetime == lifetime && freshness.source == source, "\(text)")
        }
    }

    /// §5.3 and RFC 9110 §6.6.1: without a valid `Date`, `Expires` is relative to the time of reception.
    @Test(arguments: ["", "Date: nonsense |"])
    func section53ExpiresWithoutDate(date: String) throws {
        let response = try CacheFixtures.response("\(date) Expires: \(try CacheFixtures.date(50))", received: 20)
        #expect(Freshness(of: response, now: CacheFixtures.now).lifetime == 30)
    }

    /// §4.2.2, RFC 9110 §15.1
    @Test(
        arguments: [
            (200, "", true), (203, "", true), (204, "", true), (300, "", true), (301, "", true), (308, "", true), (404, "", true),
            (405, "", true), (410, "", true), (414, "", true), (501, "", true), (201, "", false), (202, "", false), (302, "", false),
            (307, "", false), (403, "", false), (502, "", false), (503, "", false), (504, "", false), (599, "", false),
            (599, "| Cache-Control: public", true), (599, "| Cache-Control: private", false),
        ])
    func section422StatusesWithAHeuristic(status: Int, text: String, hasLifetime: Bool) throws {
        let dates = "Date: \(try CacheFixtures.date(0)) | Last-Modified: \(try CacheFixtures.date(-7200)) \(text)"
        let response = try CacheFixtures.response(dates, status: HTTPResponse.Status(code: status))
        #expect(Freshness(of: response, now: CacheFixtures.now).lifetime == (hasLifetime ? 720 : 0))
    }

    /// §4.2.2: a tenth of the time since the last change, at most a day.
    @Test(arguments: [(5, 0), (10, 1), (3600, 360), (86400, 8640), (864_000, 86400), (100_000_000, 86400), (-10, 0)] as [(Int64, Int64)])
    func section422Heuristic(age: Int64, lifetime: Int64) throws {
        let text = "Date: \(try CacheFixtures.date(0)) | Last-Modified: \(try CacheFixtures.date(-age))"
        #expect(Freshness(of: try CacheFixtures.response(text), now: CacheFixtures.now).lifetime == lifetime)
    }

    /// §5.1: the first member counts, and a malformed one is ignored.
    @Test(
        arguments: [
            ("Age: 7200", 7200), ("Age: 0", 0), ("Age: abc", 0), ("Age: -7200", 0), ("Age: 7200.0", 0), ("Age: 2147483647", 2_147_483_647),
            ("Age: 2147483648", 2_147_483_648), ("Age: 99999999999999999999", 2_147_483_648), ("Age: 7200, 0", 7200), ("Age: 0, 7200", 0),
            ("Age: 7200 | Age: 0", 7200), ("Age: 0 | Age: 7200", 0), ("Age: 7200;foo=bar", 0), ("Age: , 5", 0), ("Age:", 0), ("", 0),
        ] as [(String, Int64)])
    func section51Age(text: String, seconds: Int64) throws {
        #expect(Freshness.ageValue(try CacheFixtures.fields(text)) == seconds)
    }

    /// §4.2.3. The times are relative to ``CacheFixtures/now``.
    @Test(
        arguments: [
            (nil, nil, 0, 0, 0, 0), (nil, nil, 0, 0, 10, 10), (nil, 5, 0, 0, 10, 15),
            // The delay of the response counts.
            (nil, nil, -4, 0, 10, 14), (nil, 5, -4, 0, 10, 19),
            // The apparent age counts if it is larger than the corrected one.
            (-100, nil, 0, 0, 10, 110), (-100, 5, 0, 0, 10, 110), (-100, 200, 0, 0, 10, 210),
            // A server whose clock is ahead, and a clock that was set back.
            (100, nil, 0, 0, 10, 10), (nil, nil, 0, 0, -10, 10), (nil, nil, 5, 0, 0, 0), (nil, Int64.max, 0, 0, 0, 2_147_483_648),
        ] as [(Int64?, Int64?, Int64, Int64, Int64, Int64)])
    func section423Age(date: Int64?, age: Int64?, requestTime: Int64, responseTime: Int64, now: Int64, expected: Int64) throws {
        var lines: [String] = []
        if let date { lines.append("Date: \(try CacheFixtures.date(date))") }
        if let age { lines.append("Age: \(age)") }
        let base = CacheFixtures.now
        let fields = try CacheFixtures.fields(lines.joined(separator: "|"))
        let result = self.age(fields, base + requestTime, base + responseTime, now: base + now)
        #expect(result == expected)
    }

    /// §4.2: fresh until the age reaches the lifetime.
    @Test func section42FreshIfLifetimeExceedsAge() throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10")
        #expect(Freshness(of: response, now: CacheFixtures.now + 9).isFresh)
        #expect(!Freshness(of: response, now: CacheFixtures.now + 10).isFresh)
        #expect(Freshness(of: response, now: CacheFixtures.now + 12).staleness == 2)
    }

    @Test(arguments: [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max])
    func extremeTimesDoNotTrap(time: Int64) throws {
        let fields = try CacheFixtures.fields("Age: 5 | Date: \(try CacheFixtures.date(0)) | Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT")
        for other in [Int64.min, 0, CacheFixtures.now, .max] {
            #expect((0...DeltaSeconds.largest).contains(age(fields, other, time, now: other)))
            #expect((0...DeltaSeconds.largest).contains(age(fields, time, other, now: time)))
        }
        let origin = Freshness.Origin(
            status: .ok, fields: fields, directives: ResponseDirectives(fields), requestTime: time, responseTime: time)
        #expect(origin.lifetime == 86400)
    }

    private func age(_ fields: HTTPFields, _ requestTime: Int64, _ responseTime: Int64, now: Int64) -> Int64 {
        let origin = Freshness.Origin(
            status: .ok, fields: fields, directives: ResponseDirectives(fields), requestTime: requestTime, responseTime: responseTime)
        return Freshness.age(initial: origin.initialAge, responseTime: responseTime, now: now)
    }
}
