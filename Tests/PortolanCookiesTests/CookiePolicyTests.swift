// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCookies

/// A handler that delivers the events that a closure returns for each request, and records the `Cookie` fields of the
/// requests.
final class CookieHandler: ProtocolHandler {
    let identifier = "test.cookies"
    let schemes = SchemeSet.only(["http", "https"])
    let traits: HandlerTraits
    private let events: @Sendable (Request) -> [ScriptedLoad.Event]
    private let log = Mutex<[String?]>([])

    init(traits: HandlerTraits = [.cookies, .stopsAsynchronously], _ events: @escaping @Sendable (Request) -> [ScriptedLoad.Event]) {
        (self.traits, self.events) = (traits, events)
    }

    /// The `Cookie` field of each request; `nil` for a request without one.
    var cookieFields: [String?] { log.withLock { $0 } }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        log.withLock { $0.append(request.fields[.cookie]) }
        return ScriptedLoad(events(request), client: client)
    }

    /// A response that sets these cookies.
    static func response(_ request: Request, _ cookies: String..., status: HTTPResponse.Status = .ok) -> Response {
        var fields = HTTPFields()
        for cookie in cookies { fields.append(HTTPField(name: .setCookie, value: cookie)) }
        return Response(url: request.url, status: status, fields: fields)
    }

    /// A redirect that sets a cookie, as the `http:` handler would deliver it.
    static func redirect(_ request: Request, to url: String, _ cookie: String) -> ScriptedLoad.Event {
        var fields: HTTPFields = [.location: url]
        fields.append(HTTPField(name: .setCookie, value: cookie))
        let response = Response(url: request.url, status: .found, fields: fields)
        return request.redirected(by: response).map { .redirect(to: $0, response) } ?? .failure(LoadError(.badURL, message: url))
    }
}

/// Which requests send stored cookies, and which responses set cookies.
@Suite struct CookiePolicyTests {
    private func loader(_ handlers: any ProtocolHandler..., storage: CookieStorage? = CookieStorage()) -> Loader {
        var configuration = Loader.Configuration()
        configuration.cookies = storage
        configuration.handlers = handlers
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    @Test func cookiesOfAResponseAreSentNextTime() async throws {
        let server = CookieHandler { [.response(CookieHandler.response($0, "a=1", "b=2; Path=/x")), .finish] }
        let loader = loader(server)
        for url in ["http://example.com/", "http://example.com/x/y", "http://other.example/"] { _ = try await loader.data(from: url) }
        #expect(server.cookieFields == [nil, "b=2; a=1", nil])
        #expect(loader.configuration.cookies?.cookies.count == 5)
    }

    @Test func handlerWithoutTheTraitAndLoaderWithoutStorageHaveNoCookies() async throws {
        let handlerWithoutTrait = CookieHandler(traits: .stopsAsynchronously) { [.response(CookieHandler.response($0, "a=1")), .finish] }
        let storage = CookieStorage()
        for _ in 0..<2 { _ = try await loader(handlerWithoutTrait, storage: storage).data(from: "http://example.com/") }
        let server = CookieHandler { [.response(CookieHandler.response($0, "a=1")), .finish] }
        let loaderWithoutStorage = loader(server, storage: nil)
        for _ in 0..<2 { _ = try await loaderWithoutStorage.data(from: "http://example.com/") }
        #expect(handlerWithoutTrait.cookieFields == [nil, nil] && server.cookieFields == [nil, nil] && storage.cookies.isEmpty)
    }

    @Test func requestThatDoesNotHandleCookiesSendsAndStoresNone() async throws {
        let server = CookieHandler { [.response(CookieHandler.response($0, "b=2")), .finish] }
        let loader = loader(server)
        try loader.configuration.cookies?.set(Cookie(name: "a", value: "1", domain: "example.com"))
        var request = try Request("http://example.com/")
        request.handlesCookies = false
        _ = try await loader.data(for: request)
        try request.setField("Cookie", "own=1")
        _ = try await loader.data(for: request)
        #expect(server.cookieFields == [nil, "own=1"] && loader.configuration.cookies?.cookies.count == 1)
    }

    @Test func redirectSetsCookiesAndTheNextRequestSendsTheCookiesOfItsURL() async throws {
        let server = CookieHandler { request in
            request.url.path == "/end" || request.url.path == "/"
                ? [.response(CookieHandler.response(request)), .finish] : [CookieHandler.redirect(request, to: "/end", "r=1; Path=/end")]
        }
        let loader = loader(server)
        try loader.configuration.cookies?.set(Cookie(name: "start", value: "1", domain: "example.com", path: "/start"))
        try loader.configuration.cookies?.set(Cookie(name: "all", value: "1", domain: "example.com"))
        _ = try await loader.data(from: "http://example.com/start")
        _ = try await loader.data(from: "http://example.com/")
        #expect(server.cookieFields == ["start=1; all=1", "r=1; all=1", "all=1"])
    }

    /// After a redirect, the `Cookie` field of the caller is sent only to the same origin. Which stored cookies are
    /// sent depends only on the new URL.
    @Test(
        arguments: [
            ("http://example.com/end", "c=1; own=1"), ("http://example.com:81/end", "c=1"), ("https://example.com/end", "c=1"),
            ("http://EXAMPLE.com/end", "c=1; own=1"), ("http://example.com./end", nil), ("http://www.example.com/end", nil),
            ("http://other.example/end", "o=1"),
        ] as [(String, String?)])
    func cookieFieldOfTheCallerIsSentOnlyToItsOrigin(target: String, expected: String?) async throws {
        let server = CookieHandler { request in
            request.url.path == "/end"
                ? [.response(CookieHandler.response(request)), .finish] : [CookieHandler.redirect(request, to: target, "x=1; Path=/x")]
        }
        let loader = loader(server)
        try loader.configuration.cookies?.set(Cookie(name: "c", value: "1", domain: "example.com"))
        try loader.configuration.cookies?.set(Cookie(name: "o", value: "1", domain: "other.example"))
        var request = try Request("http://example.com/")
        try request.setField("Cookie", "own=1")
        _ = try await loader.data(for: request)
        #expect(server.cookieFields == ["c=1; own=1", expected])
    }

    @Test func cookieOfTheCallerReplacesTheStoredCookieWithItsName() async throws {
        let server = CookieHandler { [.response(CookieHandler.response($0)), .finish] }
        let loader = loader(server)
        for name in ["a", "b", "c"] { try loader.configuration.cookies?.set(Cookie(name: name, value: "1", domain: "example.com")) }
        var request = try Request("http://example.com/")
        try request.setField("Cookie", "b=own; c=own2")
        _ = try await loader.data(for: request)
        #expect(server.cookieFields == ["a=1; b=own; c=own2"])
    }

    @Test func interimResponsesAndPartsSetNoCookies() async throws {
        let server = CookieHandler(traits: [.cookies, .multipart, .stopsAsynchronously]) { request in
            [
                .interim(CookieHandler.response(request, "interim=1", status: .earlyHints)),
                .response(CookieHandler.response(request, "first=1")), .response(CookieHandler.response(request, "part=1")), .finish,
            ]
        }
        let loader = loader(server)
        _ = try await loader.data(from: "http://example.com/")
        #expect(loader.configuration.cookies?.cookies.map(\.name) == ["first"])
    }

    @Test func crossSiteLoadSendsOnlyCookiesWithSameSiteNone() async throws {
        let server = CookieHandler { [.response(CookieHandler.response($0, "s=1", "n=1; SameSite=None; Secure")), .finish] }
        let loader = loader(server)
        _ = try await loader.data(from: "https://example.com/")
        var request = try Request("https://example.com/")
        for document in ["https://other.example/", "https://www.example.com/"] {
            request.mainDocumentURL = try URLRecord(parsing: document)
            _ = try await loader.data(for: request)
        }
        #expect(server.cookieFields == [nil, "n=1", "s=1; n=1"])
    }

    /// An interceptor does not see the cookies, and the next handler receives them.
    @Test func requestsOfAnInterceptorHaveCookies() async throws {
        let server = CookieHandler { [.response(CookieHandler.response($0, "a=1")), .finish] }
        let interceptor = Interceptor(identifier: "test.interceptor", schemes: .only(["http"])) { request in
            #expect(request.fields[.cookie] == nil)
        }
        let loader = loader(interceptor, server)
        for _ in 0..<2 { _ = try await loader.data(from: "http://example.com/") }
        #expect(server.cookieFields == [nil, "a=1"])
    }
}
