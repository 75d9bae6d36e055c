// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCache

/// Completion and combination of partial responses (RFC 9111 §3.3, §3.4).
@Suite struct PartialContentTests {
    @Test(
        arguments: [
            ([0..<5], 10, "bytes=5-"), ([2..<5], 10, "bytes=0-"), ([5..<10], 10, "bytes=0-4"), ([0..<2, 4..<10], 10, "bytes=2-3"),
            ([0..<2, 4..<6], 10, "bytes=2-"), ([0..<2, 4..<6, 8..<10], 10, "bytes=2-7"), ([0..<5], nil, "bytes=5-"),
            ([2..<5], nil, "bytes=0-"),
            ([0..<2, 4..<6], nil, "bytes=2-"), ([], 10, "bytes=0-"), ([0..<10], 10, nil), ([], 0, nil),
        ] as [([Range<Int64>], Int64?, String?)])
    func section33MissingOctets(ranges: [Range<Int64>], length: Int64?, expected: String?) throws {
        var set = ByteRangeSet()
        for range in ranges { set.insert(range) }
        let response = try CacheFixtures.response("ETag: \"a\"", content: StoredContent(set, completeLength: length))
        let completion = Completion(of: response)
        #expect(
            completion?.fields(HTTPFields())[.range] == expected
                && completion?.fields(HTTPFields())[.ifRange] == expected.map { _ in "\"a\"" })
    }

    /// RFC 9110 §8.8.1, §8.8.2.2, §13.1.5
    @Test(
        arguments: [
            ("ETag: \"a\"", "\"a\""), ("ETag: W/\"a\"", nil), ("ETag: a", nil), ("", nil),
            (
                "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:48:37 GMT"
            ),
            ("Last-Modified: Sun, 06 Nov 1994 08:48:38 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT", nil),
            ("Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT", nil),
            ("ETag: W/\"a\" | Last-Modified: Sun, 06 Nov 1994 07:48:37 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT", nil),
            ("ETag: \"a\" | Last-Modified: Sun, 06 Nov 1994 07:48:37 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT", "\"a\""),
            ("ETag: \"a\" | ETag: \"b\"", nil),
        ] as [(String, String?)])
    func section33NeedsAStrongValidator(text: String, ifRange: String?) throws {
        let response = try CacheFixtures.response(text, content: CacheFixtures.parts(0..<5, length: 10))
        let request = try CacheFixtures.fields("If-None-Match: \"x\" | If-Modified-Since: x | A: 1")
        let fields = Completion(of: response)?.fields(request)
        #expect(fields?[.ifRange] == ifRange && fields?[.ifNoneMatch] == nil && fields?[.ifModifiedSince] == nil)
        #expect(Completion(of: try CacheFixtures.response(text, content: CacheFixtures.parts(0..<5, length: 10), isDecoded: true)) == nil)
    }

    @Test func section34PartsAreCombined() throws {
        let first = try CacheFixtures.response(
            "ETag: \"a\" | Content-Range: bytes 0-4/10 | Content-Length: 5 | A: 1 | B: 1 | Age: 7",
            content: CacheFixtures.parts(0..<5, length: 10))
        let second = try CacheFixtures.response(
            "ETag: \"a\" | Content-Range: bytes 7-9/10 | Content-Length: 3 | A: 2", content: CacheFixtures.parts(7..<10, length: 10),
            received: 9)
        let partial = try #require(first.combined(with: second))
        #expect(partial.content == CacheFixtures.parts(0..<5, 7..<10, length: 10) && partial.responseTime == CacheFixtures.now + 9)
        #expect(partial.fields[values: HTTPField.Name("A") ?? .date] == ["2"])
        #expect(partial.fields[.age] == nil && partial.fields.contains(HTTPField.Name("B") ?? .age))
        let third = try CacheFixtures.response("ETag: \"a\"", content: CacheFixtures.parts(4..<8, length: nil))
        let complete = try #require(partial.combined(with: third))
        #expect(complete.content == .complete(length: 10) && complete.status == .ok)
        #expect(complete.fields[.contentRange] == nil && complete.fields[.contentLength] == "10")
        #expect(try CacheFixtures.lookup().answer(from: complete) == .full)
    }

    @Test(
        arguments: [
            ("ETag: \"a\"", "ETag: \"b\"", 10, 10), ("ETag: W/\"a\"", "ETag: W/\"a\"", 10, 10), ("", "", 10, 10),
            ("ETag: \"a\"", "", 10, 10),
            ("ETag: \"a\"", "ETag: \"a\"", 10, 11),
        ] as [(String, String, Int64, Int64)])
    func section34OthersAreNotCombined(first: String, second: String, firstLength: Int64, secondLength: Int64) throws {
        let a = try CacheFixtures.response(first, content: CacheFixtures.parts(0..<5, length: firstLength))
        let b = try CacheFixtures.response(second, content: CacheFixtures.parts(5..<10, length: secondLength))
        #expect(a.combined(with: b) == nil)
        #expect(b.combined(with: a) == nil)
    }

    /// RFC 9110 §15.3.7: a 206 repeats no `Last-Modified` if the request had it in `If-Range`.
    @Test(
        arguments: [
            ("Cache-Control: max-age=9", true), ("Last-Modified: Sun, 06 Nov 1994 07:00:00 GMT", false), ("ETag: \"a\"", false),
        ])
    func section34PartWithoutValidatorAfterIfRange(newer: String, isCombined: Bool) throws {
        let validator = "Last-Modified: Sun, 06 Nov 1994 06:00:00 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT"
        let first = try CacheFixtures.response(validator, content: CacheFixtures.parts(0..<5, length: 10))
        let second = try CacheFixtures.response(
            newer + " | Date: Sun, 06 Nov 1994 08:49:37 GMT", content: CacheFixtures.parts(5..<10, length: 10))
        let completion = try #require(Completion(of: first))
        #expect((first.combined(with: second, answering: completion) != nil) == isCombined)
        #expect(first.combined(with: second) == nil)
        // An entity tag is always repeated.
        let tagged = try CacheFixtures.response("ETag: \"a\"", content: CacheFixtures.parts(0..<5, length: 10))
        let taggedCompletion = try #require(Completion(of: tagged))
        #expect(tagged.combined(with: second, answering: taggedCompletion) == nil || newer.hasPrefix("ETag"))
    }

    @Test func section34NotTooManyParts() throws {
        var many = ByteRangeSet()
        for index in 0..<Int64(ByteRangeSet.limit) { many.insert(index * 2..<index * 2 + 1) }
        let a = try CacheFixtures.response("ETag: \"a\"", content: .partial(many, completeLength: nil))
        let b = try CacheFixtures.response("ETag: \"a\"", content: CacheFixtures.parts(10_000..<10_001, length: nil))
        #expect(a.combined(with: b) == nil && b.combined(with: a) == nil)
    }

    @Test func partialStatusIsStoredAsOK() throws {
        let response = try CacheFixtures.response("ETag: \"a\"", status: .partialContent, content: CacheFixtures.parts(0..<5, length: 10))
        #expect(response.status == .ok && !response.content.isComplete && response.content.ranges.count == 5)
        #expect(StoredContent(ByteRangeSet(), completeLength: 0) == .complete(length: 0))
    }

    @Test func partWithAllOctetsIsAWholeResponse() throws {
        let response = try CacheFixtures.response(
            "Content-Range: bytes 0-9/10 | Content-Length: 10 | A: 1", status: .partialContent,
            content: CacheFixtures.parts(0..<10, length: 10))
        #expect(response.fields[.contentRange] == nil && response.fields[.contentLength] == "10")
        #expect(try CacheFixtures.lookup().answer(from: response) == .full)
    }
}
