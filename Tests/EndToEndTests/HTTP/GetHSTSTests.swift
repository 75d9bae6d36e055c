// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// HSTS of `get` and `stdio`, with nginx over TLS.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetHSTSTests {
    private let program: Program
    private let servers: TestServers

    init() throws {
        program = try Program()
        servers = try TestServers.shared
    }

    private func hosts() throws -> [String] {
        try String(contentsOf: program.folder.appendingPathComponent("hosts"), encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") }
    }

    @Test func hostOfASecureResponseIsUpgradedLater() throws {
        let endpoint = try servers.endpoint(.nginxHTTPS1)
        let authority = ["--cacert", try servers.path(of: .authority)]
        let firstOutcome = try program.run(["get", "-v", "--hsts", "hosts"] + authority + [endpoint.url("/strict.txt")])
        #expect(firstOutcome.status == 0, "\(firstOutcome.errors)")
        #expect(firstOutcome.errors.contains("* request 1: HSTS host stored: localhost and its subdomains"))
        let lines = try hosts()
        #expect(lines.count == 1 && lines[0].hasPrefix(".localhost \"20"), "\(lines)")
        let plainURL = "http://localhost:\(endpoint.port)/hello.txt"
        try program.makeFile("hosts", lines[0] + "\nno host\n")
        let upgradedOutcome = try program.run(["get", "-v", "--hsts", "hosts"] + authority + [plainURL])
        #expect(
            upgradedOutcome.text == "Hello\n" && upgradedOutcome.errors.contains { $0.contains("redirected (307, HSTS) to") },
            "\(upgradedOutcome.errors)")
        #expect(upgradedOutcome.errors.filter { $0.contains("skipped line") }.count == 1)
        // curl reads the file, too.
        let curl = try program.runScript("curl -s --hsts hosts --cacert '\(authority[1])' '\(plainURL)'")
        #expect(curl.text == "Hello\n")
    }

    /// As with curl: an empty name keeps the hosts in memory, a missing file is created only if there are hosts to
    /// write, and a device is written, not replaced.
    @Test(arguments: ["", "nosuch", "/dev/null", "/dev/stdout"]) func hostsCanBeInMemoryOrInADevice(path: String) throws {
        let endpoint = try servers.endpoint(.nginxHTTPS1)
        let urls = [endpoint.url("/strict.txt"), "http://localhost:\(endpoint.port)/hello.txt"]
        #expect(try program.run("get", "--hsts", path, "data:,x").text == "x")
        #expect(try program.files.isEmpty)
        let outcome = try program.run(["get", "--hsts", path, "--cacert", try servers.path(of: .authority)] + urls)
        #expect(outcome.status == 0 && outcome.errors.isEmpty && outcome.text.contains("Hello\n"), "\(outcome)")
        #expect(try program.files == (path == "nosuch" ? ["nosuch"] : []))
        #expect(outcome.text.contains(".localhost \"20") == (path == "/dev/stdout"))
        #expect(try program.runScript("test -c /dev/null").status == 0)
    }

    /// The user's credentials are sent after an HSTS upgrade, but not after another redirect to https.
    @Test func credentialsAreSentAfterTheUpgrade() throws {
        let endpoint = try servers.endpoint(.nginxHTTPS1)
        try program.makeFile("hosts", "localhost \"unlimited\"\n")
        let url = "http://localhost:\(endpoint.port)/private/secret.txt"
        let arguments = ["--cacert", try servers.path(of: .authority), "--anyauth", "-u", "\(servers.user):\(servers.password)"]
        let outcome = try program.run(["get", "--hsts", "hosts"] + arguments + [url])
        #expect(outcome.text.contains("treasure"), "\(outcome.errors)")
        let redirectingServer = try ScriptedServer(
            ScriptedServer.response(
                "307 Temporary Redirect", ["Location: \(endpoint.url("/private/secret.txt"))", "Non-Authoritative-Reason: HSTS"]))
        let outcomeOfAForgedUpgrade = try program.run(
            ["get", "--fail"] + arguments + [redirectingServer.url().replacing("127.0.0.1", with: "localhost")])
        #expect(outcomeOfAForgedUpgrade.status == 22, "\(outcomeOfAForgedUpgrade.errors)")
    }

    /// With `-k` the program accepts any certificate, so an attacker could have sent the Strict-Transport-Security
    /// field.
    @Test func hostIsNotAddedWithoutACertificateCheck() throws {
        let outcome = try program.run("get", "-k", "--hsts", "hosts", servers.url(.nginxHTTPS1, "/strict.txt"))
        #expect(outcome.status == 0 && !FileManager.default.fileExists(atPath: program.folder.path + "/hosts"))
    }

    @Test("-v says why a host is not stored")
    func hostThatIsNotStoredIsReported() throws {
        let plainServer = try ScriptedServer(ScriptedServer.response("200 OK", ["Strict-Transport-Security: max-age=1000"]))
        let secureURL = try servers.url(.nginxHTTPS1, "/strict.txt")
        let authority = ["--cacert", try servers.path(of: .authority)]
        for (arguments, host, reason) in [
            (["-k", secureURL], "localhost", "the server's certificate was not verified (RFC 6797 §8.1)"),
            ([plainServer.url().replacing("127.0.0.1", with: "localhost")], "localhost", "the response came without TLS (RFC 6797 §8.1)"),
            (authority + [secureURL.replacing("localhost", with: "127.0.0.1")], "127.0.0.1", "it is an address (RFC 6797 §8.1.1)"),
        ] {
            let outcome = try program.run(["get", "-v", "--hsts", ""] + arguments)
            #expect(outcome.errors.contains("* request 1: HSTS host not stored: \(host): \(reason)"), "\(outcome.errors)")
            #expect(try !program.run(["get", "-v"] + arguments).errors.contains { $0.contains("HSTS") })
        }
    }

    @Test("The upgrade sends no request, and is no redirect for --max-redirects")
    func upgradeIsNoRequest() throws {
        let endpoint = try servers.endpoint(.nginxHTTPS1)
        try program.makeFile("hosts", "localhost \"unlimited\"\n")
        let arguments = ["get", "-v", "--hsts", "hosts", "--cacert", try servers.path(of: .authority), "-u", "u:p"]
        let outcome = try program.run(arguments + ["--max-redirects", "0", "http://localhost:\(endpoint.port)/hello.txt"])
        #expect(outcome.status == 0 && outcome.text == "Hello\n", "\(outcome.errors)")
        #expect(
            outcome.errors.filter { $0.contains(" carries a credential") } == [
                "* request 1: carries a credential for '\(endpoint.url("/hello.txt"))': basic, from -u"
            ])
        for (limit, status) in [("0", Int32(47)), ("1", 0)] {
            let redirect = try program.run(arguments + ["--max-redirects", limit, "http://localhost:\(endpoint.port)/redirect/302"])
            #expect(redirect.status == status, "\(redirect.errors)")
        }
    }

    @Test("If a server without TLS was upgraded, the error says how to undo that, and does not propose http:")
    func errorAfterAnUpgradeNamesHSTS() throws {
        try program.makeFile("hosts", "localhost \"unlimited\"\n")
        let url = try servers.url(.nginxHTTP, "/hello.txt")
        let outcome = try program.run("get", "--hsts", "hosts", url)
        let message = outcome.errors.joined()
        #expect(outcome.status == 35 && message.contains("its response is not TLS; HSTS has changed http: to https:"), "\(message)")
        #expect(message.contains("remove 'localhost', or the domain above it, from the file of --hsts") && !message.contains("try http:"))
        let untrusted = try program.run("get", "--hsts", "hosts", servers.url(.nginxHTTPS1, "/").replacing("https:", with: "http:"))
        #expect(untrusted.status == 60 && untrusted.errors.joined().contains("(HSTS has changed http: to https:)"), "\(untrusted.errors)")
    }

    @Test func lineThatIsNoHostIsSkippedWithAWarning() throws {
        try program.makeFile("hosts", "nonsense\nexample.com \"unlimited\"\n")
        let outcome = try program.run("get", "--hsts", "hosts", "data:,x")
        #expect(outcome.text == "x")
        let text = "not a host name with its expiry in quotation marks"
        #expect(outcome.errors == ["portolan: warning: --hsts: 'hosts': skipped line 1: \(text)"])
        #expect(try hosts() == ["nonsense", "example.com \"unlimited\""])
        try program.makeFile("hosts", String(repeating: "* \"unlimited\"\n", count: 1000))
        let many = try program.run("get", "--hsts", "hosts", "data:,x")
        #expect(many.errors == ["portolan: warning: --hsts: 'hosts': skipped line 1 and 999 more: \(text)"])
    }
}
