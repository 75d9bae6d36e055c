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
        #expect(tls.identity == ClientIdentity(certificatePath: "me.pem", keyPath: "me.key", passphrase: "s3cr3t"))
        #expect(tls.verification == .none)
        #expect(try configuration("-E", "both.pem").tls.identity == ClientIdentity(certificatePath: "both.pem"))
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
        #expect(try configuration("--cert", pathWithColon).tls.identity == ClientIdentity(certificatePath: pathWithColon))
        #expect(try configuration("--cert", "\(folder.path):x").tls.identity != nil, "a folder is not a certificate")
    }

    @Test func proxyOptionReplacesTheEnvironment() throws {
        #expect(try configuration("-x", "socks5h://h:1").proxies == .proxy("socks5h://h:1"))
        #expect(try configuration("--proxy", "h", "--noproxy", "a,b").proxies == .proxy("h", except: "a,b"))
        #expect(try configuration("--proxy", "").proxies == .direct)
        #expect(try configuration("--proxy", "h", "--noproxy", "*").proxies == .direct)
        #expect(try configuration("--noproxy", "*").proxies == .direct)
    }

    @Test func connectionOptionsAreApplied() throws {
        let configuration = try configuration("--connect-timeout", "0.5", "--http1.1", "--http2")
        #expect(configuration.connectionLimits.connectTimeout == .milliseconds(500))
        #expect(!configuration.allowsHTTP2)
        #expect(try self.configuration("--connect-timeout", "0").connectionLimits == HTTPConfiguration().connectionLimits)
    }

    @Test(arguments: [["--key", "k"], ["--pass", "p"], ["--proxy-user", "u"], ["--noproxy", "h"], ["--connect-timeout", "x"]])
    func invalidOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try HTTPOptions.parse(arguments) }
    }
}
