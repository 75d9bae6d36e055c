// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// Certificates and proxies, with real servers.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetConnectionTests {
    private let program: Program
    private let servers: TestServers

    init() throws {
        program = try Program()
        servers = try TestServers.shared
    }

    @Test func onlyTheNamedAuthorityIsTrusted() throws {
        let authority = try servers.path(of: .authority)
        let outcome = try program.run("get", "-v", "--cacert", authority, servers.url(.nginxHTTPS1, "/hello.txt"))
        #expect(outcome.text == "Hello\n", "\(outcome.errors)")
        #expect(outcome.errors.contains { $0.contains("  http/1.1, TLSv1.3, new connection to ") })
        let unknownAuthority = try program.run(
            "get", "--cacert", servers.path(of: .unknownAuthority), servers.url(.nginxHTTPS1, "/hello.txt"))
        #expect(unknownAuthority.status == 60 && unknownAuthority.output.isEmpty && unknownAuthority.errors.count == 1)
        let systemAuthorities = try program.run("get", servers.url(.nginxHTTPS1, "/hello.txt"))
        #expect(systemAuthorities.status == 60 && systemAuthorities.errors.count == 1)
        #expect(systemAuthorities.errors.first?.contains("name its certificate with --cacert") == true, "\(systemAuthorities.errors)")
    }

    /// A session writes several lines. The program warns once about the first failed write, and the load succeeds.
    @Test func fullKeyLogIsReportedOnce() throws {
        let arguments = ["get", "-v", "--cacert", try servers.path(of: .authority), try servers.url(.nginxHTTPS1, "/hello.txt")]
        let outcome = try program.run(arguments, with: ["SSLKEYLOGFILE": "/dev/full"])
        #expect(outcome.text == "Hello\n", "\(outcome.errors)")
        let warnings = outcome.errors.filter { $0.contains("SSLKEYLOGFILE") }
        #expect(warnings == ["* warning: SSLKEYLOGFILE: '/dev/full' can't be written: No space left on device"], "\(outcome.errors)")
    }

    /// The kernel ends a program that writes beyond its file size limit and does not handle SIGXFSZ.
    @Test func keyLogAtTheFileSizeLimitDoesNotEndTheProgram() throws {
        let (authority, url) = (try servers.path(of: .authority), try servers.url(.nginxHTTPS1, "/hello.txt"))
        let outcome = try program.runScript(
            "(ulimit -f 0; SSLKEYLOGFILE=keys \"$portolan\" get --cacert '\(authority)' '\(url)'; echo $?) | cat")
        #expect(outcome.text == "Hello\n0\n", "\(outcome.errors)")
    }

    @Test(arguments: [TestServer.nginxExpired, .nginxWrongName, .nginxSelfSigned, .nginxUntrusted])
    func invalidServerCertificateIsTrustedOnlyWithTheOption(server: TestServer) throws {
        let url = try servers.url(server, "/hello.txt")
        #expect(try program.run("get", "--http1.1", "--cacert", servers.path(of: .authority), url).status == 60)
        #expect(try program.run("get", "-k", "--http1.1", url).text == "Hello\n")
    }

    @Test func clientCertificateIsSentToAServerThatRequestsIt() throws {
        let url = try servers.url(.nginxClientRequired, "/echo")
        let authority = ["--http1.1", "--cacert", try servers.path(of: .authority)]
        let identity = ["--cert", try servers.path(of: .clientCertificate), "--key", try servers.path(of: .clientKey)]
        let outcome = try program.run(["get", "--fail"] + authority + identity + [url])
        #expect(outcome.status == 0 && outcome.text.contains("client=SUCCESS"), "\(outcome.text) \(outcome.errors)")
        #expect(try program.run(["get", "--fail"] + authority + [url]).status == 22)
        let encryptedIdentity = ["--cert", try servers.path(of: .clientCertificate), "--key", try servers.path(of: .clientEncryptedKey)]
        let passphrase = ["--pass", servers.clientKeyPassword]
        #expect(try program.run(["get", "--fail"] + authority + encryptedIdentity + passphrase + [url]).status == 0)
        let outcomeWithoutCertificate = try program.run(["get"] + authority + [servers.url(.apacheClientRequired, "/hello.txt")])
        #expect(
            outcomeWithoutCertificate.errors.first?.contains("name a certificate with --cert") == true,
            "\(outcomeWithoutCertificate.errors)")
        let wrongPassphrase = try program.run(["get", "--fail"] + authority + encryptedIdentity + ["--pass", "wr0ng"] + [url])
        #expect(wrongPassphrase.status == 58 && wrongPassphrase.errors.count == 1)
        #expect(!wrongPassphrase.errors.contains { $0.contains("wr0ng") })
    }

    @Test func proxyComesFromTheOptionOrTheEnvironment() async throws {
        let proxy = "http://127.0.0.1:\(try servers.endpoint(.squidOpen).port)"
        let url = try servers.url(.nginxHTTP, "/hello.txt", host: "127.0.0.1")
        let outcomeWithOption = try program.run("get", "-v", "--proxy", proxy, url + "?named")
        #expect(outcomeWithOption.text == "Hello\n", "\(outcomeWithOption.errors)")
        #expect(outcomeWithOption.errors.contains { $0.contains(", proxy \(proxy), ") })
        _ = try await servers.line(of: .squidLog, with: "?named")
        #expect(try program.run("get", url + "?environment", with: ["http_proxy": proxy]).text == "Hello\n")
        _ = try await servers.line(of: .squidLog, with: "?environment")
        for options in [["--proxy", ""], ["--noproxy", "*"], ["--proxy", proxy, "--noproxy", "127.0.0.1"]] {
            let outcome = try program.run(["get", "-v"] + options + [url + "?direct"], with: ["http_proxy": proxy])
            #expect(outcome.text == "Hello\n" && !outcome.errors.contains { $0.contains("proxy ") }, "\(outcome.errors)")
        }
        #expect(try !servers.lines(of: .squidLog).contains { $0.contains("?direct") })
    }

    @Test func proxyAndServerGetTheirOwnPasswords() throws {
        let user = "\(servers.user):\(servers.password)"
        let lockedProxy = "127.0.0.1:\(try servers.endpoint(.squidLocked).port)"
        let url = try servers.url(.nginxHTTP, "/private/secret.txt", host: "127.0.0.1")
        let outcome = try program.run("get", "--fail", "--proxy", lockedProxy, "--proxy-user", user, "-u", user, url)
        #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(outcome.errors)")
        #expect(try program.run("get", "--fail", "--proxy", lockedProxy, "-u", user, url).status == 22)
        #expect(try program.run("get", "--fail", "--proxy", lockedProxy, "--proxy-user", user, url).status == 22)
        let wrongPassword = try program.run("get", "--fail", "--proxy", lockedProxy, "--proxy-user", "me:wr0ng", url)
        #expect(wrongPassword.status == 67 && wrongPassword.errors.count == 1)
    }

    @Test(arguments: [TestServer.socksOpen, .socksLocked])
    func socksProxyIsUsed(server: TestServer) throws {
        let port = try servers.endpoint(server).port
        let arguments = ["--proxy", "socks5h://127.0.0.1:\(port)", "--proxy-user", "\(servers.user):\(servers.password)"]
        let outcome = try program.run(
            ["get", "--cacert", servers.path(of: .authority)] + arguments + [servers.url(.nginxHTTPS1, "/hello.txt")])
        #expect(outcome.text == "Hello\n", "\(outcome.errors)")
    }

    @Test func stdioAcceptsTLSOptions() throws {
        let url = try servers.url(.nginxHTTPS1, "/hello.txt")
        let outcome = try program.run(
            "stdio", "--cacert", try servers.path(of: .authority), input: #"{"url":"\#(url)"}"#)
        #expect(outcome.text.contains(#""body":"Hello\n""#), "\(outcome.text)")
    }
}
