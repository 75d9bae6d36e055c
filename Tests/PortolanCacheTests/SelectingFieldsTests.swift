// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCache

/// `Vary` (RFC 9111 §4.1).
@Suite struct SelectingFieldsTests {
    private static let stored = "Foo: 1 | Bar: abc"

    /// Whether a response to the first request, with this `Vary`, matches the second request.
    @Test(
        arguments: [
            ("Foo", "Foo: 1", "Foo: 1", true), ("foo", "Foo: 1", "FOO: 1", true), ("Foo", "Foo: 1", "Foo: 2", false),
            ("Foo", "", "Foo: 1", false), ("Foo", "Foo: 1", "", false), ("Foo", "", "", true), ("Foo", "", "Foo:", false),
            ("Foo", "Foo: 1 | Other: 2", "Foo: 1 | Other: 3", true), ("", "Foo: 1", "Foo: 2", true), (",,", "Foo: 1", "Foo: 2", true),
            ("Foo, Bar", "Foo: 1 | Bar: abc", "Bar: abc | Foo: 1", true), ("Foo, Bar", "Foo: 1 | Bar: abc", "Foo: 2 | Bar: abc", false),
            ("Foo, Bar", "Foo: 1 | Bar: abc", "", false), ("Foo | Vary: Bar", "Foo: 1 | Bar: a", "Foo: 1 | Bar: b", false),
            ("Foo, Bar, Baz", "Foo: 1 | Baz: 789", "Foo: 1 | Baz: 789", true),
            // Whitespace, and several fields.
            ("Foo", "Foo: 1, 2", "Foo: 1 | Foo: 2", true), ("Foo", "Foo: 1,2", "Foo:  1, 2 ", true),
            ("Foo", "Foo: 1, 2", "Foo: 2, 1", false),
            ("Foo", "Foo: a b", "Foo: a  b", false), ("Foo", "Foo: \"a, b\"", "Foo: \"a,b\"", false), ("Foo", "Foo: A", "Foo: a", false),
            ("Foo", "Foo: 1,,2", "Foo: 1,2", false), ("User-Agent", "User-Agent: a, b", "User-Agent: a,b", false),
            ("Cookie", "Cookie: a=b; c=d", "Cookie: a=b;c=d", false), ("Cookie", "Cookie: a=b; c=d", "Cookie: a=b | Cookie: c=d", true),
            // Languages, codings and media types.
            ("Accept-Language", "Accept-Language: en, de", "Accept-Language: de, en", true),
            ("Accept-Language", "Accept-Language: en, de", "Accept-Language: eN, De", true),
            ("Accept-Language", "Accept-Language: en, de", "Accept-Language:  en ,   de", true),
            ("Accept-Language", "Accept-Language: en;q=0.5, de;q=1", "Accept-Language: de, EN ; Q=0.5,", true),
            ("Accept-Language", "Accept-Language: en;q=0.5, de", "Accept-Language: en, de;q=0.5", false),
            ("Accept-Language", "Accept-Language: en, de", "Accept-Language: en", false),
            ("Accept-Language", "Accept-Language: de", "Accept-Language: de;q=1.000", true),
            ("Accept-Language", "Accept-Language: de", "Accept-Language: de;q=1.001", false),
            ("Accept-Language", "Accept-Language: de", "Accept-Language: de;q=10", false),
            ("Accept-Encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: BR,GZIP", true),
            ("Accept-Encoding", "Accept-Encoding: gzip", "Accept-Encoding: gzip, br", false),
            ("Accept", "Accept: text/HTML;level=1, a/b", "Accept: a/b,text/html; level=1", true),
            ("Accept", "Accept: a/b;x=Y", "Accept: a/b;x=y", false), ("Accept", "Accept: a/b;x=\"Y, z\"", "Accept: a/b;x=\"Y,z\"", false),
        ])
    func section41Matches(vary: String, first: String, second: String, matches: Bool) throws {
        let fields = try CacheFixtures.fields("Vary: " + vary)
        let selecting = try #require(SelectingFields(vary: fields, request: try CacheFixtures.fields(first)))
        #expect(selecting.matches(try CacheFixtures.fields(second)) == matches)
        let reverse = try #require(SelectingFields(vary: fields, request: try CacheFixtures.fields(second)))
        #expect(reverse.matches(try CacheFixtures.fields(first)) == matches)
        #expect((reverse == selecting) == matches)
    }

    @Test(arguments: ["*", "*, *", "* | Vary: *", ", *", " | Vary: *", "*, Foo", "Foo, *", "a b", "a\"b\"", "Foo | Vary: *"])
    func section41AsteriskMatchesNothing(vary: String) throws {
        #expect(SelectingFields(vary: try CacheFixtures.fields("Vary: " + vary), request: try CacheFixtures.fields(Self.stored)) == nil)
    }

    @Test func tooManyNamesMatchNothing() throws {
        for (count, isValid) in [(SelectingFields.limit, true), (SelectingFields.limit + 1, false)] {
            let fields = try CacheFixtures.fields("Vary: " + (0..<count).map { "f\($0)" }.joined(separator: ","))
            #expect((SelectingFields(vary: fields, request: HTTPFields()) != nil) == isValid)
        }
    }

    /// §4, §4.1: what a new response replaces: the stored ones that would have answered its request.
    @Test func section41ReplacedResponses() throws {
        let responses = [
            try CacheFixtures.response("Vary: Foo", request: "Foo: 1"), try CacheFixtures.response("Vary: Foo", request: "Foo: 2"),
            try CacheFixtures.response(""), try CacheFixtures.response("Vary: Bar", request: ""),
        ]
        #expect(Variants.replaced(responses, byResponseTo: try CacheFixtures.fields("Foo: 1")) == [0, 2, 3])
        #expect(Variants.replaced(responses, byResponseTo: try CacheFixtures.fields("Foo: 2 | Bar: 1")) == [1, 2])
        #expect(Variants.replaced([], byResponseTo: HTTPFields()) == [])
    }

    @Test func section41NotTooManyVariants() throws {
        let responses = try (0..<Variants.limit).map {
            try CacheFixtures.response("Vary: Foo", request: "Foo: \($0)", received: Int64($0 == 7 ? -1 : $0))
        }
        #expect(Variants.replaced(responses, byResponseTo: try CacheFixtures.fields("Foo: x")) == [7])
        #expect(Variants.replaced(responses, byResponseTo: try CacheFixtures.fields("Foo: 3")) == [3])
    }

    /// §4.1: the most recent by `Date`, and one with `Vary` before one without.
    @Test func section41ChoiceAmongSeveral() throws {
        let lookup = try CacheFixtures.lookup("Foo: 1")
        func response(_ date: Int64, vary: String, _ foo: String, received: Int64 = 0) throws -> StoredResponse {
            try CacheFixtures.response(
                "Cache-Control: max-age=9 | Date: \(try CacheFixtures.date(date)) \(vary)", request: "Foo: \(foo)", received: received)
        }
        let responses = [
            try response(5, vary: "| Vary: Foo", "2"), try response(1, vary: "| Vary: Foo", "1"),
            try response(3, vary: "| Vary: Foo, Bar", "1"),
            try response(2, vary: "| Vary: Foo", "1"), try response(4, vary: "", ""),
        ]
        #expect(lookup.choose(responses) == 2)
        #expect(lookup.choose([responses[0], responses[4]]) == 1)
        #expect(lookup.choose([responses[0]]) == nil && lookup.choose([]) == nil)
        #expect(lookup.choose([try response(1, vary: "", "", received: 1), try response(1, vary: "", "", received: 2)]) == 1)
    }
}
