// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension ResponseTable {
    private static let start = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
    private static let contentLength = ["Content-Length", "2"]

    /// A correct response of two bytes with these lines among its fields.
    private static func field(_ section: String, _ name: String, _ lines: String, _ fields: [[String]]) -> ResponseCase {
        .init(section, name, "\(start)\(lines)\r\n\r\nhi", .reusable(200, "hi", fields: [contentLength] + fields))
    }

    /// A response with these lines among its fields, whose load fails.
    private static func malformed(_ section: String, _ name: String, _ lines: String) -> ResponseCase {
        .init(section, name, "\(start)\(lines)\r\n\r\nhi", .bad)
    }

    static let fields: [ResponseCase] = names + values + lineEnds + sizes

    private static let names: [ResponseCase] = [
        field("9112 §5", "a plain field", "X-A: b", [["X-A", "b"]]),
        field("9112 §5", "no blank after the colon", "X-A:b", [["X-A", "b"]]),
        field("9112 §5", "many blanks around the value", "X-A: \t b \t ", [["X-A", "b"]]),
        field("9110 §5.1", "names keep their case", "sErVeR: b", [["sErVeR", "b"]]),
        field("9110 §5.1", "a well-known name", "Content-Type: text/plain", [["Content-Type", "text/plain"]]),
        field("9110 §5.1", "a well-known name in lower case", "content-type: text/plain", [["content-type", "text/plain"]]),
        field("9110 §5.1", "a well-known name in capitals", "CONTENT-TYPE: text/plain", [["CONTENT-TYPE", "text/plain"]]),
        field("9110 §5.6.2", "every kind of token character", "!#$%&'*+-.^_`|~09azAZ: b", [["!#$%&'*+-.^_`|~09azAZ", "b"]]),
        field("9110 §5.6.2", "a name of one character", "a: b", [["a", "b"]]),
        field("9110 §5.2", "repeated fields keep their order", "A: 1\r\nB: 2\r\nA: 3", [["A", "1"], ["B", "2"], ["A", "3"]]),
        field(
            "9110 §5.3", "Set-Cookie is not joined", "Set-Cookie: a=1, b\r\nSet-Cookie: c=2",
            [["Set-Cookie", "a=1, b"], ["Set-Cookie", "c=2"]]),
        .init(
            "9112 §5.1", "SP before the colon", "\(start)X-A : b\r\n\r\nhi",
            .notReusable(200, "hi", fields: [contentLength, ["X-A", "b"]])),
        .init(
            "9112 §5.1", "HTAB before the colon", "\(start)X-A\t: b\r\n\r\nhi",
            .notReusable(200, "hi", fields: [contentLength, ["X-A", "b"]])),
        .init(
            "9112 §5.1", "SP before the colon of Content-Length", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
            .notReusable(200, "hi", fields: [contentLength])),
        malformed("9110 §5.1", "an empty name", ": b"),
        malformed("9110 §5.1", "an empty name, after a field", "X-A: b\r\n: c"),
        malformed("9110 §5.1", "SP within the name", "X A: b"),
        malformed("9110 §5.6.2", "a parenthesis in the name", "X(A): b"),
        malformed("9110 §5.6.2", "a slash in the name", "X/A: b"),
        malformed("9110 §5.6.2", "a quote in the name", "\"X\": b"),
        malformed("9110 §5.6.2", "a name beyond ASCII", "X-\u{C4}: b"),
        malformed("9110 §5.6.2", "a control character in the name", "X\u{1}A: b"),
        malformed("9110 §5.6.2", "NUL in the name", "X\0A: b"),
        malformed("9110 §5.6.2", "DEL in the name", "X\u{7F}A: b"),
        malformed("9112 §5", "no colon", "X-A b"),
        malformed("9112 §5", "a token and nothing else", "X-A"),
        malformed("9112 §5", "blanks instead of a colon", "X-A  "),
        malformed("9112 §5", "a second status line", "HTTP/1.1 200 OK"),
        .init("9112 §2.2", "SP before the first field", "HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\nhi", .bad),
        .init("9112 §2.2", "HTAB before the first field", "HTTP/1.1 200 OK\r\n\tContent-Length: 2\r\n\r\nhi", .bad),
        .init("9112 §2.2", "a line of blanks before the first field", "HTTP/1.1 200 OK\r\n \r\nContent-Length: 2\r\n\r\nhi", .bad),
    ]

    private static let values: [ResponseCase] = [
        field("9110 §5.5", "an empty value", "X-A:", [["X-A", ""]]),
        field("9110 §5.5", "a value of blanks", "X-A: \t ", [["X-A", ""]]),
        field("9110 §5.5", "blanks within a value stay", "X-A: b  c\td", [["X-A", "b  c\td"]]),
        field("9110 §5.5", "colons in a value", "X-A: b: c:d", [["X-A", "b: c:d"]]),
        field("9110 §5.5", "a colon as the value", "X-A::", [["X-A", ":"]]),
        field("9110 §5.5", "obs-text that is no UTF-8", "X-A: d\u{E9}j\u{E0}", [["X-A", "d\u{E9}j\u{E0}"]]),
        field("9110 §5.5", "obs-text that is UTF-8", "X-A: \u{C3}\u{A9}", [["X-A", "\u{C3}\u{A9}"]]),
        field("9110 §5.5", "an accent as a combining character", "X-A: e\u{CC}\u{81}", [["X-A", "e\u{CC}\u{81}"]]),
        field("9110 §5.5", "every octet above ASCII", "X-A: \u{80}\u{9F}\u{A0}\u{FE}\u{FF}", [["X-A", "\u{80}\u{9F}\u{A0}\u{FE}\u{FF}"]]),
        field("9110 §5.5", "a control character in a value", "X-A: b\u{1}c", [["X-A", "b\u{1}c"]]),
        field("9110 §5.5", "DEL in a value", "X-A: b\u{7F}c", [["X-A", "b\u{7F}c"]]),
        field("9110 §5.6.4", "a quoted string", "X-A: \"b, \\\"c\"", [["X-A", "\"b, \\\"c\""]]),
        malformed("9110 §5.5", "NUL in a value", "X-A: b\0c"),
        malformed("9110 §5.5", "NUL before a value", "X-A:\0b"),
        malformed("9112 §2.2", "CR in a value", "X-A: b\rc"),
        malformed("9112 §2.2", "CR and a blank in a value", "X-A: b\r c"),
        malformed("9112 §2.2", "CR CR LF after a value", "X-A: b\r"),
        field("9112 §5.2", "a line continued with SP", "X-A: b\r\n c", [["X-A", "b c"]]),
        field("9112 §5.2", "a line continued with HTAB", "X-A: b\r\n\tc", [["X-A", "b c"]]),
        field("9112 §5.2", "blanks around the continuation", "X-A: b \t\r\n \t c", [["X-A", "b c"]]),
        field("9112 §5.2", "a line that is continued twice", "X-A: b\r\n c\r\n d\r\nX-B: e", [["X-A", "b c d"], ["X-B", "e"]]),
        field("9112 §5.2", "a value that starts on the next line", "X-A:\r\n b", [["X-A", "b"]]),
        field("9112 §5.2", "a continuation of only a blank", "X-A: b\r\n \r\nX-B: c", [["X-A", "b"], ["X-B", "c"]]),
        field("9112 §5.2", "a continuation that looks like a field", "X-A: b\r\n X-B: c", [["X-A", "b X-B: c"]]),
        malformed("9112 §5.2", "NUL in a continuation", "X-A: b\r\n c\0d"),
        .init(
            "9112 §5.2", "a Content-Length on a continuation line", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nhi",
            .notReusable(200, "hi", fields: [contentLength])),
        .init(
            "9112 §5.2", "a Content-Length that continues with another number", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 3\r\n\r\nhi", .bad
        ),
        .init(
            "9112 §5.2", "a Transfer-Encoding on a continuation line",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            .notReusable(200, "hi")),
    ]

    private static let lineEnds: [ResponseCase] = [
        .init("9112 §2.2", "LF alone, everywhere", "HTTP/1.1 200 OK\nContent-Length: 2\nX-A: b\n\nhi", .reusable(200, "hi")),
        .init("9112 §2.2", "LF alone after a field", "HTTP/1.1 200 OK\r\nContent-Length: 2\nX-A: b\r\n\r\nhi", .reusable(200, "hi")),
        .init("9112 §2.2", "LF alone as the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nhi", .reusable(200, "hi")),
        .init("9112 §2.2", "CR LF as the empty line after LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\r\nhi", .reusable(200, "hi")),
        .init("9112 §2.2", "CR CR LF is no empty line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\r\nhi\r\n\r\n", .bad),
        .init("9112 §2.2", "CR alone ends no line", "HTTP/1.1 200 OK\rContent-Length: 2\r\r\n\r\nhi", .bad),
        .init("9112 §2.1", "a body of line breaks", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\r\n", .reusable(200, "\r\n")),
    ]

    private static let sizes: [ResponseCase] = [
        field(
            "9110 §5.4", "a thousand fields", Array(repeating: "a: b", count: 999).joined(separator: "\r\n"),
            Array(repeating: ["a", "b"], count: 999)),
        .init(
            "9110 §5.4", "more than a thousand fields", "\(start)\(String(repeating: "a: b\r\n", count: 1000))\r\nhi",
            .failure(.limitExceeded)),
        field(
            "9110 §5.4", "a line of 64 KiB", "X-A: \(String(repeating: "b", count: 65531))",
            [["X-A", String(repeating: "b", count: 65531)]]),
        .init(
            "9110 §5.4", "a line above 64 KiB", "\(start)X-A: \(String(repeating: "b", count: 65532))\r\n\r\nhi", .failure(.limitExceeded)),
        .init("9110 §5.4", "a line that never ends", "\(start)X-A: \(String(repeating: "b", count: 70000))", .failure(.limitExceeded)),
        .init(
            "9110 §5.4", "continuation lines above 64 KiB",
            "\(start)X-A: b\r\n\(String(repeating: " \(String(repeating: "c", count: 1022))\r\n", count: 65))\r\nhi",
            .failure(.limitExceeded)),
        .init(
            "9110 §5.4", "fields above 256 KiB",
            "\(start)\(String(repeating: "X-A: \(String(repeating: "b", count: 1017))\r\n", count: 257))\r\nhi",
            .failure(.limitExceeded)),
    ]
}
