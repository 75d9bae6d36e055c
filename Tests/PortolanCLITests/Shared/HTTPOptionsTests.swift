// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Portolan
import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite struct HTTPOptionsTests {
    private func configuration(_ arguments: String...) throws -> HTTPConfiguration {
        try HTTPOptions.parse(arguments).configuration()
    }

    @Test func withoutOptionsTheConfigurationIsTheDefault() throws {
        let (configuration, defaultConfiguration) = (try configuration(), HTTPConfiguration())
        #expect(configuration.proxies == .environment)
        #expect(configuration.tls.trustRoots == .system && configuration.tls.verification == .full && configuration.tls.identity == nil)
        #expect(configuration.allowsHTTP2 && configuration.connectionLimits == defaultConfiguration.connectionLimits)
    }

    @Test func tlsOptionsNameFiles() throws {
        let tls = try configuration("--cacert", "ca.pem", "--cert", "me.pem", "--key", "me.key", "--pass", "s3cr3t", "-k").tls
        #expect(tls.trustRoots == .only([.file(path: "ca.pem")]))
        #expect(tls.identity == TLSIdentity(certificatePath: "me.pem", keyPath: "me.key", passphrase: "s3cr3t"))
        #expect(tls.verification == .none)
        #expect(try configuration("-E", "both.pem").tls.identity == TLSIdentity(certificatePath: "both.pem"))
    }

    /// curl accepts `--cert FILE:PASSPHRASE`. Here, the colon is a part of the file's name.
    @Test func passphraseInTheSyntaxOfCurlIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = folder.path(of: "me.p12")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let failure = #expect(throws: Failure.self) { try configuration("--cert", "\(path):s3cr3t") }
        #expect(failure?.status == .badIdentity)
        #expect(failure?.message == "--cert: there is no file '\(path):…', but there is '\(path)'; give its passphrase with --pass")
        let pathWithColon = folder.path(of: "me.p12:odd")
        #expect(FileManager.default.createFile(atPath: pathWithColon, contents: nil))
        #expect(try configuration("--cert", pathWithColon).tls.identity == TLSIdentity(certificatePath: pathWithColon))
        #expect(try configuration("--cert", "\(folder.path):x").tls.identity != nil, "a folder is not a certificate")
    }

    @Test func proxyOptionReplacesTheEnvironment() throws {
        #expect(try configuration("-x", "socks5h://h:1").proxies == .proxy("socks5h://h:1"))
        #expect(try configuration("--proxy", "h", "--noproxy", "a,b").proxies == .proxy("h", except: "a,b"))
        #expect(try configuration("--proxy", "").proxies == .direct)
        #expect(try configuration("--proxy", "h", "--noproxy", "*").proxies == .direct)
        #expect(try configuration("--noproxy", "*").proxies == .direct)
        #expect(try configuration("--noproxy", "a").proxies == .environment(except: "a"))
        #expect(try configuration("--socks5", "h:1").proxies == .proxy("socks5://h:1"))
        #expect(try configuration("--socks5-hostname", "h").proxies == .proxy("socks5h://h"))
        #expect(try configuration("-p", "-x", "h").proxies.alwaysTunnels)
        var delaying = ProxyPolicy.proxy("http://h:1")
        delaying.delaysBodies = true
        #expect(try configuration("-x", "http://u:p@h:1", "--proxy-digest").proxies == delaying)
    }

    @Test func connectionOptionsAreApplied() throws {
        let configuration = try configuration("--connect-timeout", "0.5", "--http1.1", "--http2")
        #expect(configuration.connectionLimits.connectTimeout == .milliseconds(500))
        #expect(!configuration.allowsHTTP2)
        #expect(try self.configuration("--connect-timeout", "0").connectionLimits == HTTPConfiguration().connectionLimits)
    }

    @Test func connectionsGoToOtherTargets() throws {
        var expected = ConnectionOverrides()
        try expected.resolve("h.test", port: 443, to: ["192.0.2.1", "2001:db8::1"])
        try expected.resolve(nil, port: 80, to: ["::1"])
        expected.connect("[::1]", port: 80, to: "b.test", port: nil)
        expected.connect(nil, port: nil, to: nil, port: 81)
        expected.addressFamily = .ipv4
        let configuration = try configuration(
            "--resolve", "h.test:443:192.0.2.1,[2001:db8::1]", "--resolve", "+*:80:[::1]", "--resolve", "-x:1", "--connect-to",
            "[::1]:80:b.test:", "--connect-to", ":::81", "--ipv4")
        #expect(configuration.connectionOverrides == expected)
    }

    @Test(arguments: [
        ["--resolve", "h:443"], ["--resolve", "h:x:192.0.2.1"], ["--resolve", "h:443:nosuch"], ["--resolve", "h:443:"],
        ["--connect-to", "a:1:b"], ["--connect-to", "a:x:b:1"],
    ])
    func malformedTargetIsAnError(arguments: [String]) throws {
        let options = try HTTPOptions.parse(arguments)
        let failure = #expect(throws: Failure.self) { try options.configuration() }
        #expect(failure?.status == .badOptionValue && failure?.message?.hasPrefix("\(arguments[0]): ") == true)
    }

    @Test(arguments: [
        ("--tlsv1.0", TLSSettings.Version.tls10), ("--tlsv1.1", .tls11), ("--tlsv1.2", .tls12), ("--tlsv1.3", .tls13),
    ])
    func lowestVersionOfTLSIsSet(option: String, version: TLSSettings.Version) throws {
        #expect(try configuration(option).tls.minimumVersion == version)
        #expect(try configuration("--tls-max", "1.2").tls.maximumVersion == .tls12)
    }

    @Test(arguments: [
        ["--key", "k"], ["--pass", "p"], ["--proxy-user", "u"], ["--connect-timeout", "x"], ["--tls-max", "x"],
        ["--proxy", "a", "--socks5", "b"],
    ])
    func invalidOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try HTTPOptions.parse(arguments) }
    }
}
