// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct URLArgumentTests {
    @Test(arguments: [
        ("example.org", "http://example.org"), ("example.org/x?y", "http://example.org/x?y"),
        ("localhost:8123/x", "http://localhost:8123/x"),
        ("[::1]:80/", "http://[::1]:80/"), ("user@h/", "http://user@h/"), ("h/a:b", "http://h/a:b"), ("h?a:b", "http://h?a:b"),
        ("1.2.3.4:80", "http://1.2.3.4:80"), ("a_b:80", "http://a_b:80"), ("http://h/", "http://h/"), ("data:,x", "data:,x"),
        ("gzip:http://h/", "gzip:http://h/"), ("u:p@h/", "http://u:p@h/"), ("u:1@h:80", "http://u:1@h:80"), ("known:p@h", "known:p@h"),
        ("x:/a@b", "x:/a@b"), ("h:99999", "h:99999"), ("known:80", "known:80"), ("/a", "/a"),
        ("./a", "./a"), ("..", ".."), ("", ""), ("//h/", "//h/"),
    ])
    func hostWithoutASchemeBelongsToHTTP(argument: String, url: String) {
        #expect(URLArgument.addingScheme(to: argument, knownSchemes: ["http", "known"]) == url)
    }

    @Test func withoutKnownSchemesATextBeforeAColonIsAScheme() {
        #expect(URLArgument.addingScheme(to: "data:,a@b", knownSchemes: []) == "data:,a@b")
    }
}
