// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCache

/// Parsing of `Cache-Control` and `Pragma` (RFC 9111 §5.2, §5.4), as leniently as the public suite of cache tests.
@Suite struct CacheDirectiveTests {
    /// RFC 9111 §1.2.2, §4.2.1, §5.2.2.1
    @Test(
        arguments: [
            ("max-age=3600", 3600), ("MaX-aGe=3600", 3600), ("max-age=\"3600\"", 3600), ("max-age=003600", 3600), ("max-age=0", 0),
            (" ,, max-age=5 ,", 5), ("foobar, max-age=5", 5), ("foo=bar;x, max-age=5", 5), ("max-age=\"36\\00\"", 3600),
            // Overflow.
            ("max-age=2147483647", 2_147_483_647), ("max-age=2147483648", 2_147_483_648), ("max-age=2147483649", 2_147_483_648),
            ("max-age=99999999999", 2_147_483_648), ("max-age=99999999999999999999999999", 2_147_483_648),
            // Malformed: stale.
            ("max-age=-3600", 0), ("max-age='3600'", 0), ("max-age=3600.0", 0), ("max-age=3600.5", 0), ("max-age=a3600", 0),
            ("max-age=3600a", 0), ("max-age", 0), ("max-age=", 0), ("max-age=\"\"", 0), ("max-age=\"3600", 0), ("max-age=\"36\"00", 0),
            ("max-age =3600", 0), ("max-age= 3600", 0), ("max-age=+1", 0), ("max-age=1 2", 0), ("max-age=٣", 0),
            // The first of several counts.
            ("max-age=1800, max-age=1", 1800), ("max-age=1, max-age=1800", 1), ("max-age=1800 | Cache-Control: max-age=1", 1800),
            ("max-age=1 | Cache-Control: max-age=1800", 1), ("max-age=x, max-age=1800", 0),
            // Quoted commas.
            ("extension=\"max-age=3600\", max-age=1", 1), ("max-age=1, extension=\"max-age=3600\"", 1), ("a=\",max-age=9,\", max-age=1", 1),
            ("a=\"\\\",max-age=9\", max-age=1", 1), ("a=\"b, max-age=1", 1),
            // Not for this cache, or not this directive.
            ("s-maxage=3600", nil), ("x-max-age=1", nil), ("max-agee=1", nil), ("maxage=1", nil), ("", nil),
            ("public | CDN-Cache-Control: max-age=9", nil), ("s-maxage=3600, max-age=1", 1),
        ] as [(String, Int64?)])
    func maxAgeOfAResponse(text: String, seconds: Int64?) throws {
        #expect(ResponseDirectives(try CacheFixtures.fields("Cache-Control: " + text)).maxAge == seconds)
    }

    /// RFC 9111 §5.2.2.4
    @Test(
        arguments: [
            ("no-cache", .always), ("No-CaChE", .always), ("max-age=1, no-cache", .always),
            ("no-cache=\"a, B\"", .fields([HTTPField.Name("a"), HTTPField.Name("b")])),
            ("no-cache=set-cookie", .fields([.setCookie])), ("no-cache=\"\"", .always), ("no-cache=", .always),
            ("no-cache=\"a b\"", .always), ("no-cache=\"a", .always), ("no-cache =\"a\"", .always),
            ("no-cache=\",,a,\"", .fields([HTTPField.Name("a")])),
            // The rules need these fields.
            ("no-cache=\"expires\"", .always), ("no-cache=\"a, Vary\"", .always), ("no-cache=\"a\", no-cache=date", .always),
            ("no-cache=\"a\", no-cache", .always), ("no-cache, no-cache=\"a\"", .always),
            ("no-cache=\"a\", no-cache=b", .fields([HTTPField.Name("a"), HTTPField.Name("b")])), ("x=\"no-cache\"", .absent),
            ("max-age=1", .absent),
        ] as [(String, NoCache)])
    func noCacheOfAResponse(text: String, expected: NoCache) throws {
        let directives = ResponseDirectives(try CacheFixtures.fields("Cache-Control: " + text))
        switch (expected, directives.noCache) {
        case (.absent, .absent), (.always, .always): break
        case (.fields(let names), .fields(let parsed)): #expect(parsed == names.compactMap { $0 })
        default: Issue.record("\(directives.noCache)")
        }
    }
    enum NoCache: Sendable { case absent, always, fields([HTTPField.Name?]) }

    /// RFC 9111 §5.2.2.2 to §5.2.2.9; RFC 8246; RFC 5861
    @Test func otherDirectivesOfAResponse() throws {
        let directives = ResponseDirectives(
            try CacheFixtures.fields(
                "Cache-Control: No-Store, public=1, private=\"a\", must-revalidate | Cache-Control: must-understand,immutable =,"
                    + "stale-while-revalidate=\"5\", stale-if-error=99999999999, proxy-revalidate, no-transform"))
        #expect(directives.isNoStore && directives.isPublic && directives.isPrivate && directives.isMustRevalidate)
        #expect(directives.isMustUnderstand && directives.isImmutable && directives.noCache == .absent && directives.maxAge == nil)
        #expect(directives.staleWhileRevalidate == 5 && directives.staleIfError == 2_147_483_648)
        #expect(ResponseDirectives(try CacheFixtures.fields("Cache-Control: stale-if-error=x, a=\"no-store\"")).staleIfError == 0)
        #expect(ResponseDirectives(HTTPFields()) == ResponseDirectives(try CacheFixtures.fields("Cache-Control: proxy-revalidate")))
    }

    @Test func tooManyDirectivesForbidStorage() throws {
        let many = String(repeating: "a,", count: CacheDirective.limit)
        #expect(!ResponseDirectives(try CacheFixtures.fields("Cache-Control: " + many)).isNoStore)
        #expect(ResponseDirectives(try CacheFixtures.fields("Cache-Control: must-understand," + many)).isNoStore)
        let request = RequestDirectives(try CacheFixtures.fields("Cache-Control: a," + many))
        #expect(request.isNoStore && request.isNoCache)
        let names = (0...CacheDirective.fieldNameLimit).map { "f\($0)" }.joined(separator: ",")
        #expect(ResponseDirectives(try CacheFixtures.fields("Cache-Control: no-cache=\"\(names)\"")).noCache == .always)
    }

    /// RFC 9111 §5.2.1
    @Test(
        arguments: [
            ("max-age=5", [5, nil, nil]), ("max-age=5, max-age=3", [3, nil, nil]), ("max-age=x", [0, nil, nil]),
            ("max-age", [0, nil, nil]),
            ("min-fresh=5", [nil, 5, nil]), ("min-fresh=5, min-fresh=9", [nil, 9, nil]), ("min-fresh=x", [nil, 2_147_483_648, nil]),
            ("max-stale", [nil, nil, 2_147_483_648]), ("max-stale=7", [nil, nil, 7]), ("max-stale, max-stale=7", [nil, nil, 7]),
            ("max-stale=x", [nil, nil, 0]), ("MAX-STALE=\"7\", Min-Fresh=1", [nil, 1, 7]), ("s-maxage=1, no-transform", [nil, nil, nil]),
        ] as [(String, [Int64?])])
    func secondsOfARequest(text: String, expected: [Int64?]) throws {
        let directives = RequestDirectives(try CacheFixtures.fields("Cache-Control: " + text))
        #expect([directives.maxAge, directives.minFresh, directives.maxStale] == expected)
    }

    /// RFC 9111 §5.2.1.4, §5.2.1.5, §5.2.1.7, §5.4: `Pragma` counts only without `Cache-Control`.
    @Test(
        arguments: [
            ("Cache-Control: no-cache", "c"), ("Cache-Control: no-cache=\"a\"", "c"), ("Cache-Control: NO-STORE", "s"),
            ("Cache-Control: only-if-cached, no-store", "so"), ("Pragma: no-cache", "c"), ("Pragma: foo, No-Cache", "c"),
            ("Pragma: foo", ""), ("Pragma: no-cache | Cache-Control: max-age=1", ""), ("Pragma: no-cache=1", ""), ("", ""),
        ])
    func flagsOfARequest(text: String, expected: String) throws {
        let directives = RequestDirectives(try CacheFixtures.fields(text))
        let flags = (directives.isNoCache ? "c" : "") + (directives.isNoStore ? "s" : "") + (directives.isOnlyIfCached ? "o" : "")
        #expect(flags == expected)
    }
}
