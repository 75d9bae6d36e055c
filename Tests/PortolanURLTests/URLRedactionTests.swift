// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanURL

/// The redacted form of a URL, which messages show, contains no user information (rule ERR-05).
@Suite struct URLRedactionTests {
    @Test(arguments: [
        ("http://user:secret@host/a", "http://host/a"),
        ("gzip:http://user:secret@host/a.gz?q#f", "gzip:http://host/a.gz?q#f"),
        ("gzip:gzip:echo://user:secret@host/", "gzip:gzip:echo://host/"),
        ("gzip:HTTP:user:secret@host/", "gzip:HTTP:host/"), ("gzip:http:\\/user:secret@host\\b", "gzip:http:\\/host\\b"),
        ("gzip:http://us@er:sec@ret@host", "gzip:http://host"), ("gzip://user:secret@host/", "gzip://host/"),
        ("http://h/?next=http://user:secret@host/&x=1", "http://h/?next=http://host/&x=1"),
        ("gzip: http:us er:secret@host/", "gzip: http:host/"),
        ("x:y:http:\\\\us\"<er:secret@host", "x:y:http:\\\\host"), ("gzip:x://us\\er:secret@host/", "gzip:x://host/"),
        // None of these texts holds user information.
        ("gzip:http://host/@scope/a.gz?to=me@host", "gzip:http://host/@scope/a.gz?to=me@host"), ("mailto:me@host", "mailto:me@host"),
        ("data:,http://me@host/", "data:,http://me@host/"), ("gzip:data:,me@host", "gzip:data:,me@host"),
        ("gzip:mailto:me@host", "gzip:mailto:me@host"), ("gzip:file:///a@b", "gzip:file:///a@b"), ("gzip:", "gzip:"), ("x:y:", "x:y:"),
    ])
    func userInformationIsRemovedFromOuterAndNestedURLs(text: String, redacted: String) throws {
        let url = try URLRecord(parsing: text)
        #expect(url.description == redacted)
        #expect(url.shortDescription == "'\(redacted)'")
    }

    @Test func noDescriptionShowsAPassword() throws {
        let url = try URLRecord(parsing: "http://user:s3cr3t@host/a")
        var dumped = ""
        dump([url], to: &dumped)
        for text in ["\(url)", String(reflecting: url), "\([url])", "\(Optional(url) as Any)", dumped] {
            #expect(!text.contains("s3cr3t") && text.contains("http://host/a"), "\(text)")
        }
        #expect(url.string == "http://user:s3cr3t@host/a" && url.password == "s3cr3t")
    }
}
