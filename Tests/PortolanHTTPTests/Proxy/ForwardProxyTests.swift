// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import ServerSupport
import Testing

@Suite("http: through an HTTP proxy", .timeLimit(.minutes(10)))
struct ForwardProxyTests {
    private static let refusal = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 2\r\n\r\nno"
    private static let success = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    /// The values of `Proxy-Authorization` for `user:p1` and `user:p2`.
    private static let (p1, p2) = ("Basic dXNlcjpwMQ==", "Basic dXNlcjpwMg==")

    /// Loads the URL, and returns the body and the status of the response.
    private static func load(_ url: String, _ loader: Loader, _ delegate: AnsweringDelegate? = nil) async throws -> (
        text: String, status: Int?
    ) {
        let (body, response) = try await loader.data(for: Request(url), delegate: delegate)
        return (String(decoding: body, as: UTF8.self), response.status?.code)
    }

    private static func authority(_ proxy: ScriptedServer) -> String { "127.0.0.1:\(proxy.port)" }

    /// The `Proxy-Authorization` field of each request; `nil` for a request without one.
    private static func authorizations(_ server: ScriptedServer) -> [String?] {
        server.connections.flatMap { connection in
            connection.text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
                head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("proxy-authorization: ") }.map {
                    String($0.dropFirst(21))
                }
            }
        }
    }

    @Test func requestTargetIsTheWholeURLWithoutItsUser() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.success))
        let loader = Loader.http(.proxy(Self.authority(proxy)))
        #expect(try await Self.load("http://user:p1@origin.test/a?b#c", loader) == ("yes", 200))
        try #require(!proxy.connections.isEmpty)
        let text = proxy.connections[0].text
        #expect(text.hasPrefix("GET http://origin.test/a?b HTTP/1.1\r\nHost: origin.test\r\n"))
        #expect(!text.contains("uthorization") && !text.contains("user"))
    }

    @Test func credentialOfTheProxyURLIsSentInAdvance() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.success))
        let delegate = AnsweringDelegate { _ in .cancel }
        #expect(try await Self.load("http://origin.test/", .http(.proxy("user:p%31@" + Self.authority(proxy))), delegate) == ("yes", 200))
        #expect(Self.authorizations(proxy) == [Self.p1])
        #expect(delegate.challenges.isEmpty)
    }

    @Test func wrongCredentialOfTheProxyURLChallengesTheDelegate() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.refusal), ScriptedServer.responding(Self.success))
        let delegate = AnsweringDelegate(passwords: "-", "p2")
        #expect(try await Self.load("http://origin.test/", .http(.proxy("user:p1@" + Self.authority(proxy))), delegate) == ("yes", 200))
        #expect(Self.authorizations(proxy) == [Self.p1, Self.p2])
        #expect(delegate.challenges.map(\.failureCount) == [1])
        #expect(
            delegate.challenges.first?.space
                == ProtectionSpace(
                    kind: .password(scheme: "basic"), protocolName: "http", host: "127.0.0.1", port: proxy.port, realm: "p", isProxy: true))
    }

    @Test func userOfTheURLIsNotSentToTheProxy() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.refusal))
        #expect(try await Self.load("http://user:p1@origin.test/", .http(.proxy(Self.authority(proxy)))) == ("no", 407))
        #expect(Self.authorizations(proxy) == [nil])
    }

    @Test func answersToAProxyChallengeHaveTheSameEffectAsForAServer() async throws {
        for (answer, code) in [
            (ChallengeAnswer.cancel, LoadError.Code.authenticationCancelled), (.rejectProtectionSpace, .authenticationRequired),
        ] {
            let proxy = try ScriptedServer(ScriptedServer.responding(Self.refusal))
            let loader = Loader.http(.proxy(Self.authority(proxy)))
            let error = await #expect(throws: LoadError.self) {
                try await Self.load("http://origin.test/", loader, AnsweringDelegate { _ in answer })
            }
            #expect(error?.code == code)
        }
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.refusal))
        let delegate = AnsweringDelegate { _ in .continueWithoutCredential }
        #expect(try await Self.load("http://origin.test/", .http(.proxy(Self.authority(proxy))), delegate) == ("no", 407))
    }

    @Test func proxyAndServerMakeSeparateChallenges() async throws {
        let proxy = try ScriptedServer(
            ScriptedServer.responding(Self.refusal),
            ScriptedServer.responding("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"o\"\r\nContent-Length: 0\r\n\r\n")
                + ScriptedServer.responding(Self.success))
        let delegate = AnsweringDelegate { .use(.password(user: "user", password: $0.protectionSpace.isProxy ? "p1" : "p2")) }
        #expect(try await Self.load("http://origin.test/", .http(.proxy(Self.authority(proxy))), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.space.isProxy) == [true, false])
        #expect(delegate.challenges.map(\.failureCount) == [0, 0])
        #expect(Self.authorizations(proxy) == [nil, Self.p1, Self.p1])
        try #require(proxy.connections.count > 1)
        #expect(proxy.connections[1].text.contains("\r\nAuthorization: \(Self.p2)\r\n"))
    }

    @Test func status407OfAnOriginMakesNoChallenge() async throws {
        let origin = try ScriptedServer(ScriptedServer.responding(Self.refusal))
        let delegate = AnsweringDelegate(passwords: "p1")
        #expect(try await Self.load(origin.url(), .http(), delegate) == ("no", 407))
        #expect(delegate.challenges.isEmpty)
    }

    @Test func proxyPasswordIsNotSentAfterARedirectThatBypassesTheProxy() async throws {
        let origin = try ScriptedServer(ScriptedServer.responding(Self.success))
        let proxy = try ScriptedServer(
            ScriptedServer.responding("HTTP/1.1 302 There\r\nLocation: \(origin.url("/x"))\r\nContent-Length: 0\r\n\r\n"))
        let loader = Loader.http(.proxy("user:p1@" + Self.authority(proxy), except: "127.0.0.1"))
        #expect(try await Self.load("http://origin.test/", loader) == ("yes", 200))
        try #require(!origin.connections.isEmpty)
        #expect(origin.connections[0].text.hasPrefix("GET /x HTTP/1.1\r\n"))
        #expect(!origin.connections[0].text.contains("uthorization"))
    }

    @Test func credentialForOneProxyIsNotSentToAnother() async throws {
        let second = try ScriptedServer(ScriptedServer.responding(Self.success))
        let first = try ScriptedServer(
            ScriptedServer.responding(Self.refusal),
            ScriptedServer.responding("HTTP/1.1 302 There\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"))
        let loader = Loader.http(.proxy(Self.authority(first)))
        let delegate = ReroutingDelegate(to: Self.authority(second))
        let (body, _) = try await loader.data(for: Request("http://origin.test/"), delegate: delegate)
        #expect(String(decoding: body, as: UTF8.self) == "yes")
        #expect(Self.authorizations(first) == [nil, Self.p1])
        #expect(Self.authorizations(second) == [nil])
    }

    /// A delegate that answers challenges with a password, and sends the redirected request through another proxy.
    private final class ReroutingDelegate: LoadDelegate {
        private let proxy: String

        init(to proxy: String) { self.proxy = proxy }

        func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
            challenge.answer(.use(.password(user: "user", password: "p1")))
        }

        func loadTask(
            _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
        ) {
            var request = request
            request.proxy = proxy
            decide(.follow(request))
        }
    }

    @Test func callersProxyAuthorizationIsSentOnlyToForwardProxies() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.success))
        let origin = try ScriptedServer(ScriptedServer.responding(Self.success))
        var request = try Request("http://origin.test/", fields: [.proxyAuthorization: "Own value"])
        _ = try await Loader.http(.proxy(Self.authority(proxy))).data(for: request)
        #expect(Self.authorizations(proxy) == ["Own value"])
        request.url = try URLRecord(parsing: origin.url())
        let error = try await #require(throws: LoadError.self) { try await Loader.http().data(for: request) }
        #expect(error.code == .badRequest)
        #expect(error.message.hasPrefix("the field 'Proxy-Authorization' can't be sent") && error.message.hasSuffix("user and password"))
        #expect(origin.connections.isEmpty)
    }

    @Test func connectionsWithDifferentProxyCredentialsAreNotShared() async throws {
        let proxy = try ScriptedServer([.forever(ScriptedServer.responding(Self.success))])
        let loader = Loader.http()
        for user in ["user:p1", "user:p2", "user:p1"] {
            var request = try Request("http://origin.test/")
            request.proxy = "\(user)@\(Self.authority(proxy))"
            _ = try await loader.data(for: request)
        }
        #expect(Self.authorizations(proxy) == [Self.p1, Self.p1, Self.p2])
        #expect(proxy.connections.count == 2)
    }

    @Test func credentialOfOneLoadIsNotUsedForAnother() async throws {
        let proxy = try ScriptedServer(
            [.forever(ScriptedServer.responding(Self.refusal))], [.forever(ScriptedServer.responding(Self.success))])
        let loader = Loader.http(.proxy(Self.authority(proxy)))
        let (first, second) = (AnsweringDelegate(passwords: "p1"), AnsweringDelegate { _ in .continueWithoutCredential })
        #expect(try await Self.load("http://origin.test/", loader, first) == ("yes", 200))
        #expect(try await Self.load("http://origin.test/", loader, second) == ("no", 407))
        #expect(first.challenges.count == 1 && second.challenges.count == 1)
    }

    @Test func errorNamesAnUnreachableProxy() async throws {
        let port = try RefusingPort().port
        let error = await #expect(throws: LoadError.self) {
            try await Self.load("http://origin.test/", .http(.proxy("user:s3cret@127.0.0.1:\(port)")))
        }
        #expect(error?.code == .cannotConnect)
        #expect(error?.message.contains("the proxy http://127.0.0.1:\(port)") == true && error?.description.contains("s3cret") == false)
    }
}
