// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport

@Suite("Selection of the proxy for a URL")
struct ProxySelectionTests {
    @Test(arguments: [true, false])
    func policyDecidesAboutTunnels(alwaysTunnels: Bool) throws {
        var policy = ProxyPolicy.proxy("p:1")
        policy.alwaysTunnels = alwaysTunnels
        var request = try Request("http://h/")
        #expect(try ProxySelection(policy).proxy(for: request)?.alwaysTunnels == alwaysTunnels)
        request.proxy = "q:1"
        #expect(try ProxySelection(policy).proxy(for: request)?.alwaysTunnels == alwaysTunnels)
    }

    /// Environment variables, a URL, and the proxy for it; `nil` means a direct connection to the origin.
    private static let rows: [([String: String], String, String?)] = [
        ([:], "http://h/", nil),
        ([:], "https://h/", nil),
        (["http_proxy": "p:1"], "http://h/", "http://p:1"),
        (["http_proxy": "p:1"], "https://h/", nil),
        // The client of a CGI program can set HTTP_PROXY with a `Proxy` field, so the variable is ignored.
        (["HTTP_PROXY": "p:1"], "http://h/", nil),
        (["HTTP_PROXY": "p:1"], "https://h/", nil),
        (["HTTP_PROXY": "evil:1", "http_proxy": "p:1"], "http://h/", "http://p:1"),
        (["HTTP_PROXY": "evil:1", "all_proxy": "p:1"], "http://h/", "http://p:1"),
        (["https_proxy": "p:1"], "https://h/", "http://p:1"),
        (["HTTPS_PROXY": "p:1"], "https://h/", "http://p:1"),
        (["https_proxy": "p:1", "HTTPS_PROXY": "q:1"], "https://h/", "http://p:1"),
        (["https_proxy": "p:1"], "http://h/", nil),
        (["all_proxy": "p:1"], "http://h/", "http://p:1"),
        (["all_proxy": "p:1"], "https://h/", "http://p:1"),
        (["ALL_PROXY": "p:1"], "https://h/", "http://p:1"),
        (["all_proxy": "p:1", "ALL_PROXY": "q:1"], "http://h/", "http://p:1"),
        (["http_proxy": "p:1", "all_proxy": "q:1"], "http://h/", "http://p:1"),
        (["http_proxy": "p:1", "all_proxy": "q:1"], "https://h/", "http://q:1"),
        // An empty variable names no proxy.
        (["http_proxy": "", "all_proxy": "q:1"], "http://h/", "http://q:1"),
        (["https_proxy": "", "HTTPS_PROXY": "q:1"], "https://h/", "http://q:1"),
        (["all_proxy": "", "ALL_PROXY": ""], "http://h/", nil),
        // Exceptions
        (["all_proxy": "p:1", "no_proxy": "h"], "http://h/", nil),
        (["all_proxy": "p:1", "NO_PROXY": "h"], "http://h/", nil),
        (["all_proxy": "p:1", "no_proxy": "other", "NO_PROXY": "h"], "http://h/", "http://p:1"),
        (["all_proxy": "p:1", "no_proxy": "", "NO_PROXY": "h"], "http://h/", nil),
        (["all_proxy": "p:1", "no_proxy": "other"], "http://h/", "http://p:1"),
        (["no_proxy": "other"], "http://h/", nil),
    ]

    private static func selection(_ variables: [String: String]) -> ProxySelection {
        ProxySelection(.environment) { variables[$0] }
    }

    private static func proxy(_ selection: ProxySelection, _ url: String) throws -> String? {
        try selection.proxy(for: Request(url)).map(\.description)
    }

    @Test(arguments: rows)
    func environmentIsUsedAsByCurl(_ variables: [String: String], _ url: String, _ proxy: String?) throws {
        #expect(try Self.proxy(Self.selection(variables), url) == proxy)
    }

    @Test func directPolicyIgnoresTheEnvironment() throws {
        let selection = ProxySelection(.direct) { _ in
            Issue.record("the environment was read")
            return "p:1"
        }
        #expect(try Self.proxy(selection, "http://h/") == nil)
    }

    @Test func explicitProxyIsUsedForBothSchemesAndHasItsOwnExceptions() throws {
        let selection = ProxySelection(.proxy("socks5h://p:1", except: "a.test, 10.0.0.0/8")) { _ in "q:2" }
        #expect(try Self.proxy(selection, "http://h/") == "socks5h://p:1")
        #expect(try Self.proxy(selection, "https://h/") == "socks5h://p:1")
        #expect(try Self.proxy(selection, "https://x.a.test/") == nil)
        #expect(try Self.proxy(selection, "http://10.1.2.3/") == nil)
    }

    @Test func proxyOfTheRequestHasPrecedence() throws {
        let selection = Self.selection(["http_proxy": "p:1", "no_proxy": "h"])
        var request = try Request("http://h/")
        request.proxy = "socks5://q:2"
        #expect(try selection.proxy(for: request)?.description == "socks5://q:2")
        request.url = try URLRecord(parsing: "http://other/")
        request.proxy = "direct"
        #expect(try selection.proxy(for: request) == nil)
        request.proxy = "ftp://q"
        #expect(throws: LoadError.self) { try selection.proxy(for: request) }
    }

    @Test func invalidVariableFailsOnlyTheLoadsThatUseIt() throws {
        let selection = Self.selection(["http_proxy": "ftp://user:s3cret@p:1", "https_proxy": "q:2", "no_proxy": "safe.test"])
        #expect(try Self.proxy(selection, "https://h/") == "http://q:2")
        #expect(try Self.proxy(selection, "http://safe.test/") == nil)
        let error = #expect(throws: LoadError.self) { try Self.proxy(selection, "http://h/") }
        #expect(error?.code == .proxyNotFound)
        #expect(error?.message == "http_proxy is 'ftp://…@p:1', whose scheme is not a proxy scheme; use http, https, socks5 or socks5h")
    }
}
