// SPDX-License-Identifier: Apache-2.0

/// URLs that parsing does not change. There is at least one for each form that the serialiser can write.
let canonicalURLs = [
    "data:,x", "data:text/plain;charset=utf-8;base64,UG9ydG9sYW4=", "data:,a b%20?q#f", "data:", "mailto:a@example.org", "about:blank",
    "http://example.com/", "https://example.com:8443/a/b;c=d/e.html?x=1&y=%20#frag", "http://u:p@example.com/?#", "http://:p@h/",
    "ws://h/%41", "wss://h/a//b/", "ftp://u@h:2121/x", "http://127.0.0.1:8080/", "http://[2001:db8::1]/", "http://[::]/",
    "http://[1:2:3:4:5:6:7:8]/",
    "file:///usr/share/doc", "file:///C:/Users", "file://server/share", "gzip:gzip:file:///x", "zip://h/a", "zip://u:p@h:9?q", "foo://",
    "foo:///a",
    "foo:/a/b", "foo:/.//a", "foo://%C3%A9/%C3%A9?%C3%A9#%C3%A9", "a+b-1.c:/x", "javascript:alert(1)",
    "http://xn--bcher-kva.example/", "file://xn--4dbc.a/x", "https://xn--/", "http://a.b.c.xn--pokxncvks/",
]

/// Texts that parsing rewrites or refuses. Some tests truncate and mutate them.
let nonCanonicalURLs = [
    " HTTP://User:Pa ss@EXAMPLE.com:80/a/./b/../c d?q'r#é ", "http:\\\\h\\a\\..\\b", "file:c|/x/../..", "file://localhost/C|/..", "//h/a",
    "../../x?y",
    "http://0x7f.1/", "http://[1::1.2.3.4]:443/", "http://[::1", "http://h:99999/", "foo:/a/..//b", "foo://h/%2e%2E/%2e", "http://a%20b/",
    "data:text/html,<p>é</p> ?q #f", "https:/x:y@h:443?#", "blob:http://h/", "http://%31%32%37.1/", "ht!tp://x", "http://@/", "http://ä/",
    "http://U\u{308}。xn--tda/", "http://XN--A/", "http://ü.xn--a/", "http://b%C3%BCcher.א/", "http://\u{628}\u{200C}\u{628}/",
    "ws://１２７。１/",
]
