// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanURL
import Testing

@testable import PortolanCache

/// Invalidation (RFC 9111 §4.4) and `Clear-Site-Data`.
@Suite struct InvalidationTests {
    @Test(
        arguments: [
            ("POST", 200, true), ("PUT", 201, true), ("DELETE", 204, true), ("M-SEARCH", 200, true), ("PATCH", 303, true),
            ("post", 200, true),
            ("GET", 200, false), ("HEAD", 200, false), ("OPTIONS", 200, false), ("TRACE", 200, false), ("POST", 404, false),
            ("POST", 500, false), ("POST", 100, false), ("POST", 399, true), ("POST", 400, false),
        ])
    func section44MethodAndStatus(method: String, status: Int, isInvalid: Bool) throws {
        let url = try URLRecord(parsing: "https://example.org/a?b#c")
        let method = try #require(HTTPRequest.Method(rawValue: method))
        let urls = Invalidation.urls(method: method, url: url, status: HTTPResponse.Status(code: status), fields: HTTPFields())
        #expect(urls.map(\.string) == (isInvalid ? ["https://example.org/a?b"] : []))
    }

    /// §4.4: only URLs of the same origin.
    @Test(
        arguments: [
            ("Location: /x#y", ["https://example.org/x"]),
            ("Location: z | Content-Location: ?q", ["https://example.org/a/z", "https://example.org/a/b?q"]),
            ("Location: https://EXAMPLE.org:443/x", ["https://example.org/x"]), ("Location: http://example.org/x", []),
            ("Location: https://example.org:8443/x", []), ("Content-Location: https://www.example.org/x", []),
            ("Location: //other.example/", []),
            ("Location: https://", []), ("Location: /a/b | Content-Location: /x", ["https://example.org/x"]), ("Location: data:,x", []),
            ("Location: /x | Location: /y", ["https://example.org/x"]),
        ] as [(String, [String])])
    func section44LocationAndContentLocation(text: String, others: [String]) throws {
        let url = try URLRecord(parsing: "https://example.org/a/b")
        let urls = Invalidation.urls(method: .post, url: url, status: .ok, fields: try CacheFixtures.fields(text))
        #expect(urls.map(\.string) == ["https://example.org/a/b"] + others)
        #expect(Invalidation.urls(method: .post, url: url, status: .badRequest, fields: try CacheFixtures.fields(text)) == [])
    }

    @Test func longReferencesAreNotFollowed() throws {
        let url = try URLRecord(parsing: "https://example.org/")
        for (count, expected) in [(Invalidation.referenceLimit - 1, 2), (Invalidation.referenceLimit, 1)] {
            let fields = try CacheFixtures.fields("Location: /" + String(repeating: "x", count: count))
            #expect(Invalidation.urls(method: .post, url: url, status: .ok, fields: fields).count == expected)
        }
    }

    @Test(
        arguments: [
            ("\"cache\"", "https://example.org/", true), ("\"cookies\", \"cache\"", "https://example.org/", true),
            ("\"*\"", "https://example.org/", true),
            ("\"cookies\" | Clear-Site-Data: \"cache\"", "https://example.org/", true), ("cache", "https://example.org/", false),
            ("\"Cache\"", "https://example.org/", false), ("\"cookies\"", "https://example.org/", false),
            ("*", "https://example.org/", false),
            ("\"cache\"", "http://example.org/", false), ("\"cache\"", "http://localhost/", true),
            ("\"x, \\\"cache\\\"\"", "https://a/", false),
            ("", "https://example.org/", false),
        ])
    func clearSiteData(text: String, url: String, expected: Bool) throws {
        #expect(Invalidation.clearsCache(try CacheFixtures.fields("Clear-Site-Data: " + text), of: try URLRecord(parsing: url)) == expected)
    }
}
