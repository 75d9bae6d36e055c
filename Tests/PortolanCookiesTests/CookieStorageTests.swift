// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCookies

/// A cookie storage with a clock of its own. It stores cookies of `Set-Cookie` fields, and returns the `Cookie` field
/// of a request.
struct CookieJar {
    let storage: CookieStorage
    var now = Date(timeIntervalSince1970: 1_800_000_000)

    init(limits: CookieStorage.Limits = .init()) { storage = CookieStorage(limits: limits) }

    /// The context of a request. `document` is the URL of the page that causes the request.
    func context(_ url: String, document: String? = nil, isHTTPAPI: Bool = true) throws -> CookieContext {
        var context = try #require(
            CookieContext(try URLRecord(parsing: url), document: try document.map { try URLRecord(parsing: $0) }, now: now))
        context.isHTTPAPI = isHTTPAPI
        return context
    }

    /// Stores the cookie of a `Set-Cookie` field in a response from `url`.
    ///
    /// - Returns: why the cookie was not stored; `nil` if it was stored.
    @discardableResult
    func set(_ field: String, _ url: String, document: String? = nil, isHTTPAPI: Bool = true) throws -> CookieRejection? {
        let context = try context(url, document: document, isHTTPAPI: isHTTPAPI)
        do throws(CookieRejection) {
            try storage.receive(Array(field.utf8).span, in: context)
            return nil
        } catch {
            return error
        }
    }

    /// The `Cookie` field of a request; `nil` if no cookie is sent.
    func header(_ url: String, document: String? = nil, isHTTPAPI: Bool = true) throws -> String? {
        storage.header(for: try context(url, document: document, isHTTPAPI: isHTTPAPI)).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The rules of RFC 6265bis. The section numbers are the ones of this RFC.
@Suite struct CookieStorageTests {
    /// `Set-Cookie` fields of responses from `url`, and the `Cookie` field of a request to `target`, or to `url` if
    /// `target` is `nil`.
    struct Row: Sendable, CustomTestStringConvertible {
        let section: String
        let fields: [String]
        var url = "https://www.example.com/a/b"
        var target: String?
        let header: String?
        var testDescription: String { "§\(section) \(fields)" }

        init(_ section: String, _ fields: String..., url: String? = nil, at target: String? = nil, sends header: String?) {
            (self.section, self.fields, self.target, self.header) = (section, fields, target, header)
            if let url { self.url = url }
        }
    }

    /// With a name of one byte and one more byte, the cookie has the maximum size.
    static let longValue = String(repeating: "x", count: 4094)

    static let rows: [Row] = [
        // Names and values
        .init("5.6", "a=b", sends: "a=b"), .init("5.6", "a=b; Secure", sends: "a=b"), .init("5.6", " a \t=\t b c ", sends: "a=b c"),
        .init("5.6", "a=", sends: "a="),
        .init("5.6", "=b", sends: "b"), .init("5.6", "b", sends: "b"), .init("5.6", "=a=b", sends: "a=b"),
        .init("5.6", "a==b", sends: "a==b"), .init("5.6", "", sends: nil),
        .init("5.6", "=", sends: nil), .init("5.6", "  ;Path=/", sends: nil), .init("5.6", "a=\"b;c\"", sends: "a=\"b"),
        .init("5.6", "a=b,c=d", sends: "a=b,c=d"),
        .init("5.6", "a=b\u{1}", sends: nil), .init("5.6", "a=b\tc", sends: "a=b\tc"), .init("5.6", "a=b; x=\u{7F}", sends: nil),
        .init("5.6", "a\u{0}=b", sends: nil),
        .init("5.6", "é=ü", sends: "é=ü"), .init("5.6", "a=b", "a=c", sends: "a=c"), .init("5.6", "a=b", "A=c", sends: "a=b; A=c"),
        .init("5.7", "a=\(longValue)x", sends: "a=\(longValue)x"), .init("5.7", "ab=\(longValue)x", sends: nil),
        .init("5.7", "=\(longValue)xx", sends: "\(longValue)xx"),
        .init("5.6", "a=b; Path=/\(String(repeating: "y", count: 1023))", sends: nil),
        .init("5.6", "a=b; Path=/\(String(repeating: "y", count: 1024))", sends: "a=b"),
        // Expires and Max-Age
        .init("5.6.1", "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", sends: nil), .init("5.6.1", "a=b; Expires=never", sends: "a=b"),
        .init("5.6.1", "a=b; Expires=Sun, 06 Nov 2050 08:49:37 GMT", sends: "a=b"),
        .init("5.6.1", "a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Expires=Sun, 06 Nov 2050 08:49:37 GMT", sends: "a=b"),
        .init("5.6.2", "a=b; Max-Age=0", sends: nil), .init("5.6.2", "a=b; Max-Age=-1", sends: nil),
        .init("5.6.2", "a=b; Max-Age=1", sends: "a=b"),
        .init("5.6.2", "a=b; Max-Age=", sends: "a=b"), .init("5.6.2", "a=b; Max-Age=-", sends: "a=b"),
        .init("5.6.2", "a=b; Max-Age=1x", sends: "a=b"),
        .init("5.6.2", "a=b; Max-Age=+1", sends: "a=b"), .init("5.6.2", "a=b; Max-Age=0; Max-Age=x", sends: nil),
        .init("5.6.2", "a=b; Max-Age=99999999999999999999999999", sends: "a=b"),
        .init("5.6.2", "a=b; Max-Age=-99999999999999999999999999", sends: nil),
        .init("5.7", "a=b; Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", sends: "a=b"),
        .init("5.7", "a=b; Expires=Sun, 06 Nov 2050 08:49:37 GMT; Max-Age=0", sends: nil), .init("5.7", "a=b", "a=; Max-Age=0", sends: nil),
        // Domain
        .init("5.6.3", "a=b; Domain=example.com", at: "https://example.com/a/", sends: "a=b"),
        .init("5.6.3", "a=b; Domain=.example.com", at: "https://x.example.com/a/", sends: "a=b"),
        .init("5.6.3", "a=b; Domain=..example.com", sends: nil),
        .init("5.6.3", "a=b; Domain=EXAMPLE.com", at: "https://example.com/a/", sends: "a=b"),
        .init("5.6.3", "a=b; Domain=", sends: "a=b"), .init("5.6.3", "a=b; Domain=", at: "https://x.www.example.com/a/", sends: nil),
        .init("5.6.3", "a=b; Domain=other.org; Domain=", sends: "a=b"), .init("5.6.3", "a=b; Domain=other.org", sends: nil),
        .init("5.6.3", "a=b; Domain=x.www.example.com", sends: nil), .init("5.6.3", "a=b; Domain=ww.example.com", sends: nil),
        .init("5.6.3", "a=b; Domain=example.com.", sends: nil), .init("5.7", "a=b; Domain=com", sends: nil),
        .init("5.7", "a=b; Domain=.com", sends: nil),
        .init("5.7", "a=b; Domain=com.", url: "https://example.com./", sends: nil), .init("5.7", "a=b; Domain=CoM", sends: nil),
        .init("5.7", "a=b; Domain=bücher.example.com", sends: nil),
        .init("5.7", "a=b; Domain=xn--bcher-kva.example", url: "https://bücher.example/", at: "https://x.bücher.example/", sends: "a=b"),
        .init("5.7", "a=b; Domain=github.io", url: "https://github.io/", sends: "a=b"),
        .init("5.7", "a=b; Domain=github.io", url: "https://github.io/", at: "https://x.github.io/", sends: nil),
        .init("5.7", "a=b; Domain=github.io", url: "https://x.github.io/", sends: nil),
        .init("5.1.3", "a=b", at: "https://x.www.example.com/a/", sends: nil), .init("5.1.3", "a=b; Domain=www.example.com", sends: "a=b"),
        .init("5.1.3", "a=b; Domain=example.com", at: "https://notexample.com/a/", sends: nil),
        .init("5.1.3", "a=b; Domain=127.0.0.1", url: "https://127.0.0.1/", sends: "a=b"),
        .init("5.1.3", "a=b; Domain=0.0.1", url: "https://127.0.0.1/", sends: nil),
        .init("5.1.3", "a=b; Domain=.1", url: "https://127.0.0.1/", sends: nil),
        .init("5.1.3", "a=b; Domain=[::1]", url: "https://[::1]/", sends: "a=b"),
        .init("5.1.3", "a=b", url: "https://[::1]/", sends: "a=b"),
        .init("5.1.3", "a=b", url: "https://www.example.com:8443/", at: "https://www.example.com/", sends: "a=b"),
        // Path
        .init("5.1.4", "a=b", at: "https://www.example.com/a", sends: "a=b"),
        .init("5.1.4", "a=b", at: "https://www.example.com/ab", sends: nil),
        .init("5.1.4", "a=b", at: "https://www.example.com/a/c/d?x", sends: "a=b"),
        .init("5.1.4", "a=b", at: "https://www.example.com/A/", sends: nil),
        .init("5.6.4", "a=b; Path=/", at: "https://www.example.com/", sends: "a=b"), .init("5.6.4", "a=b; Path=/x", sends: nil),
        .init("5.6.4", "a=b; Path=/x/", at: "https://www.example.com/x", sends: nil),
        .init("5.6.4", "a=b; Path=/x/", at: "https://www.example.com/x/y", sends: "a=b"), .init("5.6.4", "a=b; Path=x", sends: "a=b"),
        .init("5.6.4", "a=b; Path=/x; Path=", sends: "a=b"), .init("5.6.4", "a=b; Path=/%61", sends: nil),
        // Secure
        .init("5.6.5", "a=b; secure", at: "http://www.example.com/a/", sends: nil),
        .init("5.6.5", "a=b", at: "http://www.example.com/a/", sends: "a=b"),
        .init("5.7", "a=b; Secure", url: "http://www.example.com/", sends: nil),
        .init("5.7", "a=b; Secure", url: "http://localhost/", sends: "a=b"),
        .init("5.7", "a=b; Secure", url: "http://127.9.9.9/", sends: "a=b"),
        .init("5.7", "a=b; SameSite=None", sends: nil), .init("5.7", "a=b; Secure; SameSite=none", sends: "a=b"),
        .init("5.7", "a=b; SameSite=None; SameSite=Lax", sends: "a=b"),
        // Prefixes
        .init("5.7", "__Secure-a=b", sends: nil), .init("5.7", "__secure-a=b; Secure", sends: "__secure-a=b"),
        .init("5.7", "__SECURE-a=b", sends: nil),
        .init("5.7", "__Host-a=b; Secure; Path=/", sends: "__Host-a=b"), .init("5.7", "__Host-a=b; Secure", sends: nil),
        .init("5.7", "__Host-a=b; Path=/", sends: nil), .init("5.7", "__Host-a=b; Secure; Path=/a", sends: nil),
        .init("5.7", "__Host-a=b; Secure; Path=/; Domain=www.example.com", sends: nil), .init("5.7", "__hOsT-a=b; Secure", sends: nil),
        .init("5.7", "=__Secure-a=b; Secure", sends: nil), .init("5.7", "__Host-a; Secure; Path=/", sends: nil),
        .init("5.7", "__Hos-a=b", sends: "__Hos-a=b"),
        // Order
        .init("5.8.3", "a=1; Path=/", "b=2; Path=/a", "c=3; Path=/", "d=4; Path=/a/b", sends: "d=4; b=2; a=1; c=3"),
        .init("5.8.3", "a=1", "b=2", "a=3", sends: "a=3; b=2"), .init("5.8.3", "x", "a=1", sends: "x; a=1"),
        .init("5.8.3", "a=1; Domain=example.com", "a=2", sends: "a=1; a=2"),
    ]

    @Test(arguments: rows) func requestSendsTheCookiesOfItsRow(row: Row) throws {
        let jar = CookieJar()
        for field in row.fields { try jar.set(field, row.url) }
        #expect(try jar.header(row.target ?? row.url) == row.header)
    }

    @Test func cookiesExpireAtTheirTimeAndAfter400Days() throws {
        var jar = CookieJar()
        try jar.set("a=b; Max-Age=10", "https://example.com/")
        try jar.set("c=d; Max-Age=99999999999", "https://example.com/")
        try jar.set("e=f; Expires=Sun, 06 Nov 2050 08:49:37 GMT", "https://example.com/")
        jar.now += 9.5
        #expect(try jar.header("https://example.com/") == "a=b; c=d; e=f")
        jar.now += 0.5
        #expect(try jar.header("https://example.com/") == "c=d; e=f")
        jar.now += 400 * 86400 - 11
        #expect(try jar.header("https://example.com/") == "c=d; e=f")
        jar.now += 1
        #expect(try jar.header("https://example.com/") == nil)
    }

    /// §5.7, "leave secure cookies alone"
    @Test func responseWithoutTLSDoesNotReplaceASecureCookie() throws {
        for (path, isStored) in [("/login", false), ("/login/en", false), ("/", true), ("/foo", true), ("/loginx", true)] {
            for (domain, url) in [
                ("", "http://www.example.com/"), ("; Domain=example.com", "http://www.example.com/"), ("", "http://example.com/"),
            ] {
                let jar = CookieJar()
                try jar.set("a=1; Secure; Path=/login; Domain=example.com", "https://www.example.com/")
                let rejection = try jar.set("a=2; Path=\(path)\(domain)", url)
                #expect(rejection == (isStored ? nil : .overSecureCookie), "\(path) \(domain) \(url)")
                #expect(try jar.set("b=2; Path=\(path)\(domain)", url) == nil)
                #expect(try jar.set("a=3; Path=\(path)\(domain)", url.replacing("http:", with: "https:")) == nil)
            }
        }
    }

    /// §5.7, "leave secure cookies alone"
    @Test("A response without TLS does not replace a secure cookie of a host above or below, even across a public suffix")
    func secureCookieBeyondAPublicSuffix() throws {
        for (secureURL, insecureURL) in [
            ("https://github.io/", "http://x.github.io/"), ("https://x.github.io/", "http://github.io/"),
            ("https://x.y.github.io/", "http://github.io/"),
        ] {
            let jar = CookieJar()
            try jar.set("a=1; Secure", secureURL)
            #expect(try jar.set("a=2", insecureURL) == .overSecureCookie, "\(secureURL) \(insecureURL)")
            #expect(try jar.set("b=2", insecureURL) == nil)
        }
        let jar = CookieJar()
        try jar.set("a=1; Secure", "https://x.github.io/")
        #expect(try jar.set("a=2", "http://y.github.io/") == nil)
    }

    /// §5.6.6 and §5.7
    @Test func otherAPIsNeitherReadNorSetHTTPOnlyCookies() throws {
        let jar = CookieJar()
        let url = "https://example.com/"
        try jar.set("a=1; HttpOnly", url)
        #expect(try jar.header(url, isHTTPAPI: false) == nil)
        #expect(try jar.set("b=1; httponly", url, isHTTPAPI: false) == .httpOnly)
        #expect(try jar.set("a=2", url, isHTTPAPI: false) == .httpOnly)
        #expect(try jar.set("c=3", url, isHTTPAPI: false) == nil)
        #expect(try jar.header(url) == "a=1; c=3")
    }

    /// §5.2, §5.6.7
    @Test(arguments: [
        "https://other.example/", "http://www.example.com/", "https://example.org/", "data:,x", "file:///x", "https://www.example.com./",
    ])
    func crossSiteLoadsUseOnlyCookiesForAllSites(document: String) throws {
        let url = "https://www.example.com/"
        let jar = CookieJar()
        for name in ["None", "Lax", "Strict", "x", ""] { try jar.set("\(name.lowercased())s=1; SameSite=\(name); Secure", url) }
        #expect(try jar.header(url, document: document) == "nones=1")
        #expect(try jar.header(url, document: "https://example.com/x") == "nones=1; laxs=1; stricts=1; xs=1; s=1")
        #expect(try jar.set("new=1", url, document: document) == .crossSite)
        #expect(try jar.set("new=1; SameSite=None; Secure", url, document: document) == nil)
    }

    /// A document such as `data:` has no site.
    @Test func documentWithoutASiteHasNoPartition() throws {
        let jar = CookieJar()
        let url = "https://example.com/"
        try jar.set("a=1; Secure; SameSite=None; Partitioned", url)
        #expect(try jar.set("b=1; Secure; SameSite=None; Partitioned", url, document: "data:,x") == .crossSite)
        #expect(try jar.header(url, document: "data:,x") == nil && jar.header(url) == "a=1")
    }

    /// §5.7: a new cookie neither inherits the creation time of an expired cookie nor is refused because of it.
    @Test func expiredCookieDoesNotAffectANewCookie() throws {
        var jar = CookieJar()
        let url = "https://example.com/"
        try jar.set("a=1; HttpOnly; Max-Age=10", url)
        try jar.set("b=1", url)
        jar.now += 100
        #expect(try jar.set("a=2", url, isHTTPAPI: false) == nil)
        #expect(try jar.header(url) == "b=1; a=2")
    }

    /// §5.7: paths are octets. The sign for kelvin, U+212A, is canonically equivalent to `K`.
    @Test func pathWithOtherOctetsIsAnotherPath() throws {
        for (first, second) in [("/\u{E9}", "/e\u{301}"), ("/K", "/\u{212A}")] {
            let jar = CookieJar()
            try jar.set("a=1; Path=\(first)", "https://example.com/")
            try jar.set("a=2; Path=\(second)", "https://example.com/")
            #expect(jar.storage.cookies.map(\.value) == ["1", "2"])
            try jar.set("a=; Max-Age=0; Path=\(second)", "https://example.com/")
            #expect(jar.storage.cookies.map { Array($0.path.utf8) } == [Array(first.utf8)])
        }
        let jar = CookieJar()
        try jar.set("a=1; Path=/K", "https://example.com/")
        try jar.set("a=; Max-Age=0; Path=/\u{212A}", "https://example.com/")
        #expect(try jar.header("https://example.com/K") == "a=1")
        let identities = ["/K", "/\u{212A}"].map { Cookie(name: "a", value: "", domain: "h", path: $0).identity }
        #expect(identities.first != identities.last && Set(identities).count == 2)
    }

    /// Partitioned cookies are the ones of CHIPS ("Cookies Having Independent Partitioned State").
    @Test func partitionedCookiesAreSentOnlyForTheirTopLevelSite() throws {
        let jar = CookieJar()
        let url = "https://widget.example.net/"
        #expect(try jar.set("a=1; Partitioned", url) == .partitionedNotSecure)
        try jar.set("a=1; Secure; SameSite=None; Partitioned", url, document: "https://one.example/")
        try jar.set("a=2; Secure; SameSite=None; Partitioned", url, document: "https://www.two.example/")
        try jar.set("a=3; Secure; SameSite=None", url)
        #expect(try jar.header(url, document: "https://x.one.example/") == "a=1; a=3")
        #expect(try jar.header(url, document: "https://two.example/") == "a=2; a=3")
        #expect(try jar.header(url, document: "http://one.example/") == "a=3")
        #expect(try jar.header(url) == "a=3")
        try jar.set("b=1; Secure; Partitioned", url)
        #expect(try jar.header(url) == "a=3; b=1")
    }

    @Test func acceptPolicyDecidesWhichCookiesAreStored() throws {
        let jar = CookieJar()
        jar.storage.acceptPolicy = .never
        #expect(try jar.set("a=1", "https://example.com/") == .policy)
        jar.storage.acceptPolicy = .onlyFromMainDocumentSite
        #expect(try jar.set("a=1; SameSite=None; Secure", "https://example.com/", document: "https://other.example/") == .policy)
        #expect(try jar.set("a=1", "https://example.com/", document: "https://www.example.com/") == nil)
        #expect(try jar.set("b=1", "https://example.com/") == nil)
    }

    /// §5.7, "remove excess cookies"
    @Test func floodOfOneHostEvictsItsOwnInsecureCookiesFirst() throws {
        var jar = CookieJar()
        try jar.set("keep=1; Secure", "https://example.com/")
        try jar.set("other=1", "https://example.org/")
        for number in 0..<10_000 {
            jar.now += 0.001
            try jar.set("n\(number)=1", "https://example.com/")
        }
        let names = jar.storage.cookies.map(\.name)
        #expect(names.count == 181 && names.first == "keep" && names.last == "n9999" && names.contains("other"))
        #expect(names.contains("n9821") && !names.contains("n9820"))
    }

    @Test func leastRecentlyUsedCookieIsEvictedFirst() throws {
        var limits = CookieStorage.Limits()
        limits.perDomain = 3
        var jar = CookieJar(limits: limits)
        for name in ["a", "b", "c"] {
            jar.now += 1
            try jar.set("\(name)=1; Path=/\(name)", "https://example.com/")
        }
        jar.now += 1
        #expect(try jar.header("https://example.com/a") == "a=1")
        jar.now += 1
        try jar.set("d=1", "https://example.com/")
        #expect(jar.storage.cookies.map(\.name) == ["a", "c", "d"])
    }

    @Test func totalLimitEvictsTheLeastRecentlyUsedCookies() throws {
        var limits = CookieStorage.Limits()
        limits.total = 100
        var jar = CookieJar(limits: limits)
        for number in 0..<1000 {
            jar.now += 1
            try jar.set("a=\(number)", "https://h\(number).example/")
        }
        let cookies = jar.storage.cookies
        #expect(cookies.count <= 100 && cookies.count >= 95 && cookies.last?.value == "999")
        #expect(cookies.first.flatMap { Int($0.value) } == 1000 - cookies.count)
    }

    /// The owner of a domain can create any number of hosts below it.
    @Test func floodOfHostsStaysWithinItsSite() throws {
        var limits = CookieStorage.Limits()
        limits.perSite = 50
        var jar = CookieJar(limits: limits)
        try jar.set("other=1", "https://example.org/")
        for number in 0..<500 {
            jar.now += 1
            try jar.set("a=\(number)", "https://h\(number).example.com/")
        }
        let cookies = jar.storage.cookies
        #expect(cookies.count == 51 && cookies.first?.name == "other" && cookies.last?.value == "499")
        #expect(try jar.header("https://h499.example.com/") == "a=499" && jar.header("https://h1.example.com/") == nil)
    }

    @Test func changesAreObserved() throws {
        var jar = CookieJar()
        let log = Mutex<[String]>([])
        let observation = jar.storage.observe { changes in
            log.withLock { log in
                for change in changes {
                    switch change {
                    case .added(let cookie): log.append("+\(cookie.name)=\(cookie.value)")
                    case .replaced(let old, let new): log.append("\(old.value)>\(new.value)")
                    case .removed(let cookie): log.append("-\(cookie.name)")
                    }
                }
            }
        }
        try jar.set("a=1", "https://example.com/")
        try jar.set("a=2", "https://example.com/")
        try jar.set("a=; Max-Age=0", "https://example.com/")
        try jar.set("b=; Max-Age=0", "https://example.com/")
        try jar.storage.set(Cookie(name: "c", value: "3", domain: "example.com"))
        jar.storage.endSession()
        jar.now += 1
        for field in ["d=4; Max-Age=1", "d=5; Max-Age=1", "d=; Max-Age=0"] {
            try jar.set(field, "https://example.com/")
            jar.now += 2
        }
        #expect(log.withLock { $0 } == ["+a=1", "1>2", "-a", "+c=3", "-c", "+d=4", "-d", "+d=5", "-d"])
        withExtendedLifetime(observation) {}
        let endedObservation = jar.storage.observe { _ in Issue.record("an observation that has ended was notified") }
        _ = consume endedObservation
    }

    @Test func leadingDotOfADomainMeansAllItsHosts() throws {
        let jar = CookieJar()
        try jar.storage.set(Cookie(name: "a", value: "1", domain: ".example.com"))
        try jar.storage.set(Cookie(name: "b", value: "2", domain: "example.com"))
        #expect(try jar.header("https://example.com/") == "a=1; b=2")
        #expect(try jar.header("https://www.example.com/") == "a=1")
        // ".co.uk" is a public suffix, and ".." no domain.
        for domain in [".co.uk", "..example.com", "."] {
            #expect(throws: (any Error).self) { try jar.storage.set(Cookie(name: "c", value: "3", domain: domain)) }
        }
    }

    @Test func cookiesOfAProgramAreChecked() throws {
        let storage = CookieStorage()
        for (cookie, isValid) in [
            (Cookie(name: "a", value: "b", domain: "example.com"), true), (Cookie(name: "", value: "b", domain: "example.com"), true),
            (Cookie(name: "", value: "", domain: "example.com"), false), (Cookie(name: "a=", value: "b", domain: "example.com"), false),
            (Cookie(name: "a", value: "b;c", domain: "example.com"), false),
            (Cookie(name: "a", value: "b\r\nX: y", domain: "example.com"), false),
            (Cookie(name: "a", value: "b", domain: "Example.com"), false), (Cookie(name: "a", value: "b", domain: ""), false),
            (Cookie(name: "a", value: "b", domain: "a/b"), false), (Cookie(name: "a", value: "b", domain: "[::1]"), true),
            (Cookie(name: "a", value: "b", domain: "example.com", path: "x"), false),
            (Cookie(name: "a", value: String(repeating: "x", count: 4096), domain: "example.com"), false),
            (Cookie(name: "__Secure-a", value: "b", domain: "example.com"), false),
            (Cookie(name: "__Host-a", value: "b", domain: "example.com"), false),
            (Cookie(name: "", value: "__Host-a", domain: "example.com"), false),
        ] {
            do {
                try storage.set(cookie)
                #expect(isValid, "\(cookie)")
            } catch {
                #expect(!isValid && "\(error)".contains("can't be stored"), "\(error)")
            }
        }
    }

    @Test func descriptionHasNoValue() {
        #expect("\(Cookie(name: "a", value: "secret", domain: "example.com"))" == "cookie 'a' of example.com/")
    }
}
