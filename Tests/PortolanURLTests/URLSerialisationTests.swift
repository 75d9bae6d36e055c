// SPDX-License-Identifier: Apache-2.0

import PortolanURL
import Testing

@Suite struct URLSerialisationTests {
    @Test(
        arguments: [
            // Trimming, and tabs and newlines
            ("  http://h/\n", "http://h/"), ("\u{1}data:,x \u{1F}", "data:,x"), ("ht\ttp://e\nx/\ra", "http://ex/a"),
            ("data:,a\tb", "data:,ab"),
            // Schemes
            ("HtTp://h", "http://h/"), ("DATA:,X", "data:,X"), ("A+B-1.C:x", "a+b-1.c:x"), ("abcdefghhttp:x", "abcdefghhttp:x"),
            // Slashes of special schemes
            ("http:h", "http://h/"), ("http:/h", "http://h/"), ("http:////h", "http://h/"), ("http:\\\\h\\a\\b?\\", "http://h/a/b?\\"),
            ("https:h?q#f", "https://h/?q#f"), ("foo:\\h", "foo:\\h"), ("foo://h\\a", nil),
            // User information and ports
            ("http://u:p@h:080/", "http://u:p@h/"), ("http://a:b:c@d@h/", "http://a:b%3Ac%40d@h/"), ("http://:@h/", "http://h/"),
            ("http://u:@h/", "http://u@h/"), ("http://;=[]|^'@h/", "http://%3B%3D%5B%5D%7C%5E'@h/"), ("http://h:/", "http://h/"),
            ("foo://h:/", "foo://h/"),
            ("https://h:443/", "https://h/"), ("http://h:443/", "http://h:443/"), ("http://h:00065535/", "http://h:65535/"),
            ("foo://h:80", "foo://h:80"),
            // Paths
            ("http://h/a/./b", "http://h/a/b"), ("http://h/a/../b", "http://h/b"), ("http://h/a/..", "http://h/"),
            ("http://h/a/.", "http://h/a/"),
            ("http://h/../../a", "http://h/a"), ("http://h/%2e/%2E%2e/.%2e/a", "http://h/a"), ("http://h/...", "http://h/..."),
            ("http://h/a/%2e.", "http://h/"),
            ("http://h/a//../b", "http://h/a/b"), ("http://h/ \"<>^`{}|é", "http://h/%20%22%3C%3E%5E%60%7B%7D|%C3%A9"),
            ("http://h/%zz%", "http://h/%zz%"),
            ("http://h/\u{7F}~", "http://h/%7F~"), ("foo://h/a/..", "foo://h/"), ("foo:/a/../b", "foo:/b"), ("foo:/\\..\\", "foo:/\\..\\"),
            // A path with two slashes and no host
            ("foo:/.//a", "foo:/.//a"), ("foo:/a/..//b", "foo:/.//b"), ("foo:/..//", "foo:/.//"), ("foo:/.//../a", "foo:/a"),
            ("foo:///a", "foo:///a"),
            // Opaque paths
            ("data:,a b", "data:,a b"), ("data:,a ?q", "data:,a%20?q"), ("data:,a  #f", "data:,a %20#f"), ("data:,a \t#f", "data:,a%20#f"),
            ("data: ?q", "data:%20?q"), ("data:,<é>\u{0}|", "data:,<%C3%A9>%00|"), ("foo: bar", "foo: bar"),
            // Queries and fragments
            ("http://h?a'b \"#<>`", "http://h/?a%27b%20%22#%3C%3E%60"), ("foo://h?a'b `{}^", "foo://h?a'b%20`{}^"),
            ("http://h/#a#b?c", "http://h/#a#b?c"),
            ("http://h/? #\u{7F}{}^|\\", "http://h/?%20#%7F{}^|\\"),
            // Files
            ("file:a", "file:///a"), ("file:/a", "file:///a"), ("file:\\\\h\\a", "file://h/a"), ("file://LOCALHOST/a", "file:///a"),
            ("file:///C|/a", "file:///C:/a"), ("file:C|/..", "file:///C:/"), ("file://C:/a", "file:///C:/a"),
            ("file://c|?q", "file:///c:?q"),
            ("file:///C:/../..", "file:///C:/"), ("file:///C:x/..", "file:///"), ("file://h/C|/a", "file://h/C:/a"),
            ("file:?q", "file:///?q"),
            ("file:////a", "file:////a"), ("file:///a|/..", "file:///a:/"), ("file:", "file:///"), ("file:C|é/..", "file:///"),
        ] as [(String, String?)])
    func textIsRewritten(text: String, expected: String?) {
        #expect((try? URLRecord(parsing: text))?.string == expected)
    }

    @Test(arguments: [
        ("http://a/b/c/d;p?q#f", "", "http://a/b/c/d;p?q"), ("http://a/b/c/d;p?q", "g", "http://a/b/c/g"),
        ("http://a/b/c/d", "./g/", "http://a/b/c/g/"),
        ("http://a/b/c/d", "/g", "http://a/g"), ("http://a/b/c", "//g", "http://g/"), ("http://a/b/c?q", "?y", "http://a/b/c?y"),
        ("http://a/b?q#f", "#s", "http://a/b?q#s"), ("http://a/b?", "#s", "http://a/b?#s"), ("http://a/b/c/d", "../../../g", "http://a/g"),
        ("http://a/b/c/d", "..", "http://a/b/"), ("http://a/b", "https://x", "https://x/"), ("http://a/b/c", "http:d", "http://a/b/d"),
        ("http://a/b", "https:d", "https://d/"), ("http://a/b", "http://d", "http://d/"), ("http://u:p@a:81/b", "c", "http://u:p@a:81/c"),
        ("http://u:p@a:81/b", "//c/", "http://c/"), ("http://u:p@a:81/b", "\\c", "http://u:p@a:81/c"),
        ("http://a/b", "\\\\c\\d", "http://c/d"),
        ("http://a:81/b", "///c", "http://c/"), ("http://a/b", ":x", "http://a/:x"), ("http://a/b", "1:x", "http://a/1:x"),
        ("http://a/b/c", "\t../d\n", "http://a/d"),
        ("foo://h:9/a/b?q", "c", "foo://h:9/a/c"), ("foo://h", "c", "foo://h/c"), ("foo://h/a", "//g:8", "foo://g:8"),
        ("foo://h/a", "\\c", "foo://h/\\c"),
        ("foo:/a/b", "c", "foo:/a/c"), ("foo:/a/b", "/c", "foo:/c"), ("foo:/.//a/b", "c", "foo:/.//a/c"), ("foo:/.//a/b", "/c", "foo:/c"),
        ("foo:/.//a", "../c", "foo:/c"), ("foo:/.//a?q", "#f", "foo:/.//a?q#f"), ("foo:/.//a", "?r", "foo:/.//a?r"),
        ("foo:/a", "..//b", "foo:/.//b"),
        ("data:,x?q#f", "#g", "data:,x?q#g"), ("data:,x", "http://h", "http://h/"),
        ("file:///a/b?q", "c", "file:///a/c"), ("file:///a/b?q", "", "file:///a/b?q"), ("file:///a/b?q", "?r", "file:///a/b?r"),
        ("file:///C:/a", "..", "file:///C:/"), ("file:///C:/a", "/b", "file:///C:/b"), ("file:///C:/a", "/D:/b", "file:///D:/b"),
        ("file:///C:/a", "D|b", "file:///C:/D|b"), ("file:///C:/a", "D|/b", "file:///D:/b"), ("file://h/a", "/b", "file://h/b"),
        ("file://h/a", "//g/b", "file://g/b"),
        ("file://h/C:/a", "D|", "file://h/D:"), ("file:///C:a/b", "/x", "file:///x"), ("http://h/", "file:x", "file:///x"),
        ("file:///a/b", "file:c", "file:///a/c"),
    ])
    func referenceIsResolved(base: String, reference: String, expected: String) throws {
        #expect(try URLRecord(parsing: reference, relativeTo: URLRecord(parsing: base)).string == expected)
    }
}
