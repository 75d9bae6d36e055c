// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct RedirectTests {
    private static func url(_ text: String) throws -> URLRecord { try URLRecord(parsing: text) }

    /// `hop:N` redirects to `hop:N-1`, and `hop:0` responds with a text.
    private static let hops = StubHandler(identifier: "hops", schemes: .only(["hop"])) { request in
        let number = Int(request.url.path) ?? 0
        guard number > 0, let next = try? url("hop:\(number - 1)") else { return .text("landed") }
        return .redirect(to: next)
    }

    @Test func redirectsAreFollowedUpToTheLimit() async throws {
        let loader = loader(Self.hops) { $0.redirects.limit = 3 }
        let (body, response) = try await loader.data(from: "hop:3")
        #expect(String(decoding: body, as: UTF8.self) == "landed")
        #expect(response.url.description == "hop:0")
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "hop:4") }
        #expect(error.code == .tooManyRedirects)
    }

    @Test func policyCanKeepCredentials() async throws {
        let receivedFields = Mutex<[HTTPFields]>([])
        let handler = StubHandler(schemes: .only(["http"])) { request in
            receivedFields.withLock { $0.append(request.fields) }
            guard request.url.host == "a", let next = try? Self.url("http://b/") else { return .text("") }
            return .redirect(to: next)
        }
        let host = try #require(HTTPField.Name("Host"))
        let fields: HTTPFields = [.authorization: "secret", .cookie: "a=b", .age: "own", .proxyAuthorization: "p", host: "x"]
        let loader = loader(handler) { ($0.redirects.keepsCredentials, $0.redirects.originFields) = (true, [.age]) }
        _ = try await loader.data(for: Request("http://a/", fields: fields))
        #expect(receivedFields.withLock { $0.last } == [.authorization: "secret", .cookie: "a=b", .age: "own"])
    }

    @Test func manyRedirectsDoNotGrowTheStack() async throws {
        let loader = loader(Self.hops) { $0.redirects.limit = 100_000 }
        #expect(try await loader.data(from: "hop:5000").1.url.description == "hop:0")
    }

    @Test func aRedirectMayLeadToAnotherHandler() async throws {
        let target = try Self.url("there:x")
        let loader = loader(
            StubHandler(identifier: "a", schemes: .only(["here"])) { _ in .redirect(to: target) },
            StubHandler(identifier: "b", schemes: .only(["there"])) { _ in .text("b") })
        #expect(try await String(decoding: loader.data(from: "here:x").0, as: UTF8.self) == "b")
    }

    @Test func credentialsAreNotSentToAnotherOrigin() async throws {
        let receivedFields = Mutex<[HTTPFields]>([])
        let handler = StubHandler(schemes: .only(["http"])) { request in
            receivedFields.withLock { $0.append(request.fields) }
            guard request.url.path == "/1", let next = try? Self.url(request.url.host == "a" ? "http://a/2" : "http://c/2") else {
                return .text("")
            }
            return .redirect(to: next)
        }
        let fields: HTTPFields = [.authorization: "secret", .cookie: "a=b", .proxyAuthorization: "p", .accept: "*/*"]
        for host in ["a", "b"] {
            _ = try await loader(handler).data(for: Request("http://\(host)/1", fields: fields))
        }
        let results = receivedFields.withLock { $0 }
        try #require(results.count > 3)
        #expect(results[1] == fields)
        #expect(results[3] == [.accept: "*/*"])
    }

    /// RFC 9110 §15.4, §10.1.1; RFC 9530
    @Test(
        "A redirect that drops the body drops the fields that describe it",
        arguments: [
            (301, HTTPRequest.Method.post, true), (302, .post, true), (303, .put, true), (303, .delete, true), (301, .put, false),
            (302, .delete, false), (307, .post, false), (308, .post, false), (303, .get, false), (303, .head, false), (301, .head, false),
        ])
    func fieldsOfTheBody(status: Int, method: HTTPRequest.Method, isDropped: Bool) throws {
        var request = try Request("http://h/", method: method, body: method == .get || method == .head ? nil : .text("b"))
        let names = [
            "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location", "Content-Digest", "Repr-Digest",
            "Digest", "Last-Modified", "Expect",
        ]
        for name in names + ["Accept"] { request.fields[try #require(HTTPField.Name(name))] = "x" }
        let next = request.redirected(to: try Self.url("http://h/b"), status: .init(code: status))
        #expect(next.fields.map(\.name.rawName) == (isDropped ? ["Accept"] : names + ["Accept"]))
        #expect(next.method == (isDropped ? .get : method) && (next.body == nil) == (isDropped || request.body == nil))
    }

    @Test func redirectToAFileURLFails() async throws {
        let file = try Self.url("file:///etc/passwd")
        let loader = loader(StubHandler { request in request.url.scheme == "file" ? .text("secret") : .redirect(to: file) })
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "evil:x") }
        #expect(error.code == .badRedirect)
    }

    /// An HTTP server can redirect only to `http:` and `https:` URLs (Fetch Standard, "HTTP-redirect fetch").
    @Test(
        arguments: ["http://h/", "https://h/"],
        [
            "file:///etc/passwd", "gzip:file:///etc/passwd", "gzip:http://h/", "gopher://h/_x", "magic:///etc/shadow", "data:,hi",
            "ws://h/",
            "about:blank",
        ])
    func httpRedirectsToOtherSchemesFail(from start: String, to target: String) async throws {
        let target = try Self.url(target)
        let requestedSchemes = Mutex<[String]>([])
        let delegate = RecordingDelegate()
        let loader = loader(
            StubHandler { request in
                requestedSchemes.withLock { $0.append(String(request.url.scheme)) }
                return request.url.scheme.hasPrefix("http") ? .redirect(to: target) : .text("secret")
            })
        let error = try await #require(throws: LoadError.self) { try await loader.data(for: Request(start), delegate: delegate) }
        #expect(error.code == .badRedirect)
        #expect(requestedSchemes.withLock { $0.count } == 1)
        #expect(!delegate.events.contains(.redirect(target)))
    }

    @Test func additionalTargetSchemesAllowRedirectsFromHTTP() async throws {
        let target = try Self.url("data:,hi")
        let loader = loader(StubHandler { request in request.url.scheme == "http" ? .redirect(to: target) : .text("hi") }) {
            $0.redirects.additionalTargetSchemes = ["data"]
        }
        #expect(try await loader.data(from: "http://h/").1.url == target)
    }

    @Test(arguments: [
        ("evil:x", "gzip:file:///a"), ("evil:x", "gzip:zip+x:FILE:///a"), ("evil:x", "gzip: %66ile:///a"),
        ("gzip:evil:x", "gzip:file:///a"), ("evil:x", "gzip:fi%09le:///a"), ("evil:x", "gzip:%0Afile%0D:///a"),
        ("gzip:file:///a", "file:///b"), ("gzip:file:///a", "gzip:gzip:file:///b"), ("file:///a", "gzip:file:///b"),
    ])
    func redirectToFilesThroughOtherSchemesFails(from start: String, to target: String) async throws {
        let target = try Self.url(target)
        let loader = loader(StubHandler { request in request.url == target ? .text("secret") : .redirect(to: target) })
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: start) }
        #expect(error.code == .badRedirect)
    }

    @Test(arguments: [
        ("gzip:file:///a", "gzip:file:///b"), ("file:///a", "file:///b"), ("evil:x", "gzip:http://file:80/"),
        ("evil:x", "there://file:80/"),
        ("evil:x", "http://h/"), ("evil:x", "data:,file:"), ("evil:x", "profile:x"),
    ])
    func otherRedirectsAreFollowed(from start: String, to target: String) async throws {
        let target = try Self.url(target)
        let loader = loader(StubHandler { request in request.url == target ? .text("landed") : .redirect(to: target) })
        #expect(try await loader.data(from: start).1.url == target)
    }

    @Test(arguments: [("zip:http://h/", "zip:file:///a", false), ("zip:file:///a", "zip:file:///b", true), ("zip:x:y", "zip:x:z", true)])
    func sameSchemeOnlyRestrictsRedirectsToItsSchemes(from start: String, to target: String, isAllowed: Bool) async throws {
        let target = try Self.url(target)
        let loader = loader(StubHandler { request in request.url == target ? .text("landed") : .redirect(to: target) }) {
            $0.redirects.sameSchemeOnly = ["file", "zip"]
        }
        let finalURL = try? await loader.data(from: start).1.url
        #expect(finalURL == (isAllowed ? target : nil))
    }

    /// The restrictions apply to redirects by a server, not to requests of the caller.
    @Test func delegateMayRedirectToAnyScheme() async throws {
        let (target, delegateRequest) = (try Self.url("http://h/2"), try Request("there:x"))
        let delegate = RecordingDelegate(onRedirect: { _, decide in decide(.follow(delegateRequest)) })
        let loader = loader(StubHandler { request in request.url.scheme == "http" ? .redirect(to: target) : .text("there") })
        #expect(try await loader.data(for: Request("http://h/1"), delegate: delegate).1.url == delegateRequest.url)
    }

    @Test func manualModeDeliversTheRedirect() async throws {
        let loader = loader(Self.hops) { $0.redirects.mode = .manual }
        #expect(try await loader.data(from: "hop:1").1.url.description == "hop:1")
    }

    @Test func errorModeFailsTheRedirect() async throws {
        let loader = loader(Self.hops) { $0.redirects.mode = .error }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "hop:1") }
        #expect(error.code == .badRedirect)
    }

    @Test(arguments: [true, false], [true, false])
    func delegateDecidesImmediatelyOrLater(follows: Bool, decidesLater: Bool) async throws {
        let pendingDecision = Mutex<(@Sendable () -> Void)?>(nil)
        let delegate = RecordingDelegate(onRedirect: { request, decide in
            let decision: @Sendable () -> Void = { decide(follows ? .follow(request) : .deliver) }
            if decidesLater { pendingDecision.withLock { $0 = decision } } else { decision() }
        })
        let task = loader(Self.hops).task(for: try Request("hop:1"), delegate: delegate)
        task.resume()
        if decidesLater {
            #expect(delegate.events == [.redirect(try Self.url("hop:0"))])
            let decision = try #require(pendingDecision.withLock { $0.take() })
            decision()
            decision()
        }
        #expect(delegate.events.last == .finished)
        #expect(delegate.text == (follows ? "landed" : ""))
        #expect(task.metrics.redirectCount == (follows ? 1 : 0))
    }

    @Test func aLoadWaitingForADecisionCanBeCancelled() async throws {
        let pendingDecision = Mutex<(@Sendable () -> Void)?>(nil)
        let delegate = RecordingDelegate(onRedirect: { request, decide in pendingDecision.withLock { $0 = { decide(.follow(request)) } } })
        let task = loader(Self.hops).task(for: try Request("hop:1"), delegate: delegate)
        task.resume()
        task.cancel()
        pendingDecision.withLock { $0.take() }?()
        #expect(delegate.events.last == .failed(.cancelled))
        #expect(delegate.events.count == 2)
    }

    @Test func eventAfterAFollowedRedirectIsAViolation() async throws {
        let violations = Mutex<[String]>([])
        let target = try Self.url("there:x")
        let handler = ManualHandler(schemes: .only(["here"])) { load in
            #expect(load.redirect(to: target) == .stopped)
            load.respond()
        }
        let loader = loader(handler, StubHandler(schemes: .only(["there"])) { _ in .text("there") }) {
            $0.violationObserver = { rule, _ in violations.withLock { $0.append(rule.id) } }
        }
        #expect(try await String(decoding: loader.data(from: "here:x").0, as: UTF8.self) == "there")
        #expect(violations.withLock { $0 } == ["ORDER-04"])
    }
}
