// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization
import Testing

@testable import PortolanHSTS

/// HTTP Strict Transport Security. The section numbers are the ones of RFC 6797.
@Suite struct HSTSTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// A storage that has noted this field value in a response from the URL.
    private static func storage(_ value: String, _ url: String = "https://example.com/") throws -> HSTSStorage {
        let storage = HSTSStorage()
        storage.updateHost(Array(value.utf8), from: try URLRecord(parsing: url), now: now)
        return storage
    }

    /// The `https:` URL to which the storage upgrades the URL; `nil` if it does not upgrade it.
    private static func upgraded(_ url: String, by storage: HSTSStorage, after seconds: Double = 0) throws -> String? {
        storage.upgraded(try URLRecord(parsing: url), now: now + seconds)?.string
    }

    /// §6.1. A `maxAge` of `nil` stands for a very long time.
    @Test(
        arguments: [
            ("max-age=10", 10, false), ("MAX-AGE=10; IncludeSubDomains", 10, true), ("includeSubDomains;max-age=\"10\"", 10, true),
            (" max-age = 10 ; preload ; x=\"a;b\" ; ;", 10, false), ("max-age=0", 0, false),
            ("max-age=99999999999999999999999", nil, false),
        ] as [(String, Int64?, Bool)])
    func fieldValueIsParsed(value: String, maxAge: Int64?, includesSubdomains: Bool) throws {
        let field = try #require(StrictTransportSecurity(parsing: Array(value.utf8)))
        #expect(maxAge == nil ? field.maxAge > 1 << 50 : field.maxAge == maxAge)
        #expect(field.includesSubdomains == includesSubdomains)
    }

    @Test(arguments: [
        "", "includeSubDomains", "max-age", "max-age=", "max-age=x", "max-age=-1", "max-age=1.5", "max-age=10; max-age=10",
        "max-age=10; includeSubDomains; includesubdomains", "max-age=10; includeSubDomains=1", "max-age=\"10", "max-age=10 x", "max-age 10",
        "=10; max-age=10", "max-age=10, max-age=20", "max-age=\"\"",
    ])
    func malformedValueIsIgnored(value: String) throws {
        #expect(StrictTransportSecurity(parsing: Array(value.utf8)) == nil)
        #expect(try Self.storage(value).allHosts.isEmpty)
    }

    /// §8.2, §8.3
    @Test(
        arguments: [
            ("http://example.com/a?b#c", "https://example.com/a?b#c"), ("http://EXAMPLE.com./", "https://example.com./"),
            ("http://example.com:80/", "https://example.com/"), ("http://example.com:8080/", "https://example.com:8080/"),
            ("http://u:p@example.com/", "https://u:p@example.com/"), ("http://example.com:443/", "https://example.com/"),
            ("http://www.example.com/", nil), ("http://notexample.com/", nil), ("http://com/", nil), ("https://example.com/", nil),
            ("ftp://example.com/", nil), ("ws://example.com/", nil),
        ] as [(String, String?)])
    func knownHostIsUpgraded(url: String, expected: String?) throws {
        #expect(try Self.upgraded(url, by: Self.storage("max-age=10")) == expected)
    }

    @Test func subdomainsAreUpgradedWithIncludeSubDomains() throws {
        let storage = try Self.storage("max-age=10; includeSubDomains")
        #expect(try Self.upgraded("http://a.b.example.com/", by: storage) == "https://a.b.example.com/")
        #expect(try Self.upgraded("http://aexample.com/", by: storage) == nil)
        // The policy of the parent domain still applies, although the subdomain's own policy excludes its subdomains.
        storage.updateHost(Array("max-age=10".utf8), from: try URLRecord(parsing: "https://b.example.com/"), now: Self.now)
        #expect(try Self.upgraded("http://a.b.example.com/", by: storage) == "https://a.b.example.com/")
    }

    @Test func policyExpiresAndCanBeRemoved() throws {
        let storage = try Self.storage("max-age=10")
        #expect(try Self.upgraded("http://example.com/", by: storage, after: 9.5) != nil)
        #expect(try Self.upgraded("http://example.com/", by: storage, after: 10) == nil)
        storage.updateHost(Array("max-age=0".utf8), from: try URLRecord(parsing: "https://example.com./"), now: Self.now)
        #expect(try Self.upgraded("http://example.com/", by: storage) == nil)
    }

    /// §8.1: responses without TLS and hosts that are IP addresses cannot set a policy.
    @Test(arguments: ["http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://0x7f.1/"])
    func responsesWithoutTLSAndFromAddressesAreNotNoted(url: String) throws {
        #expect(try Self.storage("max-age=10", url).allHosts.isEmpty)
    }

    @Test func fileHasTheFormatOfCurl() {
        let text = """
            # Your HSTS cache. https://curl.se/docs/hsts.html
            .example.com "20330518 03:33:20"
            example.org "unlimited"\r

              example.net\t"20330518 03:33:20"
            """
        let (hosts, problems) = HSTSFile.parse(Array(text.utf8))
        let end = Date(timeIntervalSince1970: 2_000_000_000)
        #expect(problems.isEmpty)
        #expect(
            hosts == [
                .init(name: "example.com", includesSubdomains: true, expiry: end), .init(name: "example.org"),
                .init(name: "example.net", expiry: end),
            ])
        #expect(HSTSFile.parse(HSTSFile.bytes(of: hosts)).hosts == hosts)
        let malformedLines = [
            "x", "example.com \"soon\"", ". \"unlimited\"", "example.com \"20331318 00:00:00\"", "example.com \"2033-05-18 00:00\"",
            "exämple.com \"unlimited\"", "* \"unlimited\"", ".* \"unlimited\"", "a..b \"unlimited\"", "127.0.0.1 \"unlimited\"",
            String(repeating: "a", count: 64) + " \"unlimited\"", String(repeating: "a.", count: 200) + "b \"unlimited\"",
            "a:80 \"unlimited\"", "example.com unlimited", "example.com \"unlimited", "example.com \"unlimited\" x",
            "example.com \"2033051 803:33:20\"", "example.com \"20330518 24:00:00\"",
        ]
        #expect(HSTSFile.parse(Array(malformedLines.joined(separator: "\n").utf8)).malformedLineNumbers == Array(1...malformedLines.count))
    }

    @Test func numberOfHostsIsLimited() {
        let storage = HSTSStorage(limit: 100)
        for number in 0...100 { storage.set(.init(name: "h\(number).example", expiry: .now + Double(1000 + number))) }
        let names = storage.allHosts.map(\.name)
        #expect(names.count == 95 && names.contains("h100.example") && !names.contains("h0.example"))
        let unlimited = HSTSStorage(limit: .max)
        for number in 0..<30_000 { unlimited.set(.init(name: "h\(number).example")) }
        #expect(unlimited.allHosts.count == 30_000)
    }
}

extension HSTSTests {
    @Test("Many hosts below one registrable domain do not displace the hosts of other domains")
    func hostsOfOneDomainHaveALimit() throws {
        let storage = HSTSStorage(limit: 200, domainLimit: 100)
        let now = Date.now
        func updateHost(_ host: String, _ maxAge: Int) throws {
            storage.updateHost(Array("max-age=\(maxAge)".utf8), from: try URLRecord(parsing: "https://\(host)/"), now: now)
        }
        try updateHost("bank.example", 1000)
        storage.set(.init(name: "listed.evil.example", expiry: now + 10))
        for number in 0..<500 { try updateHost("h\(number).evil.example", 1001 + number) }
        let names = Set(storage.allHosts.map(\.name))
        #expect(names.contains("bank.example") && names.contains("listed.evil.example"))
        #expect(names.contains("h499.evil.example") && !names.contains("h0.evil.example"))
        #expect((95...102).contains(names.count))
        // Each name directly below a public suffix is a domain.
        for number in 0..<150 { try updateHost("u\(number).github.io", 2000) }
        #expect(storage.allHosts.filter { $0.name.hasSuffix(".github.io") }.count > 100)
        try updateHost("h499.evil.example", 0)
        #expect(!storage.allHosts.contains { $0.name == "h499.evil.example" })
    }
}

/// The upgrade of a load, which the delegate sees as a redirect.
@Suite struct HSTSLoadTests {
    @Test("A name that no host of a URL has is not stored")
    func nameThatIsNotASCII() {
        let storage = HSTSStorage()
        for name in ["b\u{FC}cher.example", "\u{212A}.example", "x.e\u{301}.example"] { storage.set(.init(name: name)) }
        #expect(storage.allHosts.isEmpty)
        storage.set(.init(name: "K.example"))
        storage.remove("\u{212A}.example")
        #expect(storage.allHosts.map(\.name) == ["k.example"])
    }

    /// A handler for `http:` and `https:` that records its requests. Its responses have a field
    /// Strict-Transport-Security.
    private final class SecureHandler: ProtocolHandler {
        let identifier = "test.server"
        let schemes = SchemeSet.only(["http", "https"])
        private let isVerified: Bool
        private let log = Mutex<[Request]>([])

        init(isVerified: Bool) { self.isVerified = isVerified }

        var requests: [Request] { log.withLock { $0 } }
        var urls: [String] { requests.map(\.url.description) }

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            log.withLock { $0.append(request) }
            var response = Response(url: request.url, status: .ok)
            if let name = HTTPField.Name("Strict-Transport-Security") {
                response.fields.append(HTTPField(name: name, value: "max-age=1000"))
                response.fields.append(HTTPField(name: name, value: "max-age=0"))
            }
            response.isVerified = isVerified && request.url.scheme == "https"
            return ScriptedLoad([.response(response), .data(Array("x".utf8)), .finish], client: client)
        }
    }

    private static func loader(_ server: SecureHandler, _ mode: RedirectPolicy.Mode = .follow) -> Loader {
        var configuration = Loader.Configuration()
        configuration.handlers = [server]
        configuration.redirects.mode = mode
        configuration.strictTransportSecurity = HSTSStorage()
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    @Test(arguments: [RedirectPolicy.Mode.follow, .manual, .error])
    func laterLoadsAreRedirectedWithAllTheirFields(mode: RedirectPolicy.Mode) async throws {
        let server = SecureHandler(isVerified: true)
        let loader = Self.loader(server, mode)
        _ = try await loader.data(from: "https://example.com/")
        var request = try Request("http://example.com/a#f")
        try request.setField("Authorization", "own")
        let redirects = Mutex<[String]>([])
        let delegate = ClosureDelegate(onRedirect: { request, response in
            redirects.withLock { $0.append("\(response.status?.code ?? 0) \(request.url) \(response.fields[.location] ?? "")") }
            return .follow(request)
        })
        let (_, response) = try await loader.data(for: request, delegate: delegate)
        #expect(response.url.description == "https://example.com/a#f" && response.status == .ok)
        #expect(
            server.urls == ["https://example.com/", "https://example.com/a#f"] && server.requests.last?.fields[.authorization] == "own")
        #expect(redirects.withLock { $0 } == ["307 https://example.com/a#f https://example.com/a#f"])
    }

    @Test func declinedUpgradeLoadsNothing() async throws {
        let server = SecureHandler(isVerified: true)
        let loader = Self.loader(server)
        loader.configuration.strictTransportSecurity?.set(.init(name: "example.com"))
        let delegate = ClosureDelegate(onRedirect: { _, _ in .deliver })
        let (body, response) = try await loader.data(for: Request("http://example.com/"), delegate: delegate)
        #expect(response.status == .temporaryRedirect && body.isEmpty && server.urls.isEmpty)
    }

    /// The policy of a response is ignored if the certificate has an error, or if the connection has no TLS.
    @Test func unverifiedResponsesAreNotNoted() async throws {
        let server = SecureHandler(isVerified: false)
        let loader = Self.loader(server)
        for url in ["https://example.com/", "http://example.com/"] { _ = try await loader.data(from: url) }
        #expect(server.urls == ["https://example.com/", "http://example.com/"])
        #expect(loader.configuration.strictTransportSecurity?.allHosts.isEmpty == true)
    }
}
