// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport

@Suite("Lists of no_proxy")
struct ProxyExceptionsTests {
    /// A list, a host as in a URL, and whether the list contains the host. curl 7.88 gives the same results, except for
    /// the last rows.
    private static let rows: [(list: String, host: String, isListed: Bool)] = [
        ("", "h", false), ("*", "h", true), ("*", "[::1]", true),
        ("a,*", "h", false), ("*.test", "a.test", false),
        ("h", "h", true), ("H", "h", true), ("h", "hh", false), ("h.test", "test", false),
        ("example.com", "example.com", true), ("example.com", "www.example.com", true), ("example.com", "notexample.com", false),
        (".example.com", "example.com", true), (".example.com", "www.example.com", true), (".example.com", "notexample.com", false),
        ("example.com.", "example.com", true), ("example.com", "example.com.", true), (".INVALID.", "nosuch.invalid", true),
        ("..example.com", "www.example.com", false), (".", "h", false), (",,", "h", false),
        ("a,b", "b", true), ("a, b ,c", "b", true), ("a\tb", "b", true), ("a b", "b", true), ("a,b", "c", false),
        ("h:80", "h", false), ("127.0.0.1:80", "127.0.0.1", false), ("http://h", "h", false),
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.10", false), ("0.0.1", "127.0.0.1", false),
        ("127.0.0", "127.0.0.1", false),
        ("127.0.0.0/8", "127.255.0.9", true), ("127.0.0.0/8", "128.0.0.1", false), ("10.128.0.0/9", "10.200.0.1", true),
        ("10.128.0.0/9", "10.100.0.1", false), ("192.168.1.7/31", "192.168.1.6", true), ("192.168.1.7/32", "192.168.1.6", false),
        ("192.168.1.7/32", "192.168.1.7", true), ("127.0.0.0/33", "127.0.0.1", false), ("127.0.0.0/-1", "127.0.0.1", false),
        ("127.0.0.0/", "127.0.0.1", false), ("127.0.0.1/", "127.0.0.1", true), ("::1/", "[::1]", true),
        ("127.0.0.0/99999999999999999999", "127.0.0.1", false),
        ("0.0.0.0/0", "[::1]", false), ("0.0.0.0/0", "h", false),
        ("::1", "[::1]", true), ("::2", "[::1]", false),
        ("fd00::/8", "[fe80::1]", false), ("::ffff:127.0.0.1", "127.0.0.1", false), ("1.2.3.4", "h1.2.3.4", false),
        ("2.3.4", "a.2.3.4", true),
        ("münchen", "h", false), ("\u{0}", "h", false),
        // Different from curl.
        (" * ", "1.2.3.4", true), ("127.0.0.0/8x", "127.0.0.1", false), ("0:0::1", "[::1]", true),
        ("0.0.0.0/0", "9.9.9.9", true), ("[::1]", "[::1]", true), ("fd00::/8", "[fd12::1]", true), ("::/0", "[fe80::1]", true),
    ]

    @Test(arguments: rows)
    func listMatchesHosts(_ list: String, _ host: String, _ isListed: Bool) {
        #expect(ProxyExceptions(parsing: list).contains(host[...]) == isListed)
    }

    @Test func everyEntryOfALongListIsUsed() {
        let list = (0..<10_000).map { "h\($0).test" }.joined(separator: ",")
        let exceptions = ProxyExceptions(parsing: list)
        #expect(exceptions.contains("www.h9999.test") && !exceptions.contains("h10000.test"))
    }
}
