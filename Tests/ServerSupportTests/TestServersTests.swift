// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import Testing

/// Checks the real servers with curl(1).
@Suite(.timeLimit(.minutes(10))) struct TestServersTests {
    @Test(arguments: TestServer.allCases)
    func eachServerHasAnEndpoint(_ server: TestServer) throws {
        let endpoint = try TestServers.shared.endpoint(server)
        #expect((1...65535).contains(endpoint.port))
    }

    @Test(arguments: TestFile.allCases)
    func eachFileIsReadable(_ file: TestFile) throws {
        #expect(try FileManager.default.isReadableFile(atPath: TestServers.shared.path(of: file)))
    }

    @Test(
        arguments: [
            (.nginxHTTP, "1.1"), (.nginxThreeRequests, "1.1"), (.nginxHTTPS, "2"), (.nginxHTTPS1, "1.1"), (.nginxHTTP2ThreeRequests, "2"),
            (.nginxIntermediate, "2"),
            (.nginxClientOptional, "2"), (.nginxTLS12, "2"), (.nginxTLS13, "2"), (.nghttpdHTTPS, "2"), (.nghttpdTrailers, "2"),
            (.nghttpdEarly, "2"),
            (.nghttpdEcho, "2"), (.nghttpdOneStream, "2"), (.nghttpdSmallWindows, "2"), (.nghttpdPadded, "2"), (.nghttpdPush, "2"),
            (.apacheHTTP, "1.1"),
            (.apacheHTTPS, "2"),
        ] as [(TestServer, String)])
    func fileIsServedByHTTPVersion(_ server: TestServer, _ version: String) throws {
        let outcome = try Curl.run(TestServers.shared.url(server, "/hello.txt"), "-w", "%{http_version} %{http_code}")
        #expect(outcome.output == "Hello\n\(version) 200")
    }

    @Test(arguments: [TestServer.nginxHTTP2, .nghttpdHTTP])
    func http2WorksWithPriorKnowledge(_ server: TestServer) throws {
        let outcome = try Curl.run(TestServers.shared.url(server, "/hello.txt"), "--http2-prior-knowledge", "-w", "%{http_version}")
        #expect(outcome.output == "Hello\n2")
    }

    @Test(
        arguments: [.nginxExpired, .nginxNotYetValid, .nginxWrongName, .nginxSelfSigned, .nginxUntrusted, .nginxIncompleteChain]
            as [TestServer])
    func invalidCertificateIsRefused(_ server: TestServer) throws {
        #expect(try Curl.run(TestServers.shared.url(server, "/hello.txt")).status == 60)
        #expect(try Curl.run(TestServers.shared.url(server, "/hello.txt"), "-k").output == "Hello\n")
    }

    @Test(arguments: [TestFile.clientKey, .clientEncryptedKey])
    func clientIsAuthenticatedByItsCertificate(_ key: TestFile) throws {
        let servers = try TestServers.shared
        for server in [TestServer.nginxClientOptional, .nginxClientRequired] {
            let outcome = try Curl.run(
                servers.url(server, "/echo"), "--cert", servers.path(of: .clientCertificate), "--key", servers.path(of: key),
                "--pass", servers.clientKeyPassword)
            #expect(outcome.output.contains("client=SUCCESS\nsubject=CN=A client"))
        }
    }

    @Test func clientWithoutAValidCertificateIsRefused() throws {
        let servers = try TestServers.shared
        let refusedOptions = try ["--cert", servers.path(of: .refusedCertificate), "--key", servers.path(of: .refusedKey)]
        for options in [[], refusedOptions] {
            #expect(try Curl.run([servers.url(.nginxClientRequired), "-o", "/dev/null", "-w", "%{http_code}"] + options).output == "400")
            #expect(try Curl.run([servers.url(.apacheClientRequired)] + options).status != 0)
        }
    }

    @Test func nginxRequiresAndAcceptsAPassword() throws {
        let servers = try TestServers.shared
        let url = try servers.url(.nginxHTTP, "/private/secret.txt")
        #expect(try Curl.run(url, "-f").status == 22)
        #expect(try Curl.run(url, "-u", "\(servers.user):\(servers.password)").output.contains("treasure"))
    }

    @Test func apacheRequiresDigestAuthentication() throws {
        let servers = try TestServers.shared
        let url = try servers.url(.apacheHTTP, "/private/secret.txt")
        #expect(try Curl.run(url, "-u", "\(servers.user):\(servers.password)", "-f").status == 22)
        #expect(try Curl.run(url, "--digest", "-u", "\(servers.user):\(servers.password)").output.contains("treasure"))
    }

    @Test func apacheSendsEarlyHints() throws {
        #expect(try Curl.run(TestServers.shared.url(.apacheHTTPS, "/hints"), "-i").output.hasPrefix("HTTP/2 103"))
    }

    @Test(arguments: [TestServer.squidOpen, .squidLocked, .socksOpen, .socksLocked])
    func proxyForwardsToOriginsAndChecksThePassword(_ proxy: TestServer) throws {
        let servers = try TestServers.shared
        let proxyOptions = try ["-x", servers.url(proxy, "", host: "127.0.0.1"), "--noproxy", ""]
        for target in [TestServer.nginxHTTP, .nginxHTTPS] {
            let url = try servers.url(target, "/hello.txt")
            let authenticated = try Curl.run([url, "-f", "-U", "\(servers.user):\(servers.password)"] + proxyOptions)
            #expect(authenticated.output == "Hello\n")
            let isOpen = proxy == .squidOpen || proxy == .socksOpen
            #expect(try (Curl.run([url, "-f"] + proxyOptions).status == 0) == isOpen)
        }
    }

    @Test func squidRequiresDigestAuthentication() throws {
        let servers = try TestServers.shared
        let proxyOptions = try ["-x", servers.url(.squidDigest, "", host: "127.0.0.1"), "--noproxy", ""]
        let url = try servers.url(.nginxHTTP, "/hello.txt")
        for (options, isAccepted) in [(["--proxy-digest"], true), (["--proxy-basic"], false)] {
            let outcome = try Curl.run([url, "-f", "-U", "\(servers.user):\(servers.password)"] + options + proxyOptions)
            #expect((outcome.output == "Hello\n") == isAccepted)
        }
    }

    @Test func squidLogsItsRequests() async throws {
        let servers = try TestServers.shared
        let url = try servers.url(.nginxHTTP, "/hello.txt?logged", host: "127.0.0.1")
        _ = try Curl.run(url, "-x", servers.url(.squidOpen, ""), "--noproxy", "")
        #expect(try await servers.line(of: .squidLog, with: "GET \(url)").contains("/200"))
    }

    @Test func httpbinResponds() throws {
        let outcome = try Curl.run(TestServers.shared.url(.httpbin, "/anything", host: "127.0.0.1"), "-d", "sea=calm")
        #expect(outcome.output.contains(#""sea": "calm""#))
    }

    @Test func serversListenOnBothLoopbackAddresses() throws {
        let endpoint = try TestServers.shared.endpoint(.nginxHTTPS)
        guard endpoint.ipv6 else { return }
        #expect(try Curl.run(endpoint.url("/hello.txt", host: "[::1]")).output == "Hello\n")
        #expect(try Curl.run(endpoint.url("/hello.txt", host: "127.0.0.1")).output == "Hello\n")
    }

    @Test func secondSetOfServersCanRunAtTheSameTime() throws {
        let secondServers = try TestServers(parts: ["socks"])
        #expect(try secondServers.endpoint(.socksOpen).port != TestServers.shared.endpoint(.socksOpen).port)
        #expect(throws: ServerError.self) { try secondServers.endpoint(.nginxHTTP) }
    }

    @Test func serversEndWhenTestServersIsReleased() throws {
        var ownedServers: TestServers? = try TestServers(parts: ["nginx"])
        let url = try #require(try ownedServers?.url(.nginxHTTP, "/hello.txt"))
        let folder = try #require(ownedServers?.folder)
        #expect(try Curl.run(url).status == 0)
        ownedServers = nil
        #expect(try Curl.run(url).status == 7)
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
