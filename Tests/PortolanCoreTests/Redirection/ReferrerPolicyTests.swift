// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Testing

@testable import PortolanCore

/// The `Referer` field and the fields of `originFields` after redirects.
@Suite struct ReferrerPolicyTests {
    private static let page = "https://u:p@a.test/path?q#f"
    private static let url = "https://a.test/path?q"
    private static let origin = "https://a.test/"

    /// For each policy (Referrer Policy §8.3): the referrer that is sent to the same origin, to another secure origin,
    /// and to an insecure origin.
    @Test(
        "A referrer policy decides how much of the referrer is sent, §8.3",
        arguments: [
            ("no-referrer", nil, nil, nil), ("no-referrer-when-downgrade", url, url, nil), ("same-origin", url, nil, nil),
            ("origin", origin, origin, origin), ("strict-origin", origin, origin, nil), ("origin-when-cross-origin", url, origin, origin),
            ("strict-origin-when-cross-origin", url, origin, nil), ("unsafe-url", url, url, url),
        ] as [(String, String?, String?, String?)])
    func policyDecidesHowMuchOfTheReferrerIsSent(name: String, sameOrigin: String?, otherOrigin: String?, insecure: String?) throws {
        let policy = try #require(ReferrerPolicy(rawValue: name))
        let source = try URLRecord(parsing: Self.page)
        for (target, expected) in [("https://a.test/b", sameOrigin), ("https://b.test/", otherOrigin), ("http://a.test/", insecure)] {
            #expect(policy.referrer(from: source, to: try URLRecord(parsing: target)) == expected, "\(target)")
        }
    }

    @Test(
        "The default policy sends the origin of an insecure page to any origin, §8.3, and never sends some URLs, §8.4",
        arguments: [
            ("http://a.test/x#f", "http://b.test/", "http://a.test/"), ("http://a.test/x", "https://b.test/", "http://a.test/"),
            ("http://a.test:8080/x", "http://a.test:8080/y", "http://a.test:8080/x"), ("http://localhost/x", "http://b.test/", nil),
            ("http://127.0.0.1/x", "http://[::1]:8/", "http://127.0.0.1/"), ("about:blank", "about:blank", nil),
            ("data:,x", "http://b.test/", nil),
            ("https://a.test/" + String(repeating: "x", count: 5000), "https://a.test/", "https://a.test/"),
        ] as [(String, String, String?)])
    func defaultPolicySendsAnOriginOrNoReferrer(source: String, target: String, expected: String?) throws {
        let policy = ReferrerPolicy.strictOriginWhenCrossOrigin
        #expect(policy.referrer(from: try URLRecord(parsing: source), to: try URLRecord(parsing: target)) == expected)
    }

    @Test(
        "The last known policy of a response is used, §8.1",
        arguments: [
            (["origin"], ReferrerPolicy.origin), (["Origin, UNSAFE-URL"], .unsafeURL), (["no-referrer", "same-origin"], .sameOrigin),
            (["no-referrer, future-policy"], .noReferrer), ([""], nil), (["nonsense"], nil), ([], nil),
        ] as [([String], ReferrerPolicy?)])
    func parsing(values: [String], expected: ReferrerPolicy?) throws {
        let name = try #require(HTTPField.Name("Referrer-Policy"))
        #expect(ReferrerPolicy(in: HTTPFields(values.map { HTTPField(name: name, value: $0) })) == expected)
    }

    /// Follows redirects to these URLs with these values of `Referrer-Policy`. Returns the `Referer` field of the
    /// request after each redirect.
    private static func follow(_ first: String, referrer: String?, _ hops: [(url: String, policy: String?)]) throws -> [String?] {
        var request = try Request(first)
        request.fields[.referer] = referrer
        return try hops.map { hop in
            var response = Response(url: request.url, status: .found)
            if let policy = hop.policy, let name = HTTPField.Name("Referrer-Policy") { response.fields[name] = policy }
            let proposed = request.redirected(to: try URLRecord(parsing: hop.url), status: .found)
            request = try #require(
                try RedirectPolicy().successor(of: request, proposed: proposed, response: response, count: 0))
            return request.fields[.referer]
        }
    }

    @Test("A redirect applies its Referrer-Policy to the caller's Referer, and later redirects keep the policy, §8.2")
    func redirectAppliesItsReferrerPolicy() throws {
        let page = "https://a.test/page#f"
        #expect(try Self.follow("https://a.test/1", referrer: nil, [("https://a.test/2", "unsafe-url")]) == [nil])
        #expect(
            try Self.follow(
                "https://a.test/1", referrer: page,
                [("https://a.test/2", nil), ("https://b.test/", nil), ("http://b.test/", nil), ("https://a.test/3", nil)])
                == ["https://a.test/page", "https://a.test/", nil, "https://a.test/page"])
        #expect(
            try Self.follow("https://a.test/1", referrer: page, [("https://b.test/", "no-referrer"), ("https://a.test/", nil)])
                == [nil, nil])
        #expect(
            try Self.follow("https://a.test/1", referrer: page, [("https://b.test/", "unsafe-url"), ("http://c.test/", nil)])
                == ["https://a.test/page", "https://a.test/page"])
        // A value that is no absolute URL is sent only to the origin of the first request.
        #expect(
            try Self.follow("https://a.test/1", referrer: "/page", [("https://a.test/2", nil), ("https://b.test/", nil)]) == ["/page", nil])
    }

    @Test("Fields of originFields do not reach another scheme, host or port")
    func originFieldsDoNotReachOtherOrigins() throws {
        let key = try #require(HTTPField.Name("X-API-Key"))
        var policy = RedirectPolicy()
        policy.originFields = [key]
        var request = try Request("https://a.test/")
        request.fields = [key: "secret", .accept: "*/*"]
        for (target, keepsKey) in [
            ("https://a.test/b", true), ("https://a.test:443/", true), ("https://a.test:444/", false), ("http://a.test/", false),
            ("https://b.a.test/", false), ("https://a.test./", false),
        ] {
            let proposed = request.redirected(to: try URLRecord(parsing: target), status: .found)
            let next = try #require(try policy.successor(of: request, proposed: proposed, count: 0))
            #expect((next.fields[key] != nil) == keepsKey && next.fields[.accept] == "*/*", "\(target)")
        }
    }
}
