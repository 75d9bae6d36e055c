// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Testing

@testable import PortolanCache

/// When a stored response answers a request (RFC 9111 §4, §5.2).
@Suite struct CacheLookupTests {
    /// A decision about one stored response, in one word: the reason, with a mark for each kind.
    private func word(_ decision: CacheDecision) -> String {
        switch decision {
        case .use(let use): "\(use.reason)" + (use.needsRevalidation ? "+" : "")
        case .validate(_, let reason): "?\(reason)"
        case .complete: "complete"
        case .load(let reason): "!\(reason)"
        case .fail(let reason): "504 \(reason)"
        }
    }

    /// The stored response, the request, the seconds since the response was received, and the decision.
    @Test(
        arguments: [
            // §4.2
            ("max-age=10", "", 9, "fresh"), ("max-age=10", "", 10, "?stale"), ("max-age=0", "", 0, "?stale"),
            // §5.2.2.4
            ("max-age=10, no-cache", "", 0, "?noCache"), ("max-age=10, no-cache=\"a\"", "", 0, "fresh"),
            ("max-age=10, no-cache", "max-stale", 0, "?noCache"),
            // §5.2.2.2, §5.2.2.8: a private cache ignores proxy-revalidate and s-maxage.
            ("max-age=10, must-revalidate", "", 9, "fresh"), ("max-age=10, must-revalidate", "", 10, "?mustRevalidate"),
            ("max-age=10, must-revalidate, stale-while-revalidate=9", "max-stale", 10, "?mustRevalidate"),
            ("max-age=10, proxy-revalidate, s-maxage=1", "max-stale", 10, "maxStale"),
            // §5.2.1.1
            ("max-age=10", "max-age=5", 5, "fresh"), ("max-age=10", "max-age=5", 6, "?requestMaxAge"),
            ("max-age=10", "max-age=0", 0, "?requestMaxAge"),
            ("max-age=10", "max-age=x", 1, "?requestMaxAge"), ("max-age=10", "max-age=5, max-stale", 11, "?requestMaxAge"),
            // §5.2.1.2
            ("max-age=10", "max-stale", 99999, "maxStale"), ("max-age=10", "max-stale=5", 15, "maxStale"),
            ("max-age=10", "max-stale=5", 16, "?stale"),
            ("max-age=10", "max-stale=x", 11, "?stale"),
            // §5.2.1.3
            ("max-age=10", "min-fresh=5", 5, "fresh"), ("max-age=10", "min-fresh=5", 6, "?requestMinFresh"),
            ("max-age=10", "min-fresh=0", 9, "fresh"),
            // §5.2.1.4, §5.2.1.5
            ("max-age=10", "no-cache", 0, "?requestNoCache"), ("max-age=10", "no-store", 0, "!requestNoStore"),
            // RFC 5861 §3
            ("max-age=10, stale-while-revalidate=5", "", 9, "fresh"),
            ("max-age=10, stale-while-revalidate=5", "", 15, "staleWhileRevalidate+"),
            ("max-age=10, stale-while-revalidate=5", "", 16, "?stale"), ("max-age=10, stale-while-revalidate=x", "", 10, "?stale"),
            ("max-age=10, stale-while-revalidate=0", "", 10, "?stale"),
            ("max-age=10, stale-while-revalidate=5", "min-fresh=0", 11, "?requestMinFresh"),
            // RFC 8246
            ("max-age=10, immutable", "max-age=0", 9, "immutable"), ("max-age=10, immutable", "max-age=0", 10, "?requestMaxAge"),
            ("max-age=10, immutable", "no-cache", 9, "?requestNoCache"), ("max-age=10, immutable", "max-age=1", 9, "?requestMaxAge"),
            // §5.2.1.7
            ("max-age=10", "only-if-cached", 9, "fresh"), ("max-age=10", "only-if-cached", 10, "504 stale"),
            ("max-age=10", "only-if-cached, max-stale", 10, "maxStale"),
            ("max-age=10", "only-if-cached, no-cache", 1, "504 requestNoCache"),
        ] as [(String, String, Int64, String)])
    func section4Reuse(response: String, request: String, seconds: Int64, expected: String) throws {
        let lookup = try CacheFixtures.lookup(request.isEmpty ? "" : "Cache-Control: " + request, after: seconds)
        #expect(word(lookup.decide([try CacheFixtures.response("Cache-Control: " + response)])) == expected)
    }

    @Test func section54Pragma() throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10 | Pragma: no-cache")
        #expect(word(try CacheFixtures.lookup().decide([response])) == "fresh")
        #expect(word(try CacheFixtures.lookup("Pragma: no-cache").decide([response])) == "?requestNoCache")
    }

    @Test func section4NothingMatches() throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10 | Vary: Foo", request: "Foo: 1")
        #expect(word(try CacheFixtures.lookup("Foo: 1").decide([response])) == "fresh")
        #expect(word(try CacheFixtures.lookup("Foo: 2").decide([response])) == "!noMatch")
        #expect(word(try CacheFixtures.lookup().decide([])) == "!noResponse")
        #expect(word(try CacheFixtures.lookup("Cache-Control: only-if-cached").decide([])) == "504 noResponse")
    }

    /// §4: a stored response to GET also answers HEAD. Other methods go to the server.
    @Test(
        arguments: [
            ("GET", "fresh"), ("HEAD", "fresh"), ("POST", "!method"), ("OPTIONS", "!method"), ("M-SEARCH", "!method"), ("get", "!method"),
        ])
    func section4Methods(method: String, expected: String) throws {
        let method = try #require(HTTPRequest.Method(rawValue: method))
        let response = try CacheFixtures.response("Cache-Control: max-age=10")
        #expect(word(try CacheFixtures.lookup(method: method).decide([response])) == expected)
    }

    @Test(
        arguments: [
            (.useProtocol, 20, "?stale"), (.noStore, 0, "!policy"), (.reload, 0, "!policy"), (.revalidate, 0, "?policy"),
            (.preferCached, 20, "policy"), (.onlyCached, 20, "policy"),
        ] as [(CachePolicy, Int64, String)])
    func policies(policy: CachePolicy, seconds: Int64, expected: String) throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10")
        #expect(word(try CacheFixtures.lookup(policy: policy, after: seconds).decide([response])) == expected)
        #expect(
            word(try CacheFixtures.lookup(policy: policy).decide([]))
                == (policy == .onlyCached ? "504 noResponse" : policy == .noStore || policy == .reload ? "!policy" : "!noResponse"))
    }

    @Test(
        arguments: [
            (.useProtocol, "", []), (.preferCached, "", []), (.revalidate, "", ["Cache-Control: max-age=0"]),
            (.reload, "", ["Cache-Control: no-cache", "Pragma: no-cache"]),
            (.noStore, "Pragma: x", ["Pragma: x", "Cache-Control: no-cache"]),
            (.reload, "Cache-Control: max-age=5", ["Cache-Control: max-age=5"]),
        ] as [(CachePolicy, String, [String])])
    func fieldsOfAForwardedRequest(policy: CachePolicy, text: String, expected: [String]) throws {
        let fields = CacheFixtures.text(try CacheFixtures.lookup(text, policy: policy).forwardedFields)
        #expect(fields == expected)
    }

    /// RFC 8246 §3
    @Test(
        arguments: [
            ("https://example.org/", true), ("http://example.org/", false), ("http://localhost:8080/", true), ("http://a.localhost/", true),
            ("http://127.0.0.1/", true), ("http://[::1]/", true), ("http://127.example.org/", false), ("data:,", false),
        ])
    func immutableNeedsAnAuthenticatedConnection(url: String, expected: Bool) throws {
        #expect(CacheLookup.isAuthenticated(try URLRecord(parsing: url)) == expected)
    }

    /// RFC 5861 §4; RFC 9111 §4.2.4, §5.2.2.2
    @Test(
        arguments: [
            ("stale-if-error=60", "", 70, 503, true), ("stale-if-error=60", "", 71, 503, false), ("stale-if-error=60", "", 70, nil, true),
            ("stale-if-error=60", "", 70, 500, true), ("stale-if-error=60", "", 70, 502, true), ("stale-if-error=60", "", 70, 504, true),
            ("stale-if-error=60", "", 70, 501, false), ("stale-if-error=60", "", 70, 404, false), ("stale-if-error=60", "", 70, 200, false),
            ("x", "stale-if-error=60", 70, 503, true), ("stale-if-error=1", "stale-if-error=60", 70, 503, true), ("x", "", 11, 503, false),
            ("stale-if-error=60, must-revalidate", "", 70, 503, false), ("stale-if-error=60, no-cache", "", 5, 503, false),
            ("stale-if-error=60", "no-cache", 70, 503, false), ("stale-if-error=60", "no-store", 70, 503, false),
            ("stale-if-error=x", "", 11, 503, false), ("stale-if-error=60", "max-age=0", 5, 503, true),
        ] as [(String, String, Int64, Int?, Bool)])
    func section424StaleIfError(response: String, request: String, seconds: Int64, status: Int?, isUsed: Bool) throws {
        let lookup = try CacheFixtures.lookup(request.isEmpty ? "" : "Cache-Control: " + request, after: seconds)
        let responses = [try CacheFixtures.response("Cache-Control: max-age=10, " + response)]
        let use = lookup.decide(afterError: status.map { HTTPResponse.Status(code: $0) }, responses)
        #expect((use != nil) == isUsed && use.map { $0.age } ?? seconds == seconds)
    }

    /// §4.3.2; RFC 9110 §13. The stored response has `ETag: "a"` and was changed an hour before.
    @Test(
        arguments: [
            ("If-None-Match: \"a\"", .notModified), ("If-None-Match: \"b\"", .full), ("If-None-Match: W/\"a\"", .notModified),
            ("If-None-Match: \"b\", \"a\", \"c\"", .notModified), ("If-None-Match: \"b\" | If-None-Match: \"a\"", .notModified),
            ("If-None-Match: *", .notModified), ("If-None-Match: \"b,\\\", \"a\"", .notModified), ("If-None-Match: a", .full),
            ("If-None-Match:", .full),
            // If-None-Match precedes If-Modified-Since.
            ("If-None-Match: \"b\" | If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", .full),
            ("If-None-Match: \"a\" | If-Modified-Since: Sun, 06 Nov 1970 08:49:37 GMT", .notModified),
            ("If-Modified-Since: Sun, 06 Nov 1994 07:49:37 GMT", .notModified),
            ("If-Modified-Since: Sun, 06 Nov 1994 08:00:00 GMT", .notModified),
            ("If-Modified-Since: Sun, 06 Nov 1994 07:49:36 GMT", .full), ("If-Modified-Since: x", .full),
            // Ranges.
            ("Range: bytes=0-1", .partial(0..<2)), ("Range: bytes=1-", .partial(1..<10)), ("Range: bytes=-1", .partial(9..<10)),
            ("Range: bytes=0-1,2-4", .partial(0..<5)), ("Range: bytes=10-", .unsatisfiableRange), ("Range: x", .full),
            ("Range: bytes=0-1, 5-6", nil), ("Range: bytes=99999999999999999999-", .unsatisfiableRange),
            ("Range: bytes=0-99999999999999999999", .partial(0..<10)), ("Range: bytes=10-, 0-1", .partial(0..<2)),
            // If-Range.
            ("Range: bytes=0-1 | If-Range: \"a\"", .partial(0..<2)), ("Range: bytes=0-1 | If-Range: \"b\"", .full),
            ("Range: bytes=0-1 | If-Range: W/\"a\"", .full),
            ("Range: bytes=0-1 | If-Range: Sun, 06 Nov 1994 07:49:37 GMT", .partial(0..<2)),
            ("Range: bytes=0-1 | If-Range: Sun, 06 Nov 1994 07:49:38 GMT", .full),
            ("Range: bytes=0-1 | If-None-Match: \"a\"", .notModified), ("", .full),
        ] as [(String, CachedContent?)])
    func section432PreconditionsAndRanges(request: String, expected: CachedContent?) throws {
        let response = try CacheFixtures.response(
            "Cache-Control: max-age=10 | ETag: \"a\" | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT | Date: \(try CacheFixtures.date(0))")
        let decision = try CacheFixtures.lookup(request).decide([response])
        guard let expected else {
            #expect(decision == .load(.missingRange))
            return
        }
        #expect(decision == .use(CacheDecision.Use(index: 0, answer: expected, age: 0, reason: .fresh)))
    }

    /// §4.3.2: without `Last-Modified`, the `Date` or the time of reception counts.
    @Test func section432IfModifiedSinceWithoutLastModified() throws {
        for (text, isNotModified) in [
            ("", true), ("| Date: \(try CacheFixtures.date(100))", false), ("| Date: \(try CacheFixtures.date(-100))", true),
        ] {
            let response = try CacheFixtures.response("Cache-Control: max-age=1000 \(text)")
            let lookup = try CacheFixtures.lookup("If-Modified-Since: \(try CacheFixtures.date(0))")
            #expect(lookup.answer(from: response) == (isNotModified ? .notModified : .full))
        }
    }

    /// §4.3.2: only the origin server evaluates these, and no cache answers such a request.
    @Test(arguments: ["If-Match: \"a\"", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"])
    func section432PreconditionsOfTheOriginServer(request: String) throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10 | ETag: \"a\"")
        #expect(try CacheFixtures.lookup(request).decide([response]) == .load(.precondition))
    }

    /// RFC 9110 §13.2.1: preconditions and ranges apply only to successful responses; §14.2: and ranges only to GET.
    @Test func otherStatusesAndMethodsHaveNoConditionsAndRanges() throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10 | ETag: \"a\"", status: .notFound)
        #expect(try CacheFixtures.lookup("If-None-Match: \"a\" | Range: bytes=0-1").answer(from: response) == .full)
        let found = try CacheFixtures.response("Cache-Control: max-age=10")
        #expect(try CacheFixtures.lookup("Range: bytes=0-1", method: .head).answer(from: found) == .full)
        let decoded = try CacheFixtures.response("Cache-Control: max-age=10", isDecoded: true)
        #expect(try CacheFixtures.lookup("Range: bytes=0-1").answer(from: decoded) == .full)
    }

    /// RFC 9110 §14.1.2: a suffix of a representation without octets is satisfiable.
    @Test(
        arguments: [("bytes=-1", .full), ("bytes=-0", .unsatisfiableRange), ("bytes=0-", .unsatisfiableRange), ("bytes=0-, -1", .full)]
            as [(String, CachedContent)])
    func rangesOfAnEmptyRepresentation(range: String, expected: CachedContent) throws {
        let response = try CacheFixtures.response("Cache-Control: max-age=10", content: .complete(length: 0))
        #expect(try CacheFixtures.lookup("Range: " + range).answer(from: response) == expected)
    }

    /// §4: the fields, method and policy of a request, and those of the one before it that has no response yet.
    @Test(
        arguments: [
            ("", "", true), ("A: 1", "B: 1", true), ("Range: bytes=0-1", "", true), ("If-None-Match: \"a\"", "", true),
            ("Cache-Control: max-age=5", "", true), ("Cache-Control: no-cache", "", false), ("Cache-Control: no-store", "", false),
            ("Cache-Control: max-age=0", "", false), ("Cache-Control: only-if-cached", "", false), ("", "Cache-Control: no-store", false),
            ("", "Cache-Control: no-cache", true), ("", "Range: bytes=0-1", false), ("If-Match: \"a\"", "", false),
            ("", "If-Match: \"a\"", false), ("If-Unmodified-Since: x", "", false),
        ])
    func section4ConcurrentRequests(request: String, sent: String, mayWait: Bool) throws {
        #expect(try CacheFixtures.lookup(request).mayWait(for: try CacheFixtures.lookup(sent)) == mayWait)
    }

    @Test func section4PoliciesOfConcurrentRequests() throws {
        for policy in CachePolicy.allCases {
            let lookup = try CacheFixtures.lookup(policy: policy)
            #expect(lookup.mayWait(for: try CacheFixtures.lookup()) == [.useProtocol, .preferCached].contains(policy), "\(policy)")
            #expect(try CacheFixtures.lookup().mayWait(for: lookup) == (policy != .noStore), "\(policy)")
        }
        #expect(!(try CacheFixtures.lookup(method: .post).mayWait(for: try CacheFixtures.lookup())))
        #expect(!(try CacheFixtures.lookup().mayWait(for: try CacheFixtures.lookup(method: .head))))
    }

    /// §3.3: a partial response answers only ranges that it has.
    @Test(
        arguments: [
            ("Range: bytes=6-8", "partial(6..<9)"), ("Range: bytes=6-", "partial(6..<10)"), ("Range: bytes=-1", "partial(9..<10)"),
            ("Range: bytes=-5", "partial(5..<10)"), ("Range: bytes=-7", "!missingRange"), ("Range: bytes=0-5", "!missingRange"),
            ("Range: bytes=10-", "unsatisfiableRange"), ("", "complete"), ("If-None-Match: \"a\"", "complete"),
            ("Range: bytes=4-5 | If-Range: \"b\"", "!missingRange"),
        ])
    func section33PartialResponse(request: String, expected: String) throws {
        let response = try CacheFixtures.response(
            "Cache-Control: max-age=10 | ETag: \"a\"", content: CacheFixtures.parts(4..<10, length: 10))
        let decision = try CacheFixtures.lookup(request).decide([response])
        if case .use(let use) = decision {
            let answer =
                switch use.answer {
                case .partial(let range): "partial(\(range))"
                case .full: "full"
                case .notModified: "notModified"
                case .unsatisfiableRange: "unsatisfiableRange"
                }
            #expect(answer == expected)
        } else {
            #expect(word(decision) == expected)
        }
        #expect(word(try CacheFixtures.lookup(method: .head).decide([response])) == "!incomplete")
        let weak = try CacheFixtures.response("Cache-Control: max-age=10", content: CacheFixtures.parts(4..<10, length: nil))
        #expect(word(try CacheFixtures.lookup().decide([weak])) == "!incomplete")
        #expect(try CacheFixtures.lookup("Range: bytes=4-5").answer(from: weak) == .partial(4..<6))
        #expect(try CacheFixtures.lookup("Range: bytes=4-").answer(from: weak) == nil)
    }
}
