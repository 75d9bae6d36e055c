// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanCache

/// `Cache-Status` (RFC 9211).
@Suite struct CacheStatusTests {
    private func statuses(_ text: String) throws -> [CacheStatus] {
        CacheStatus.statuses(in: try CacheFixtures.fields("Cache-Status: " + text))
    }

    /// The examples of RFC 9211 §3, and others. Each is written as it was parsed.
    @Test(
        arguments: [
            ("ExampleCache;hit", [CacheStatus(cacheName: "ExampleCache", source: .hit)]),
            ("ExampleCache;hit;ttl=376", [CacheStatus(cacheName: "ExampleCache", source: .hit, timeToLive: 376)]),
            ("ExampleCache;hit;ttl=-412", [CacheStatus(cacheName: "ExampleCache", source: .hit, timeToLive: -412)]),
            (
                "ExampleCache;fwd=stale;fwd-status=304",
                [CacheStatus(cacheName: "ExampleCache", source: .forward(CacheStatus.Forward(.stale, status: 304)))]
            ),
            (
                "ExampleCache;fwd=uri-miss;fwd-status=200;stored;collapsed",
                [
                    CacheStatus(
                        cacheName: "ExampleCache",
                        source: .forward(CacheStatus.Forward(.uriMiss, status: 200, isStored: true, isCollapsed: true)))
                ]
            ),
            (
                "OriginCache;hit;ttl=1100, \"CDN Company Here\";fwd=bypass",
                [
                    CacheStatus(cacheName: "OriginCache", source: .hit, timeToLive: 1100),
                    CacheStatus(cacheName: "CDN Company Here", source: .forward(CacheStatus.Forward(.bypass))),
                ]
            ),
            ("a;key=\"https://x/\\\"\";detail=MEMORY", [CacheStatus(cacheName: "a", key: "https://x/\"", detail: "MEMORY")]),
            ("a;detail=\"two words\"", [CacheStatus(cacheName: "a", detail: "two words")]), ("a", [CacheStatus(cacheName: "a")]),
            (
                "a;fwd=x-other",
                [CacheStatus(cacheName: "a", source: .forward(CacheStatus.Forward(CacheStatus.ForwardReason(rawValue: "x-other"))))]
            ),
        ])
    func fieldIsParsedAndWritten(text: String, expected: [CacheStatus]) throws {
        #expect(try statuses(text) == expected)
        #expect(CacheStatus.fieldValue(expected) == text)
    }

    /// Other forms, and the one in which they are written.
    @Test(
        arguments: [
            ("a; hit ", "a;hit"), ("a;hit;fwd=miss", "a;hit"), ("a;hit=?0;fwd=miss", "a;fwd=miss"), ("a;hit=1", "a"),
            ("a;fwd=\"miss\"", "a"),
            ("a;fwd=miss;stored=?0", "a;fwd=miss"), ("a;ttl=1.5;key=b;unknown=1", "a"), ("a;fwd=miss;fwd-status=\"200\"", "a;fwd=miss"),
            ("a;hit | Cache-Status: b;hit", "a;hit, b;hit"), ("(a b);hit, c;hit", "c;hit"), ("1;hit, ?1, c", "c"), ("\"a\";hit", "a;hit"),
            ("a;stored;collapsed", "a"),
            // Malformed as a whole.
            ("", ""), ("a b", ""), ("a;hit,", ""), ("a, \"b", ""), ("a;Hit", ""), ("a | Cache-Status: b c", ""),
        ])
    func otherFormsAreRead(text: String, expected: String) throws {
        #expect(CacheStatus.fieldValue(try statuses(text)) == expected)
    }

    @Test func anyTextCanBeWritten() throws {
        let status = CacheStatus(
            cacheName: "é\n", source: .forward(CacheStatus.Forward(CacheStatus.ForwardReason(rawValue: "two words"), status: .max)),
            timeToLive: .min, key: "\u{0}", detail: "")
        let text = CacheStatus.fieldValue([status])
        #expect(text == "\"??\";fwd=miss;fwd-status=999999999999999;ttl=-999999999999999;key=\"?\";detail=\"\"")
        #expect(try statuses(text).count == 1 && CacheStatus.fieldValue([]) == "")
    }

    @Test func longFieldsAreIgnored() throws {
        let name = String(repeating: "a", count: CacheStatus.limit)
        #expect(try statuses(name).count == 1 && statuses(name + "a").isEmpty)
    }

    @Test func truncatedFieldDoesNotTrap() throws {
        let text = "a;fwd=stale;fwd-status=304;stored;key=\"k\\\"\";detail=x, \"b c\";hit;ttl=-1"
        for count in 0...text.utf8.count { _ = try statuses(String(text.prefix(count))) }
    }

    @Test func decisionsHaveAStatus() throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10")
        guard case .use(let use) = try CacheFixtures.lookup(after: 4).decide([response]) else { throw Unexpected() }
        #expect(CacheStatus.fieldValue([.hit(use, of: response)]) == "portolan;hit;ttl=6;detail=fresh")
        for (lookup, responses, reason) in [
            (try CacheFixtures.lookup(), [], "uri-miss"), (try CacheFixtures.lookup(after: 10), [response], "stale"),
            (try CacheFixtures.lookup("Cache-Control: no-cache"), [response], "request"),
            (try CacheFixtures.lookup(method: .post), [response], "method"),
            (try CacheFixtures.lookup(policy: .reload), [response], "bypass"),
            (try CacheFixtures.lookup("Range: bytes=0-1,5-6"), [response], "partial"),
            (try CacheFixtures.lookup(), [try CacheFixtures.response("Vary: Foo", request: "Foo: 1")], "vary-miss"),
        ] {
            switch lookup.decide(responses) {
            case .load(let cause), .validate(_, let cause):
                let status = CacheStatus.forwarded(because: cause, status: 200, isStored: true)
                #expect(CacheStatus.fieldValue([status]).hasPrefix("portolan;fwd=\(reason);fwd-status=200;stored;detail=\(cause)"))
            default: throw Unexpected()
            }
        }
    }

    struct Unexpected: Error {}
}
