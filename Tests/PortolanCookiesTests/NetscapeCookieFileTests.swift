// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import PortolanCookies

/// Cookie files in the Netscape format, which curl uses.
@Suite struct NetscapeCookieFileTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test func linesBecomeCookies() throws {
        let text = """
            # Netscape HTTP Cookie File
            .example.com\tTRUE\t/\tFALSE\t1900000000\ta\tb c

            #HttpOnly_www.example.com\tFALSE\t/x\tTRUE\t0\ts\t\u{20}
            example.org\tFALSE\t/\tFALSE\t0\tempty\r
            """
        let (cookies, problems) = NetscapeCookieFile.parse(Array(text.utf8), now: now)
        #expect(problems.isEmpty && cookies.map(\.name) == ["empty", "s", "a"])
        #expect(cookies[2].domain == "example.com" && !cookies[2].isHostOnly && cookies[2].value == "b c")
        #expect(cookies[2].expiry == Date(timeIntervalSince1970: 1_900_000_000) && !cookies[2].isHTTPOnly)
        #expect(
            cookies[1].isHostOnly && cookies[1].isSecure && cookies[1].isHTTPOnly && cookies[1].expiry == nil && cookies[1].path == "/x")
        #expect(cookies[0].value.isEmpty)
    }

    @Test(arguments: [
        ("a\tb", "line 1 has 2 fields"), ("x.org\tTRUE\t/\tFALSE\t0\ta\tb\tc", "has 8 fields"),
        ("x.org\tTRUE\t/\tFALSE\t0\ta\tb\t", "has 8 fields"), ("x.org\tYES\t/\tFALSE\t0\ta\tb", "TRUE or FALSE"),
        ("x.org\tTRUE\t/\tFALSE\tsoon\ta\tb", "a number"),
        ("x.org\tTRUE\t/\tFALSE\tinf\ta\tb", "a number"), ("\tTRUE\t/\tFALSE\t0\ta\tb", "is not a host"),
        ("x.org\tTRUE\t/\tFALSE\t0\ta\tb;c", "semicolon"),
    ])
    func malformedLinesAreReported(line: String, problem: String) {
        let (cookies, problems) = NetscapeCookieFile.parse(Array((line + "\nx.org\tFALSE\t/\tFALSE\t0\tgood\t1\n").utf8), now: now)
        #expect(cookies.map(\.name) == ["good"] && problems.count == 1 && "\(problems)".contains(problem), "\(problems)")
    }

    @Test func cookieOfAPublicSuffixBecomesHostOnly() {
        let line = Array(".localhost\tTRUE\t/\tFALSE\t0\ta\tb\n".utf8)
        #expect(NetscapeCookieFile.parse(line, now: now).cookies.map(\.isHostOnly) == [true])
    }

    @Test(arguments: [("/", "/"), ("/a", "/a"), ("\"/a\"", "/a"), ("x", "/"), ("", "/")])
    func pathIsReadAsByCurl(path: String, expected: String) {
        let line = Array("x.org\tFALSE\t\(path)\tFALSE\t0\ta\tb\n".utf8)
        #expect(NetscapeCookieFile.parse(line, now: now).cookies.map(\.path) == [expected])
    }

    @Test func lastLineOfACookieCounts() {
        let line = "x.org\tFALSE\t/\tFALSE\t0\ta\t"
        let (cookies, problems) = NetscapeCookieFile.parse(Array("\(line)1\n\(line)2\n".utf8), now: now)
        #expect(cookies.map(\.value) == ["2"] && problems.isEmpty)
    }

    @Test func addressHasNoSubdomains() throws {
        let jar = CookieJar()
        try jar.set("a=1; Domain=127.0.0.1", "http://127.0.0.1/")
        #expect(String(decoding: NetscapeCookieFile.bytes(of: jar.storage.cookies), as: UTF8.self).contains("\n127.0.0.1\tFALSE\t"))
    }

    @Test func setCookieFieldsAreFound() {
        let bytes = Array("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nset-cookie:c=d\nSet-Cookie2: x\n Set-Cookie: y\nSet-Cookie:\n".utf8)
        #expect(NetscapeCookieFile.setCookieValues(in: bytes).map { String(decoding: $0, as: UTF8.self) } == ["a=b", "c=d"])
    }

    /// A number that is too large for a date must not end the program.
    @Test(arguments: ["9223372036854775807", "1e300", "-1e300", "253402300800"]) func expiryIsLimitedToTheYear9999(expiry: String) throws {
        let line = Array("x.org\tFALSE\t/\tFALSE\t\(expiry)\ta\tb\n".utf8)
        let (cookies, problems) = NetscapeCookieFile.parse(line, now: now)
        #expect(problems.isEmpty && cookies.count == 1)
        let text = String(decoding: NetscapeCookieFile.bytes(of: cookies), as: UTF8.self)
        #expect(text.contains(expiry.hasPrefix("-") ? "\t0\ta\tb" : "\t253402300799\ta\tb"))
        var cookieWithoutEnd = Cookie(name: "a", value: "b", domain: "x.org")
        cookieWithoutEnd.expiry = Date(timeIntervalSince1970: .infinity)
        #expect(String(decoding: NetscapeCookieFile.bytes(of: [cookieWithoutEnd]), as: UTF8.self).contains("\t253402300799\t"))
    }

    @Test func writtenCookiesAreParsedAgain() throws {
        let jar = CookieJar()
        try jar.set("a=1; Domain=example.com; Max-Age=1000", "https://www.example.com/x/y")
        try jar.set("b=2; Secure; HttpOnly; Path=/z", "https://www.example.com/")
        try jar.set("c=é", "https://127.0.0.1/")
        try jar.set("p=1; Secure; Partitioned", "https://www.example.com/")
        try jar.set("nameless", "https://www.example.com/")
        let storedCookies = jar.storage.cookies
        let (parsedCookies, problems) = NetscapeCookieFile.parse(NetscapeCookieFile.bytes(of: storedCookies), now: now)
        #expect(problems.isEmpty && parsedCookies.map(\.identity) == storedCookies.prefix(3).map(\.identity))
        for (parsed, stored) in zip(parsedCookies, storedCookies) {
            #expect(parsed.valueBytes == stored.valueBytes && parsed.isSecure == stored.isSecure)
            #expect(parsed.isHTTPOnly == stored.isHTTPOnly && parsed.expiry == stored.expiry)
        }
    }
}
