// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanCache

/// Which responses and which of their fields are stored (RFC 9111 §3).
@Suite struct StorabilityTests {
    private func refusal(
        _ status: Int, _ text: String, method: HTTPRequest.Method = .get, request: String = "",
        transfer: Storability.Transfer = Storability.Transfer()
    ) throws -> Storability.Refusal? {
        let (request, fields) = (try CacheFixtures.fields(request), try CacheFixtures.fields(text))
        do throws(Storability.Refusal) {
            try Storability.check(
                method: method, request: request, status: HTTPResponse.Status(code: status), fields: fields, transfer: transfer,
                now: CacheFixtures.now)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            // The status is final.
            (100, "Cache-Control: max-age=1", .interim), (199, "Cache-Control: max-age=1", .interim),
            (0, "Cache-Control: max-age=1", .interim),
            // Any final status with explicit freshness.
            (200, "Cache-Control: max-age=1", nil), (299, "Cache-Control: max-age=1", nil), (302, "Cache-Control: max-age=1", nil),
            (404, "Expires: 0", nil), (499, "Cache-Control: max-age=1", nil), (503, "Cache-Control: max-age=1", nil),
            (599, "Cache-Control: max-age=1", nil), (204, "Cache-Control: max-age=0", nil),
            // Others need a status with a heuristic, or a directive.
            (200, "ETag: \"a\"", nil), (404, "Last-Modified: x", nil), (201, "ETag: \"a\"", .noFreshness),
            (302, "ETag: \"a\"", .noFreshness),
            (599, "ETag: \"a\"", .noFreshness), (599, "ETag: \"a\" | Cache-Control: public", nil),
            (599, "ETag: \"a\" | Cache-Control: private", nil), (599, "ETag: \"a\" | Cache-Control: s-maxage=5", .noFreshness),
            (200, "", .notUseful), (200, "Cache-Control: public", .notUseful),
            // §5.2.2.4, §5.2.2.5
            (200, "Cache-Control: no-store", .responseNoStore), (200, "Cache-Control: max-age=9, no-store | Expires: 0", .responseNoStore),
            (200, "Cache-Control: no-cache | ETag: \"a\"", nil), (200, "Cache-Control: no-cache, max-age=9", .notUseful),
            (200, "Cache-Control: private, max-age=9", nil), (200, "Cache-Control: private=\"a\", max-age=9", nil),
            // §5.2.2.3
            (200, "Cache-Control: max-age=9, no-store, must-understand", nil),
            (599, "Cache-Control: max-age=9, no-store, must-understand", .notUnderstood),
            (599, "Cache-Control: max-age=9, must-understand", .notUnderstood),
            (206, "Cache-Control: max-age=9, must-understand", .partial),
            // §4.1
            (200, "Cache-Control: max-age=9 | Vary: *", .varyAll), (200, "Cache-Control: max-age=9 | Vary: Foo, *", .varyAll),
            (200, "Cache-Control: max-age=9 | Vary: a b", .varyAll), (200, "Cache-Control: max-age=9 | Vary: Foo", nil),
            // The key does not have these differences.
            (304, "Cache-Control: max-age=9", .status), (401, "Cache-Control: max-age=9", .status),
            (412, "Cache-Control: max-age=9", .status),
            (416, "Cache-Control: max-age=9", .status), (407, "Cache-Control: max-age=9", .status),
            // RFC 6585 §3 to §6
            (428, "Cache-Control: max-age=9", .neverStored), (429, "Cache-Control: max-age=9", .neverStored),
            (431, "Cache-Control: max-age=9", .neverStored), (511, "Cache-Control: max-age=9", .neverStored),
            (430, "Cache-Control: max-age=9", nil), (510, "Cache-Control: max-age=9", nil),
            // §3.3
            (206, "Cache-Control: max-age=9 | Content-Range: bytes 0-4/10", nil), (206, "Cache-Control: max-age=9", .partial),
            (206, "Cache-Control: max-age=9 | Content-Range: bytes */10", .partial),
            (206, "Cache-Control: max-age=9 | Content-Range: lines 0-4/10", .partial),
            (206, "Cache-Control: max-age=9 | Content-Type: multipart/byteranges; boundary=x", .partial),
            (
                206, "Cache-Control: max-age=9 | Content-Type: Multipart/ByteRanges; boundary=x | Content-Range: bytes 0-4/10", .partial
            ),
            // Set-Cookie does not matter.
            (200, "Cache-Control: max-age=9 | Set-Cookie: a=b", nil),
        ] as [(Int, String, Storability.Refusal?)])
    func section3StatusAndFields(status: Int, text: String, expected: Storability.Refusal?) throws {
        #expect(try refusal(status, text) == expected)
    }

    @Test(
        arguments: [
            ("GET", "", nil), ("HEAD", "", .method), ("POST", "", .method), ("PUT", "", .method), ("M-SEARCH", "", .method),
            ("GET", "Cache-Control: no-store", .requestNoStore), ("GET", "Cache-Control: no-cache", nil),
            // §3.5: the cache is private.
            ("GET", "Authorization: Basic YTpi", nil), ("GET", "Cookie: a=b", nil), ("GET", "Range: bytes=0-1", nil),
        ] as [(String, String, Storability.Refusal?)])
    func section3MethodAndRequest(method: String, request: String, expected: Storability.Refusal?) throws {
        let method = try #require(HTTPRequest.Method(rawValue: method))
        #expect(try refusal(200, "Cache-Control: max-age=9", method: method, request: request) == expected)
    }

    /// §3.3: an incomplete response is stored only if it can be completed.
    @Test(
        arguments: [
            (200, "ETag: \"a\"", nil), (200, "ETag: W/\"a\"", .incomplete), (200, "", .incomplete), (404, "ETag: \"a\"", .incomplete),
            (200, "ETag: \"a\" | Accept-Ranges: bytes", nil), (200, "ETag: \"a\" | Accept-Ranges: none", .incomplete),
            (206, "ETag: \"a\" | Content-Range: bytes 0-4/10", nil),
            (200, "Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT", nil),
            (200, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT | Date: Sun, 06 Nov 1994 08:49:37 GMT", .incomplete),
        ] as [(Int, String, Storability.Refusal?)])
    func section33IncompleteResponses(status: Int, text: String, expected: Storability.Refusal?) throws {
        let fields = "Cache-Control: max-age=9 | " + text
        #expect(try refusal(status, fields, transfer: Storability.Transfer(isComplete: false)) == expected)
        #expect(try refusal(200, fields, transfer: Storability.Transfer(isComplete: false, isDecoded: true)) == .incomplete)
        #expect(try refusal(206, fields, transfer: Storability.Transfer(isDecoded: true)) == .partial)
    }

    /// §3.1
    @Test func section31FieldsThatAreNotStored() throws {
        let received = try CacheFixtures.fields(
            "Connection: a, B, close, x y, cache-control, vary | A: 1 | b: 2 | C: 3 | c: 4 | Keep-Alive: 1 | Proxy-Authenticate: x"
                + "| Proxy-Authentication-Info: x | Proxy-Authorization: x | Proxy-Connection: x | TE: x | Trailer: x"
                + "| Transfer-Encoding: chunked | Upgrade: x | Cache-Control: no-cache=\"set-cookie2\", private=\"d\""
                + "| Set-Cookie2: x | Expires: 0 | Set-Cookie: a=b | d: 5 | Vary: C | Clear-Site-Data: cache")
        #expect(
            CacheFixtures.text(StoredFields.storable(received)) == [
                "C: 3", "c: 4", "Cache-Control: no-cache=\"set-cookie2\", private=\"d\"", "Expires: 0", "Set-Cookie: a=b", "d: 5",
                "Vary: C", "Clear-Site-Data: cache",
            ])
    }

    /// §3.2
    @Test func section32FieldsThatAreUpdated() throws {
        let stored = try CacheFixtures.fields(
            "A: 1 | B: 2 | B: 3 | Content-Length: 10 | Content-Encoding: gzip | Content-Range: bytes 0-9/10 | Content-Type: a/b | ETag: \"x\""
                + "| Age: 100 | Date: Sun, 06 Nov 1994 08:49:37 GMT | E: 1")
        let newer = try CacheFixtures.fields(
            "b: 4 | C: 5 | c: 6 | Content-Length: 0 | Content-Encoding: br | Content-Range: bytes */1 | Content-Type: c/d | ETag: \"y\""
                + "| Connection: E | E: 2 | Transfer-Encoding: chunked")
        #expect(
            CacheFixtures.text(StoredFields.updated(stored, from: newer)) == [
                "A: 1", "Content-Length: 10", "Content-Encoding: gzip", "Content-Range: bytes 0-9/10", "E: 1", "b: 4", "C: 5", "c: 6",
                "Content-Type: c/d", "ETag: \"y\"",
            ])
    }

    /// §3.2; RFC 9110 §8.8.1: a strong tag would be wrong for the coded octets that are stored.
    @Test(
        arguments: [
            ("ETag: W/\"a\"", "ETag: \"a\"", "W/\"a\""), ("ETag: W/\"a\"", "ETag: \"b\"", "\"b\""),
            ("ETag: W/\"a\"", "ETag: W/\"a\"", "W/\"a\""), ("ETag: \"a\"", "ETag: W/\"a\"", "W/\"a\""),
            ("ETag: \"a\"", "A: 1", "\"a\""), ("A: 1", "ETag: \"a\"", "\"a\""),
        ])
    func section32WeakTagStaysWeak(stored: String, newer: String, expected: String) throws {
        let fields = StoredFields.updated(try CacheFixtures.fields(stored), from: try CacheFixtures.fields(newer))
        #expect(fields[values: .eTag] == [expected])
    }

    /// §4, §5.1; RFC 9110 §15.3.7, §15.4.5
    @Test func section4FieldsOfAnAnswer() throws {
        let response = try CacheFixtures.response("Age: 5 | Age: 6 | ETag: \"a\" | Content-Type: a/b | Content-Length: 10")
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
        let answer = CacheFixtures.text(StoredFields.answer(response, age: 7))
        #expect(answer.sorted() == ["Age: 7", "Content-Length: 10", "Content-Type: a/b", date, "ETag: \"a\""])
        #expect(Set(CacheFixtures.text(StoredFields.notModifiedAnswer(response, age: 7))) == ["Age: 7", date, "ETag: \"a\""])
        let partial = StoredFields.partialAnswer(response, 2..<5, age: 7)
        #expect(partial[.contentRange] == "bytes 2-4/10" && partial[.contentLength] == "3" && partial[values: .age] == ["7"])
        let unknown = try CacheFixtures.response("", content: CacheFixtures.parts(0..<5, length: nil))
        #expect(StoredFields.partialAnswer(unknown, 0..<5, age: 0)[.contentRange] == "bytes 0-4/*")
        #expect(
            Set(CacheFixtures.text(StoredFields.unsatisfiableAnswer(response, age: 7))) == [
                "Age: 7", date, "ETag: \"a\"", "Content-Range: bytes */10", "Content-Length: 0",
            ])
    }
}
