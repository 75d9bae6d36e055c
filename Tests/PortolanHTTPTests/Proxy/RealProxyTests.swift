// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import ServerSupport
import Testing

@Suite("Loads through squid and microsocks", .timeLimit(.minutes(10)))
struct RealProxyTests {
    private let servers: TestServers

    init() throws {
        servers = try TestServers.shared
    }

    /// - Parameters:
    ///   - scheme: replaces the scheme of the endpoint.
    ///   - user: the user information of the proxy's URL, with an `@`.
    private func proxy(_ server: TestServer, scheme: String? = nil, user: String = "") throws -> ProxyPolicy {
        let endpoint = try servers.endpoint(server)
        return .proxy("\(scheme ?? endpoint.scheme)://\(user)127.0.0.1:\(endpoint.port)")
    }

    /// The user name and the password, as the user information of a URL.
    private var userInformation: String { "\(servers.user):\(servers.password)@" }

    private func text(_ url: String, _ loader: Loader, _ delegate: AnsweringDelegate? = nil) async throws -> String {
        String(decoding: try await loader.data(for: Request(url), delegate: delegate).0, as: UTF8.self)
    }

    @Test func squidForwardsRequests() async throws {
        let url = try servers.url(.nginxHTTP, "/hello.txt?forwarded", host: "127.0.0.1")
        let loader = try Loader.http(proxy(.squidOpen))
        #expect(try await text(url, loader) == "Hello\n")
        #expect(try await text(url, loader) == "Hello\n")
        #expect(try await servers.line(of: .squidLog, with: "GET \(url)").contains("/200"))
    }

    @Test func squidTunnelsConnections() async throws {
        let port = try servers.endpoint(.nginxHTTPS1).port
        let loader = try Loader.http(proxy(.squidOpen)) { $0.connectionLimits.idleTimeout = .milliseconds(10) }
        // `try?` because the trust in the certificate is not tested here.
        _ = try? await loader.data(from: "https://localhost:\(port)/hello.txt")
        _ = try await servers.line(of: .squidLog, with: "/200 CONNECT localhost:\(port)")
    }

    @Test func squidAcceptsTheCredentialOfItsURLAndOfTheDelegate() async throws {
        let url = try servers.url(.nginxHTTP, "/hello.txt", host: "127.0.0.1")
        #expect(try await text(url, .http(proxy(.squidLocked, user: userInformation))) == "Hello\n")
        // `ahab`, because squid gives all requests of one user the same result while it looks up that user's password.
        let delegate = AnsweringDelegate(user: "ahab", passwords: "wrong", servers.password)
        #expect(try await text(url, .http(proxy(.squidLocked)), delegate) == "Hello\n")
        #expect(delegate.challenges.map(\.failureCount) == [0, 1])
        #expect(delegate.challenges.map(\.space.realm) == ["Strait", "Strait"])
        let (_, response) = try await Loader.http(proxy(.squidLocked)).data(from: url)
        #expect(response.status?.code == 407)
    }

    /// Each nonce of squid is valid for three requests. The test sends no wrong password, because squid would accept it
    /// while it looks up the password of the same user.
    @Test(arguments: [TestServer.nginxHTTP, .nginxHTTPS1]) func squidAcceptsDigest(_ server: TestServer) async throws {
        let url = try servers.url(server, "/hello.txt")
        let authority = try servers.path(of: .authority)
        let delegate = AnsweringDelegate { [servers] challenge in
            guard case .password(scheme: "digest") = challenge.protectionSpace.kind else { return .performDefault }
            return .use(.password(user: servers.user, password: servers.password))
        }
        let loader = try Loader.http(proxy(.squidDigest)) { $0.tls.trustRoots = .only([.file(path: authority)]) }
        #expect(try await text(url, loader, delegate) == "Hello\n")
        let proxyChallenges = delegate.challenges.filter { $0.space.isProxy }
        #expect(proxyChallenges.map(\.space.realm) == ["Narrows"] && proxyChallenges.map(\.failureCount) == [0])
        let loaderWithCredential = try Loader.http(proxy(.squidDigest, user: userInformation)) {
            $0.tls.trustRoots = .only([.file(path: authority)])
        }
        for _ in 0..<5 { #expect(try await text(url, loaderWithCredential) == "Hello\n") }
    }

    @Test func squidMakesNoTunnelWithAWrongPassword() async throws {
        let url = try servers.url(.nginxHTTPS1, "/hello.txt")
        let delegate = AnsweringDelegate(user: "starbuck", passwords: "wrong")
        let error = await #expect(throws: LoadError.self) { try await text(url, .http(proxy(.squidLocked)), delegate) }
        #expect(error?.code == .tunnelFailed && error?.message.contains("'407 ") == true)
        #expect(delegate.challenges.map(\.failureCount) == [0, 1])
    }

    @Test func passwordOfTheServerIsSentThroughTheProxy() async throws {
        let url = try servers.url(.nginxHTTP, "/private/secret.txt", host: "127.0.0.1")
        let delegate = AnsweringDelegate(user: servers.user, passwords: servers.password)
        let direct = try await text(url, .http(), delegate)
        #expect(try await text(url, .http(proxy(.squidLocked, user: userInformation)), delegate) == direct)
        #expect(delegate.challenges.map(\.space.realm) == ["Harbour", "Harbour"])
    }

    @Test(arguments: ["socks5", "socks5h"])
    func microsocksForwardsConnections(_ scheme: String) async throws {
        let port = try servers.endpoint(.nginxHTTP).port
        #expect(try await text("http://localhost:\(port)/hello.txt", .http(proxy(.socksOpen, scheme: scheme))) == "Hello\n")
        let log = try await servers.line(of: .socksOpenLog, with: ":\(port)")
        #expect(log.contains("connected to"))
        #expect(
            try await text("http://localhost:\(port)/hello.txt", .http(proxy(.socksLocked, scheme: scheme, user: userInformation)))
                == "Hello\n")
        _ = try await servers.line(of: .socksLockedLog, with: ":\(port)")
    }

    @Test func microsocksAcceptsTheCredentialOfTheDelegate() async throws {
        let url = try servers.url(.nginxHTTP, "/hello.txt", host: "127.0.0.1")
        let delegate = AnsweringDelegate(user: servers.user, passwords: "wrong", servers.password)
        #expect(try await text(url, .http(proxy(.socksLocked, scheme: "socks5h")), delegate) == "Hello\n")
        #expect(delegate.challenges.map(\.failureCount) == [0, 1])
    }

    @Test func microsocksReportsARefusedConnection() async throws {
        let port = try RefusingPort()
        let error = await #expect(throws: LoadError.self) {
            try await text("http://127.0.0.1:\(port.port)/", .http(proxy(.socksOpen, scheme: "socks5h")))
        }
        #expect(error?.code == .socksFailed && error?.message.contains("connection refused") == true, "\(error?.message ?? "")")
    }
}
