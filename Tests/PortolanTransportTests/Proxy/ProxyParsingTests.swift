// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport

@Suite("Parsing of proxies")
struct ProxyParsingTests {
    /// The text of a proxy, the description of the parsed proxy, and its credential.
    struct Row: Sendable {
        let text: String
        let proxy: String
        var user: String?
        var password: String?

        init(_ text: String, _ proxy: String, _ user: String? = nil, _ password: String? = nil) {
            (self.text, self.proxy, self.user, self.password) = (text, proxy, user, password)
        }
    }

    private static let rows = [
        Row("p", "http://p:1080"), Row("p:3128", "http://p:3128"), Row("http://p:80", "http://p:80"), Row("http://p", "http://p:1080"),
        Row("HTTP://P.Example:8/", "http://p.example:8"), Row("http://p:8/path?query#fragment", "http://p:8"), Row("p:", "http://p:1080"),
        Row("127.0.0.1:8", "http://127.0.0.1:8"), Row("[::1]:8", "http://[::1]:8"), Row("socks5://[FD00::1]", "socks5://[fd00::1]:1080"),
        Row("socks5://p", "socks5://p:1080"), Row("socks5h://p:9050", "socks5h://p:9050"), Row("SOCKS5H://p:1", "socks5h://p:1"),
        Row("u:w@p:1", "http://p:1", "u", "w"), Row("http://u:w@p:1", "http://p:1", "u", "w"), Row("http://u@p:1", "http://p:1", "u", ""),
        Row("http://:w@p:1", "http://p:1", "", "w"), Row("http://@p:1", "http://p:1", "", ""),
        Row("http://u:w:x@p:1", "http://p:1", "u", "w:x"), Row("http://u:a@b@p:1", "http://p:1", "u", "a@b"),
        Row("http://u%40d:%2F%25%3a@p:1", "http://p:1", "u@d", "/%:"), Row("socks5://u%3Av:w@p:1", "socks5://p:1", "u:v", "w"),
        Row("https://p", "https://p:443"), Row("HTTPS://u:w@p:8443/", "https://p:8443", "u", "w"),
        Row("p:65535", "http://p:65535"), Row("p:1", "http://p:1"), Row("p:0080", "http://p:80"),
    ]

    @Test(arguments: rows)
    func proxyIsParsedAsByCurl(_ row: Row) throws {
        let proxy = try Proxy(parsing: row.text, from: "x")
        #expect(proxy.description == row.proxy)
        #expect(proxy.credential == row.user.map { PasswordCredential(user: $0, password: row.password ?? "") })
    }

    @Test(arguments: [
        ("", LoadError.Code.proxyNotFound), ("http://", .proxyNotFound), ("://p", .proxyNotFound), ("ftp://p", .proxyNotFound),
        ("p:0", .proxyNotFound), ("p:65536", .proxyNotFound),
        ("p:99999999999999999999", .proxyNotFound), ("p:+1", .proxyNotFound), ("p:1x", .proxyNotFound), ("p:-1", .proxyNotFound),
        ("a b", .proxyNotFound), ("a\r\nb", .proxyNotFound),
        ("p\t", .proxyNotFound), ("[::1", .proxyNotFound), ("[::1]x:1", .proxyNotFound), ("::1", .proxyNotFound), ("p%41", .proxyNotFound),
        ("a<b", .proxyNotFound),
        ("1.2.3.256", .proxyNotFound),
        ("socks4://p", .notOffered), ("socks4a://p", .notOffered), ("socks://p", .notOffered),
        ("http://a%3Ab:s3cret@p", .badURL), ("http://a%0D%0A:s3cret@p", .badURL),
        ("socks5://:s3cret@p", .badURL), ("ftp://u:s3cret@p", .proxyNotFound), ("u:s3cret@p:x", .proxyNotFound),
        ("u:s3cret@", .proxyNotFound),
        ("http://u:s3cret/@p", .proxyNotFound),
    ])
    func invalidProxyErrorNamesItsSourceAndHidesThePassword(_ text: String, _ code: LoadError.Code) {
        let error = #expect(throws: LoadError.self) { try Proxy(parsing: text, from: "http_proxy") }
        #expect(error?.code == code)
        #expect(error?.message.hasPrefix("http_proxy") == true && error?.message.contains("s3cret") == false, "\(error?.message ?? "")")
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
    }

    @Test func longInvalidProxyIsShortenedInTheError() {
        let error = #expect(throws: LoadError.self) {
            try Proxy(parsing: "ftp://" + String(repeating: "x", count: 100_000), from: "http_proxy")
        }
        #expect((error?.message.utf8.count ?? .max) < 250)
    }
}
