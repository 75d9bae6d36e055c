// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanHTTP
import PortolanTransport

/// Proxies that speak TLS, and the errors if the URL and the proxy, or the URL and the server, disagree about TLS.
@Suite("https: proxies", .timeLimit(.minutes(10))) struct SecureProxyTests {
    private static let urls = ["http://origin.test/", "https://origin.test/"]
    /// A fatal alert, unexpected_message (RFC 8446 §5.1, §6).
    private static let alert: [UInt8] = [0x15, 3, 3, 0, 2, 2, 10]

    private static func load(_ url: String, through proxy: String, identity: TLSIdentity? = nil) async throws
        -> SecureLoaderFixture.Outcome
    {
        try await SecureLoaderFixture {
            $0.proxies = .proxy(proxy)
            $0.tls.identity = identity
        }.load(url)
    }

    private static func count(_ word: String, in text: String) -> Int { text.components(separatedBy: word).count - 1 }

    @Test(arguments: [SecureServer.Settings.Version.tls12, .tls13], urls)
    func proxyThatRequiresAClientCertificateGetsNone(_ version: SecureServer.Settings.Version, _ url: String) async throws {
        let proxy = try await SecureServer("good") {
            $0.maximumVersion = version
            $0.clientCertificates = .required(roots: try certificates().path("authority.pem"))
        }
        let identity = TLSIdentity(certificatePath: try certificates().path("client-both.pem"))
        for identity in [nil, identity] {
            let outcome = try await Self.load(url, through: proxy.url, identity: identity)
            #expect(outcome.code == .secureConnectionFailed, "\(outcome.text)")
            #expect(outcome.text.contains("it wants a client certificate, and got none (alert "), "\(outcome.text)")
            #expect(outcome.text.hasSuffix("; client certificates are sent only to servers, so use a proxy that needs none"))
            #expect(Self.count("the proxy https://127.0.0.1:\(proxy.port)", in: outcome.text) == 1, "\(outcome.text)")
            #expect(outcome.delegate.error?.remedy == nil)
        }
        #expect(proxy.count(.secured("A Client")) == 0)
        try await proxy.stop()
    }

    @Test(arguments: urls) func plainTextProxyErrorSuggestsTheHTTPScheme(_ url: String) async throws {
        let proxy = try SecureServer(nil, .sendAtFirstByte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
        let outcome = try await Self.load(url, through: proxy.url)
        #expect(
            outcome.text
                == "no secure connection to the proxy https://127.0.0.1:\(proxy.port): its response is not TLS; "
                + "if it speaks plain HTTP there, write http:// as its scheme")
        try await proxy.stop()
    }

    @Test func untrustedCertificateErrorNamesTheProxy() async throws {
        let proxy = try await SecureServer("self")
        let outcome = try await Self.load("https://origin.test/", through: proxy.url)
        #expect(outcome.code == .certificateNotTrusted)
        #expect(outcome.text.hasPrefix("the proxy https://127.0.0.1:\(proxy.port): the certificate of '127.0.0.1' is not trusted"))
        try await proxy.stop()
    }

    @Test(arguments: urls) func tlsProxyErrorSuggestsTheHTTPSScheme(_ url: String) async throws {
        let proxy = try ScriptedServer([.receiveHead, .send(Self.alert), .close])
        let outcome = try await Self.load(url, through: "http://127.0.0.1:\(proxy.port)")
        #expect(outcome.code == .tunnelFailed)
        #expect(outcome.text == "the proxy http://127.0.0.1:\(proxy.port) responds with TLS; write https:// as its scheme")
    }

    /// A TLS server that uses OpenSSL closes the connection without an alert if the client speaks plain HTTP.
    @Test(arguments: zip(urls, [LoadError.Code.emptyResponse, .tunnelFailed]))
    func errorOfAProxyThatClosesSilentlySuggestsTheHTTPSScheme(_ url: String, _ code: LoadError.Code) async throws {
        let proxy = try ScriptedServer([.receiveHead, .close])
        let outcome = try await Self.load(url, through: "http://127.0.0.1:\(proxy.port)")
        #expect(outcome.code == code)
        #expect(outcome.text.contains("write https:// as ") && outcome.text.hasSuffix("speaks TLS"), "\(outcome.text)")
    }

    @Test func reportDescribesTheTLSOfTheProxy() async throws {
        let proxy = try await SecureServer(
            "good", .respond("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"))
        let fixture = try SecureLoaderFixture { $0.proxies = .proxy(proxy.url) }
        for isSecondLoad in [false, true] {
            let outcome = try await fixture.load("http://origin.test/")
            #expect(outcome.text == "hello")
            let report = try #require(outcome.task.metrics.transfers.first)
            #expect(report.proxyTLSVersion == "TLSv1.3" && report.isProxyTLSResumed == isSecondLoad)
            #expect(report.tlsVersion == nil && !report.isTLSResumed)
        }
        try await proxy.stop()
    }

    // MARK: Servers

    @Test func tlsServerErrorSuggestsHTTPS() async throws {
        for bytes in [Self.alert, [0x16, 3, 3, 0, 4, 0, 0, 0, 0]] {
            let server = try ScriptedServer([.receiveHead, .send(bytes), .close])
            let outcome = try await SecureLoaderFixture().load(server.url())
            #expect(outcome.code == .badResponse)
            #expect(outcome.text.hasPrefix("the server responds with TLS") && outcome.text.hasSuffix("; use https:"), "\(outcome.text)")
        }
    }

    @Test(arguments: [[ScriptedServer.Step.receiveHead, .close], [.receiveHead, .reset]])
    func errorOfAServerThatClosesSilentlySuggestsHTTPS(_ script: [ScriptedServer.Step]) async throws {
        let server = try ScriptedServer(script)
        let outcome = try await SecureLoaderFixture().load(server.url())
        #expect([.emptyResponse, .connectionLost].contains(outcome.code))
        #expect(outcome.text.hasSuffix(", or use https: if that port speaks TLS"), "\(outcome.text)")
    }

    @Test func errorDoesNotSuggestHTTPSAfterHTTPOrTLSBytes() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1"), .close])
        let outcome = try await SecureLoaderFixture().load(server.url())
        #expect(outcome.code == .truncated && !outcome.text.contains("https"), "\(outcome.text)")
        let secure = try await SecureServer("good", .close)
        let other = try await SecureLoaderFixture().load(secure.url)
        #expect(other.code == .connectionLost || other.code == .emptyResponse, "\(other.text)")
        #expect(!other.text.contains("use https:"), "\(other.text)")
        try await secure.stop()
    }
}
