// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import ServerSupport
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// Plain requests to the same origin share a template, so that the handler computes its values only once.
@Suite("Request templates", .timeLimit(.minutes(10)))
struct RequestTemplateTests {
    private static func pools() throws -> HTTPConnectionPools {
        var configuration = HTTPConfiguration()
        configuration.proxies = .direct
        return try HTTPConnectionPools(configuration)
    }

    @Test func requestsToOneOriginShareATemplate() throws {
        let pools = try Self.pools()
        let template = try #require(pools.template(for: Request("http://example.org/a")))
        #expect(try pools.template(for: Request("http://example.org/b?c#d")) === template)
        #expect(try pools.template(for: Request("http://example.org:80")) === template)
        #expect(try pools.template(for: Request("http://EXAMPLE.org/")) === template)
    }

    @Test(arguments: [
        "https://example.org/", "http://example.org:8080/", "http://example.org.evil/", "http://example.or/", "http://xample.org/",
        "http://example.org:80@evil/", "http://user:password@example.org/", "http://example.org@/x", "http://user@example.org/",
    ])
    func otherOriginsAndUsersDoNotShareATemplate(_ url: String) throws {
        let pools = try Self.pools()
        let template = try #require(pools.template(for: Request("http://example.org/")))
        guard let request = try? Request(url) else { return }  // `try?` because a text that is no URL has no template
        #expect(pools.template(for: request) !== template)
        #expect(pools.template(for: request) == nil || !request.url.hasCredentials)
    }

    @Test(arguments: [HTTPRequest.Method.head, .post, .put, .delete, .options])
    func onlyGETRequestsHaveATemplate(_ method: HTTPRequest.Method) throws {
        let pools = try Self.pools()
        _ = try pools.template(for: Request("http://example.org/"))
        #expect(try pools.template(for: Request("http://example.org/", method: method)) == nil)
    }

    @Test func requestsWithFieldsBodyOrPropertiesHaveNoTemplate() throws {
        let pools = try Self.pools()
        let plain = try Request("http://example.org/")
        _ = pools.template(for: plain)
        var request = plain
        request.fields[.accept] = "text/html"
        #expect(pools.template(for: request) == nil)
        request = plain
        request.body = .text("a")
        #expect(pools.template(for: request) == nil)
        request = plain
        request.decodesContent = false
        #expect(pools.template(for: request) == nil)
        request = plain
        request.httpVersion = .http2
        #expect(pools.template(for: request) == nil)
    }

    @Test func templatesStayCorrectIfTheCacheReplacesThem() throws {
        let pools = try Self.pools()
        for number in 0..<100 {
            let host = "host\(number % 20).example"
            #expect(try pools.template(for: Request("http://\(host)/"))?.key.host == host)
        }
    }

    @Test func requestsKeepTheirOwnPathAndFields() async throws {
        let server = try ScriptedServer([.forever([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])])
        let loader = Loader.http()
        for path in ["/a", "/b?c", "/"] { _ = try await loader.data(from: server.url(path)) }
        var request = try Request(server.url("/d"))
        request.fields[.accept] = "text/plain"
        _ = try await loader.data(for: request)
        _ = try await loader.data(from: server.url("/e"))
        try #require(!server.connections.isEmpty)
        let text = server.connections[0].text
        let lines = text.split(separator: "\r\n").filter { $0.hasSuffix("HTTP/1.1") }
        #expect(lines == ["GET /a HTTP/1.1", "GET /b?c HTTP/1.1", "GET / HTTP/1.1", "GET /d HTTP/1.1", "GET /e HTTP/1.1"])
        #expect(text.count(of: "text/plain") == 1)
        #expect(text.count(of: "127.0.0.1:\(server.port)\r\n") == 5)
    }
}

extension String {
    /// The number of occurrences of `part`.
    fileprivate func count(of part: String) -> Int { split(separator: part, omittingEmptySubsequences: false).count - 1 }
}
