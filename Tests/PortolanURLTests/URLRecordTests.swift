// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanURL
import Testing

@Suite struct URLRecordTests {
    @Test(arguments: canonicalURLs) func canonicalTextIsUnchanged(text: String) throws {
        #expect(try URLRecord(parsing: text).string == text)
    }

    @Test func canonicalTextIsNotCopied() throws {
        let text = "data:," + String(repeating: "0123456789abcdef", count: 64)
        let record = try URLRecord(parsing: text)
        let utf8 = text.utf8
        let original = utf8.span
        let isSame = record.withUTF8(of: .beforeFragment) { $0.isIdentical(to: original) }
        #expect(isSame)
    }

    @Test func componentsAreSlicesOfTheText() throws {
        let url = try URLRecord(parsing: "https://us%20er:p%40w@example.com:8443/a/b?c=d&e#f%20g")
        #expect(url.scheme == "https")
        #expect(url.username == "us%20er")
        #expect(url.password == "p%40w")
        #expect(url.host == "example.com")
        #expect(url.port == 8443)
        #expect(url.path == "/a/b")
        #expect(url.query == "c=d&e")
        #expect(url.fragment == "f%20g")
        #expect(url[.beforeFragment] == "https://us%20er:p%40w@example.com:8443/a/b?c=d&e")
        #expect(url.schemeSpecificPart == "//us%20er:p%40w@example.com:8443/a/b?c=d&e")
        #expect(url.isSpecial && url.hasCredentials && !url.hasOpaquePath)
    }

    @Test(arguments: URLRecord.Component.allCases) func borrowedBytesEqualTheSlice(component: URLRecord.Component) throws {
        for text in canonicalURLs {
            let url = try URLRecord(parsing: text)
            let bytes = url.withUTF8(of: component) { span in span.indices.map { span[$0] } }
            #expect(bytes == Array(url[component].utf8), "\(text)")
        }
    }

    @Test func absentAndEmptyComponentsDiffer() throws {
        let urlWithoutComponents = try URLRecord(parsing: "foo:")
        #expect(
            urlWithoutComponents.host == nil && urlWithoutComponents.query == nil && urlWithoutComponents.fragment == nil
                && urlWithoutComponents.path == "" && urlWithoutComponents.hasOpaquePath)
        let urlWithEmptyComponents = try URLRecord(parsing: "foo://?#")
        #expect(
            urlWithEmptyComponents.host == "" && urlWithEmptyComponents.query == "" && urlWithEmptyComponents.fragment == ""
                && urlWithEmptyComponents.path == "" && !urlWithEmptyComponents.hasOpaquePath)
        let urlWithUser = try URLRecord(parsing: "http://u@h/")
        #expect(urlWithUser.username == "u" && urlWithUser.password == "" && urlWithUser.hasCredentials)
        let urlWithPassword = try URLRecord(parsing: "http://:p@h/")
        #expect(urlWithPassword.username == "" && urlWithPassword.password == "p" && urlWithPassword.hasCredentials)
        #expect(try !URLRecord(parsing: "http://:@h/").hasCredentials)
    }

    @Test(
        arguments: [
            ("http://h/", 80), ("https://h/", 443), ("ws://h/", 80), ("wss://h/", 443), ("ftp://h/", 21), ("http://h:0/", 0),
            ("foo://h:7/", 7),
            ("foo://h/", nil), ("file:///", nil), ("data:,", nil),
        ] as [(String, Int?)])
    func effectivePortUsesTheDefaultOfTheScheme(text: String, port: Int?) throws {
        #expect(try URLRecord(parsing: text).effectivePort == port)
    }

    @Test(arguments: [
        ("http://h/a", "http://u:p@h:80/b", true), ("http://h/", "https://h/", false), ("http://h/", "http://h:81/", false),
        ("http://h/", "http://g/", false), ("http://H/", "http://h/", true), ("foo://h/a", "foo://h/b", true),
        ("data:,x", "data:,x", false),
        ("http://127.1/", "http://127.0.0.1/", true),
    ])
    func originIsSchemeHostAndPort(firstText: String, secondText: String, hasSameOrigin: Bool) throws {
        let (first, second) = (try URLRecord(parsing: firstText), try URLRecord(parsing: secondText))
        #expect(first.hasSameOrigin(as: second) == hasSameOrigin)
        #expect(second.hasSameOrigin(as: first) == hasSameOrigin)
    }

    @Test(arguments: canonicalURLs) func removingFragmentOrCredentialsLeavesAValidURL(text: String) throws {
        let url = try URLRecord(parsing: text)
        for reducedURL in [url.withoutFragment, url.withoutCredentials] {
            let parsed = try URLRecord(parsing: reducedURL.string)
            #expect(parsed == reducedURL)
            for component in URLRecord.Component.allCases { #expect(parsed[component] == reducedURL[component]) }
        }
        #expect(url.withoutFragment.fragment == nil)
        #expect(url.withoutFragment.query == url.query)
        #expect(!url.withoutCredentials.hasCredentials)
        #expect(url.withoutCredentials.host == url.host)
        #expect(url.withoutCredentials.fragment == url.fragment)
    }

    @Test func equalTextsAreEqualRecords() throws {
        #expect(try URLRecord(parsing: "HTTP://h:80") == URLRecord(parsing: "http://h/"))
        #expect(try Set([URLRecord(parsing: "HTTP://h:80"), URLRecord(parsing: "http://h/")]).count == 1)
        #expect(try URLRecord(parsing: "http://h/#") != URLRecord(parsing: "http://h/"))
    }

    @Test func recordConvertsToAndFromAFoundationURL() throws {
        let record = try URLRecord(parsing: "https://u@example.com:8443/a%20b?c#d")
        let url = try #require(URL(record))
        #expect(url.absoluteString == record.string)
        #expect(try URLRecord(url) == record)
    }
}
