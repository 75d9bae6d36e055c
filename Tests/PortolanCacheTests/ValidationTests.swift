// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCache

/// Conditional requests and their responses (RFC 9111 §4.3).
@Suite struct ValidationTests {
    /// Fields of the stored responses, fields of the request, and the conditional fields. The first stored response is
    /// the chosen one.
    @Test(
        arguments: [
            (["ETag: \"a\""], "", ["If-None-Match: \"a\""], [0]), (["ETag: W/\"a\""], "", ["If-None-Match: W/\"a\""], [0]),
            (["ETag: a"], "", ["If-None-Match: a"], [0]),
            (["Last-Modified: sun, 06 nov 1994 08:49:37 GMT"], "", ["If-Modified-Since: sun, 06 nov 1994 08:49:37 GMT"], [0]),
            (
                ["ETag: \"a\" | Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], "",
                ["If-None-Match: \"a\"", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], [0]
            ),
            // Date, only without another validator.
            (["Date: Sun, 06 Nov 1994 08:49:37 GMT"], "", ["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], [0]),
            (["ETag: \"a\" | Date: Sun, 06 Nov 1994 08:49:37 GMT"], "", ["If-None-Match: \"a\""], [0]),
            (["Last-Modified: x | Date: Sun, 06 Nov 1994 08:49:37 GMT"], "", [], []), ([""], "", [], []),
            // Several stored responses.
            (["ETag: \"a\"", "ETag: \"b\"", "A: 1"], "", ["If-None-Match: \"a\", \"b\""], [0, 1]),
            (["ETag: \"a\"", "ETag: \"a\""], "", ["If-None-Match: \"a\""], [0, 1]),
            (["ETag: \"a\" | Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "ETag: \"b\""], "", ["If-None-Match: \"a\", \"b\""], [0, 1]),
            // The caller's conditions.
            (["ETag: \"a\""], "If-None-Match: \"x\", \"a\"", ["If-None-Match: \"x\", \"a\""], [0]),
            (["ETag: \"a\""], "If-None-Match: \"x\"", ["If-None-Match: \"x\", \"a\""], [0]),
            (["ETag: \"a\""], "If-None-Match: *", ["If-None-Match: *"], []), (["ETag: \"a\""], "If-Match: \"x\"", ["If-Match: \"x\""], []),
            (
                ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], "If-Modified-Since: Sun, 06 Nov 1994 00:00:00 GMT",
                ["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], [0]
            ),
            // A subrange gets no date.
            (
                ["ETag: \"a\" | Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], "Range: bytes=0-1",
                ["Range: bytes=0-1", "If-None-Match: \"a\""], [0]
            ),
        ] as [([String], String, [String], [Int])])
    func section431Fields(stored: [String], request: String, expected: [String], nominated: [Int]) throws {
        let responses = try stored.map { try CacheFixtures.response($0) }
        let conditional = Validation.request(try CacheFixtures.lookup(request), responses, chosen: 0)
        #expect(Set(CacheFixtures.text(conditional.fields)) == Set(expected) && conditional.nominated == nominated)
    }

    /// §4.1: responses that the request does not select are nominated, too, but only by entity tags.
    @Test func section41NominatesOtherVariants() throws {
        let stored = try CacheFixtures.response("ETag: \"a\" | Last-Modified: \(try CacheFixtures.date(0)) | Vary: Foo", request: "Foo: 1")
        let lookup = try CacheFixtures.lookup("Foo: 2")
        let request = Validation.request(lookup, [stored], chosen: lookup.choose([stored]))
        #expect(request.fields[.ifNoneMatch] == "\"a\"" && request.fields[.ifModifiedSince] == nil && request.nominated == [0])
        #expect(Validation.updates(by: try CacheFixtures.fields("ETag: \"a\""), request, lookup, [stored]) == [0])
        #expect(Validation.updates(by: try CacheFixtures.fields("ETag: \"b\""), request, lookup, [stored]) == [])
    }

    /// §4.3.2: a part is nominated only for a range that it has.
    @Test(arguments: [("", []), ("Range: bytes=4-5", [0]), ("Range: bytes=0-5", [])] as [(String, [Int])])
    func section432PartialResponse(request: String, nominated: [Int]) throws {
        let stored = try CacheFixtures.response("ETag: \"a\"", content: CacheFixtures.parts(4..<10, length: 10))
        #expect(Validation.request(try CacheFixtures.lookup(request), [stored], chosen: 0).nominated == nominated)
    }

    @Test func requestHasLimits() throws {
        let tag = String(repeating: "x", count: 400)
        let responses = try (0..<40).map { try CacheFixtures.response("ETag: \"\($0)\(tag)\"") }
        let request = Validation.request(try CacheFixtures.lookup(), responses, chosen: 20)
        #expect(request.nominated.first == 20 && request.nominated.count == 10)
        #expect((request.fields[.ifNoneMatch]?.utf8.count ?? 0) <= Validation.limits.octets)
        let small = try (0..<40).map { try CacheFixtures.response("ETag: \"\($0)\"") }
        #expect(Validation.request(try CacheFixtures.lookup(), small, chosen: nil).nominated == Array(0..<Validation.limits.responses))
        let long = try CacheFixtures.response("ETag: \"\(String(repeating: "x", count: EntityTag.limit))\"")
        #expect(Validation.request(try CacheFixtures.lookup(), [long], chosen: 0).nominated == [])
    }

    /// §4.3.4. The stored responses have these fields, and increasing dates.
    @Test(
        arguments: [
            // A strong validator: all responses with it.
            (["ETag: \"a\"", "ETag: \"b\"", "ETag: \"a\""], "ETag: \"a\"", [2, 0]), (["ETag: \"a\""], "ETag: \"b\"", []),
            ([""], "ETag: \"a\"", []),
            // A strong validator that the server has compared with a weak one.
            (["ETag: W/\"a\""], "ETag: \"a\"", [0]), (["ETag: \"a\"", "ETag: W/\"a\""], "ETag: \"a\"", [0]),
            (["ETag: W/\"a\"", "ETag: W/\"a\""], "ETag: \"a\"", [1]),
            // A weak validator: the most recent one.
            (["ETag: W/\"a\"", "ETag: W/\"a\"", "ETag: \"b\""], "ETag: W/\"a\"", [1]), (["ETag: \"a\""], "ETag: W/\"a\"", [0]),
            (
                ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"],
                "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", [1]
            ),
            (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", []),
            // No validator: the only nominated response.
            (["ETag: \"a\""], "", [0]), (["A: 1"], "", [0]), (["ETag: \"a\"", "ETag: \"b\""], "", []), (["ETag: \"a\"", "A: 1"], "", [0]),
            // Several different tags are none.
            (["ETag: \"a\""], "ETag: \"a\" | ETag: \"b\"", []), (["ETag: \"a\""], "ETag: \"a\" | ETag: \"a\"", [0]),
        ] as [([String], String, [Int])])
    func section434Updates(stored: [String], notModified: String, expected: [Int]) throws {
        let responses = try stored.enumerated().map {
            try CacheFixtures.response($1 + (($1.isEmpty ? "" : " | ") + "Date: \(try CacheFixtures.date(Int64($0)))"))
        }
        let lookup = try CacheFixtures.lookup()
        let request = Validation.request(lookup, responses, chosen: 0)
        #expect(Validation.updates(by: try CacheFixtures.fields(notModified), request, lookup, responses) == expected)
    }

    /// §4.3.3, §4.3.4. The stored response has the tag "a".
    @Test(
        arguments: [
            ("", "ETag: \"a\"", .update([0])), ("", "", .update([0])), ("", "ETag: \"z\"", .resend),
            // The caller's own conditions.
            ("If-None-Match: \"x\"", "ETag: \"x\"", .deliver), ("If-None-Match: \"x\"", "ETag: W/\"x\"", .deliver),
            ("If-None-Match: \"x\"", "ETag: \"a\"", .update([0])), ("If-None-Match: \"x\"", "ETag: \"z\"", .resend),
            ("If-None-Match: \"x\"", "", .resend), ("If-None-Match: \"a\"", "", .update([0])),
            ("If-None-Match: W/\"a\"", "", .update([0])), ("If-None-Match: *", "", .deliver), ("If-None-Match: *", "ETag: \"a\"", .deliver),
            ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "ETag: \"a\"", .update([0])),
        ] as [(String, String, Validation.Outcome)])
    func section433OutcomeOfA304(request: String, notModified: String, expected: Validation.Outcome) throws {
        let lookup = try CacheFixtures.lookup(request)
        let responses = [try CacheFixtures.response("ETag: \"a\"")]
        let conditional = Validation.request(lookup, responses, chosen: 0)
        let fields = try CacheFixtures.fields(notModified)
        #expect(Validation.outcome(of: fields, conditional, lookup, responses) == expected)
        // The request that is sent again has only the caller's conditions.
        let again = Validation.request(lookup, [], chosen: nil)
        #expect(again.fields == lookup.forwardedFields && Validation.outcome(of: fields, again, lookup, []) == .deliver)
    }

    /// §4.3.4: all stored responses with the strong tag are updated, and each stays the answer to its own requests. The
    /// one that the request selects comes first, also if it is older.
    @Test func section434OtherVariantsKeepTheirSelectingFields() throws {
        let responses = try ["1", "2", "3"].enumerated().map { index, value in
            try CacheFixtures.response(
                "ETag: \"a\" | Vary: Foo | Date: \(try CacheFixtures.date(Int64(index)))", request: "Foo: \(value)")
        }
        let lookup = try CacheFixtures.lookup("Foo: 1")
        let conditional = Validation.request(lookup, responses, chosen: 0)
        let fields = try CacheFixtures.fields("ETag: \"a\" | Cache-Control: max-age=5")
        #expect(Validation.outcome(of: fields, conditional, lookup, responses) == .update([0, 2, 1]))
        let other = responses[1].updated(by: fields, request: nil, requestTime: 0, responseTime: 0)
        #expect(other.isStorable && other.response.selectingFields == responses[1].selectingFields)
        #expect(other.response.directives.maxAge == 5)
        // With another Vary, it is not known which requests it answers.
        let varied = try CacheFixtures.fields("ETag: \"a\" | Vary: foo, Bar")
        #expect(!responses[1].updated(by: varied, request: nil, requestTime: 0, responseTime: 0).isStorable)
        let same = try CacheFixtures.fields("ETag: \"a\" | Vary: FOO")
        #expect(responses[1].updated(by: same, request: nil, requestTime: 0, responseTime: 0).isStorable)
    }

    /// §3.2, §4.3.4: the response is fresh again, and the caller's own condition is evaluated then.
    @Test func section434UpdatedResponse() throws {
        let stored = try CacheFixtures.response(
            "Cache-Control: max-age=10 | Age: 5 | ETag: \"a\" | A: 1 | B: 1 | Vary: Foo", request: "Foo: 1")
        let fields = try CacheFixtures.fields("Cache-Control: max-age=20 | A: 2 | ETag: \"a\" | Vary: Foo, Bar | Content-Length: 0")
        let request = try CacheFixtures.fields("Foo: 2 | Bar: 3")
        let now = CacheFixtures.now + 100
        let (updated, isStorable) = stored.updated(by: fields, request: request, requestTime: now, responseTime: now)
        #expect(isStorable && updated.fields[values: HTTPField.Name("A") ?? .date] == ["2"] && updated.fields[.contentLength] == nil)
        #expect(updated.fields[.age] == nil && updated.directives.maxAge == 20 && updated.selectingFields.matches(request))
        let freshness = Freshness(of: updated, now: now + 19)
        #expect(freshness.isFresh && freshness.age == 19)
        #expect(try CacheFixtures.lookup("If-None-Match: \"x\"").answer(from: updated) == .full)
        #expect(try CacheFixtures.lookup("If-None-Match: \"x\", \"a\"").answer(from: updated) == .notModified)
    }

    @Test(
        arguments: [
            ("Cache-Control: no-store", false), ("Vary: *", false), ("Cache-Control: no-store, must-understand", true),
            ("Cache-Control: no-cache", true), ("", true),
        ])
    func updatedResponseMayHaveToGo(text: String, isStorable: Bool) throws {
        let stored = try CacheFixtures.response("Cache-Control: max-age=10")
        let result = stored.updated(by: try CacheFixtures.fields(text), request: HTTPFields(), requestTime: 0, responseTime: 0)
        #expect(result.isStorable == isStorable)
    }

    /// The fields of many validations must not add up: swift-http-types ends the program at 65,535 fields.
    @Test func responseWithTooManyFieldsHasToGo() throws {
        let stored = try CacheFixtures.response("Cache-Control: max-age=10")
        func updated(fieldCount: Int) throws -> Bool {
            let fields = try CacheFixtures.fields((0..<fieldCount).map { "F\($0): 1" }.joined(separator: "|"))
            return stored.updated(by: fields, request: HTTPFields(), requestTime: 0, responseTime: 0).isStorable
        }
        #expect(try updated(fieldCount: StoredFields.limit - 1))
        #expect(try !updated(fieldCount: StoredFields.limit))
    }

    /// §5.2.2.4: the response can be used only without the fields that `no-cache` names.
    @Test func updateRemovesTheFieldsThatNoCacheNames() throws {
        let stored = try CacheFixtures.response("Cache-Control: max-age=10 | A: old | B: old | Date: \(try CacheFixtures.date(0))")
        let date = try CacheFixtures.date(5)
        for text in ["A: new | Cache-Control: max-age=20, no-cache=\"a\"", "Cache-Control: max-age=20, no-cache=\"a\""] {
            let newer = try CacheFixtures.fields(text + "| Date: \(date)")
            let (updated, isStorable) = stored.updated(by: newer, request: HTTPFields(), requestTime: 0, responseTime: 0)
            #expect(isStorable && !updated.fields.contains(where: { $0.name.canonicalName == "a" }))
            #expect(updated.fields[values: HTTPField.Name("B") ?? .age] == ["old"] && updated.fields[values: .date] == [date])
        }
    }

    /// A 304 that repeats the stored fields changes only the date.
    @Test(
        arguments: [
            ("A: 1 | Date: d2", "A: 1 | B: 2 | Date: d2"), ("Date: d2", "A: 1 | B: 2 | Date: d2"),
            ("A: 2 | Date: d2", "B: 2 | A: 2 | Date: d2"), ("A: 1 | A: 1 | Date: d2", "B: 2 | A: 1 | A: 1 | Date: d2"),
            ("A: 1", "B: 2 | A: 1"), ("Date: d2 | Date: d3", "A: 1 | B: 2 | Date: d2 | Date: d3"),
            ("C: 3 | Date: d2", "A: 1 | B: 2 | C: 3 | Date: d2"),
            ("Age: 1 | Date: d2", "A: 1 | B: 2 | Age: 1 | Date: d2"),
        ])
    func updatedFieldsAreExact(newer: String, expected: String) throws {
        let updated = StoredFields.updated(try CacheFixtures.fields("A: 1 | Date: d1 | B: 2"), from: try CacheFixtures.fields(newer))
        #expect(CacheFixtures.text(updated).sorted() == CacheFixtures.text(try CacheFixtures.fields(expected)).sorted())
    }

    /// §4.3.5. The stored response has 10 octets.
    @Test(
        arguments: [
            ("ETag: \"a\" | Last-Modified: L", "", 200, .update), ("ETag: \"a\"", "ETag: \"a\"", 200, .update),
            ("ETag: \"a\"", "ETag: \"b\"", 200, .invalidate), ("ETag: \"a\"", "ETag: W/\"a\"", 200, .invalidate),
            ("", "ETag: \"b\"", 200, .invalidate),
            ("Last-Modified: L", "Last-Modified: L", 200, .update), ("Last-Modified: L", "Last-Modified: M", 200, .invalidate),
            ("", "Content-Length: 10", 200, .update), ("", "Content-Length: 11", 200, .invalidate),
            ("", "Content-Length: x", 200, .invalidate),
            ("ETag: \"a\"", "ETag: \"a\" | Content-Length: 11", 200, .invalidate), ("ETag: \"a\"", "ETag: \"b\"", 404, .none),
            ("ETag: \"a\"", "ETag: \"a\"", 304, .none), ("ETag: \"a\"", "ETag: \"a\" | Cache-Control: no-store", 200, .none),
        ] as [(String, String, Int, Validation.HeadEffect)])
    func section435Head(stored: String, head: String, status: Int, expected: Validation.HeadEffect) throws {
        let response = try CacheFixtures.response(stored)
        let effect = Validation.effect(
            ofHead: try CacheFixtures.fields(head), HTTPResponse.Status(code: status), request: HTTPFields(), on: response)
        #expect(effect == expected)
    }

    @Test func section435HeadOfOtherResponses() throws {
        let fields = try CacheFixtures.fields("Content-Length: 5")
        let varied = try CacheFixtures.response("Vary: Foo", request: "Foo: 1")
        #expect(Validation.effect(ofHead: fields, .ok, request: HTTPFields(), on: varied) == .none)
        let missing = try CacheFixtures.response("", status: .notFound)
        #expect(Validation.effect(ofHead: fields, .ok, request: HTTPFields(), on: missing) == .invalidate)
        let decoded = try CacheFixtures.response("Content-Length: 5", isDecoded: true)
        #expect(Validation.effect(ofHead: fields, .ok, request: HTTPFields(), on: decoded) == .update)
    }

    /// RFC 9110 §8.8.3.2: the table of comparisons, and tags that are malformed.
    @Test(
        arguments: [
            ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false), ("1", "1", false, true), ("1", "\"1\"", false, false),
            ("w/\"1\"", "W/\"1\"", false, true), ("W\"1\"", "W\"1\"", false, true), ("\"", "\"", false, true), ("\"\"", "\"\"", true, true),
            ("\"a\"b\"", "\"a\"b\"", false, true), ("\"a\\\"", "\"a\\\"", true, true), ("\"É\"", "\"É\"", true, true),
        ])
    func entityTagsAreCompared(a: String, b: String, strongly: Bool, weakly: Bool) throws {
        let tags = [a, b].compactMap { EntityTag(Array($0.utf8).span) }
        try #require(tags.count == 2)
        let (first, second) = (tags[0], tags[1])
        #expect(first.stronglyMatches(second) == strongly && first.weaklyMatches(second) == weakly)
        #expect(second.stronglyMatches(first) == strongly && second.weaklyMatches(first) == weakly)
    }
}
