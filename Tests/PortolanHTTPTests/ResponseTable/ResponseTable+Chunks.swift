// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension ResponseTable {
    /// A correct chunked response with this body, whose decoded body is `delivered`.
    private static func chunked(
        _ section: String, _ name: String, _ body: String, _ delivered: String, trailers: [[String]] = []
    ) -> ResponseCase {
        .init(section, name, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)", .reusable(200, delivered, trailers: trailers))
    }

    /// A chunked response with this body, whose load fails.
    private static func failing(
        _ section: String, _ name: String, _ body: String, _ outcome: ResponseCase.Outcome = .bad
    ) -> ResponseCase {
        .init(section, name, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)", outcome)
    }

    static let chunks: [ResponseCase] = chunkSizes + chunkExtensions + trailerSections

    private static let chunkSizes: [ResponseCase] = [
        chunked("9112 §7.1", "one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1", "several chunks", "3\r\nhel\r\n2\r\nlo\r\n1\r\n!\r\n0\r\n\r\n", "hello!"),
        chunked("9112 §7.1", "only the last chunk", "0\r\n\r\n", ""),
        chunked("9112 §7.1", "the size in capitals", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        chunked("9112 §7.1", "the size in small letters", "a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        chunked("9112 §7.1", "a size of two digits", "10\r\n0123456789abcdef\r\n0\r\n\r\n", "0123456789abcdef"),
        chunked("9112 §7.1", "leading zeros", "0005\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1", "very many leading zeros", "\(String(repeating: "0", count: 40))5\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1", "a last chunk of four zeros", "5\r\nhello\r\n0000\r\n\r\n", "hello"),
        chunked("9112 §7.1", "blanks after the size", "5 \t\r\nhello\r\n0 \r\n\r\n", "hello"),
        chunked("9112 §7.1", "data that looks like chunks", "9\r\n0\r\n\r\n5\r\nx\r\n0\r\n\r\n", "0\r\n\r\n5\r\nx"),
        chunked("9112 §7.1", "NUL, CR LF and 0xFF as data", "4\r\n\0\r\n\u{FF}\r\n0\r\n\r\n", "\0\r\n\u{FF}"),
        failing("9112 §7.1", "an empty chunk size", "\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a chunk size that is no number", "x\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "hexadecimal with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a negative chunk size", "-5\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a plus before the chunk size", "+5\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a blank before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a blank within the size", "1 0\r\n0123456789abcdef\r\n0\r\n\r\n"),
        failing("9112 §7.1", "an underscore within the size", "1_0\r\n0123456789abcdef\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a point after the size", "5.\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "NUL after the size", "5\0\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a chunk size of 2^63", "8000000000000000\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a chunk size of 2^64", "10000000000000000\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a chunk size of 2^64 + 5", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a chunk size of 2^64 - 1", "ffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "a chunk size of 2^63 - 1, and five bytes of data", "7fffffffffffffff\r\nhello", .failure(.truncated)),
        failing("9112 §7.1", "a chunk size of a thousand digits", "\(String(repeating: "f", count: 1000))\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "LF alone after the size", "5\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "CR alone after the size", "5\rhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "LF alone after the data", "5\r\nhello\n0\r\n\r\n"),
        failing("9112 §7.1", "LF alone after the last size", "5\r\nhello\r\n0\n\r\n"),
        failing("9112 §7.1", "no line break after the data", "5\r\nhello0\r\n\r\n"),
        failing("9112 §7.1", "more data than the chunk size", "4\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "less data than the chunk size", "6\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1", "CR and something else after the data", "5\r\nhello\rx0\r\n\r\n"),
        failing("9112 §8", "no last chunk", "5\r\nhello\r\n", .failure(.truncated)),
        failing("9112 §8", "the last chunk without its empty line", "5\r\nhello\r\n0\r\n", .failure(.truncated)),
        failing("9112 §8", "truncated within the data", "5\r\nhel", .failure(.truncated)),
        failing("9112 §8", "truncated before the first chunk", "", .failure(.truncated)),
    ]

    private static let chunkExtensions: [ResponseCase] = [
        chunked("9112 §7.1.1", "an extension with a name", "5;a\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "an extension with a name and a value", "5;a=b\r\nhello\r\n0;c=d\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "several extensions", "5;a=b;c;d=e\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "blanks around everything", "5 ; a = b ; c \r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "a quoted value", "5;a=\"b;c=d\"\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "an empty quoted value", "5;a=\"\"\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "a quote within a quoted value", "5;a=\"b\\\"c\\\\\"\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked("9112 §7.1.1", "obs-text in a quoted value", "5;a=\"\u{E9}\"\r\nhello\r\n0\r\n\r\n", "hello"),
        chunked(
            "9112 §7.1.1", "a line with an extension of 4 KiB", "5;\(String(repeating: "a", count: 4095))\r\nhello\r\n0\r\n\r\n", "hello"),
        failing(
            "9112 §7.1.1", "a line with an extension above 4 KiB", "5;\(String(repeating: "a", count: 4096))\r\nhello\r\n0\r\n\r\n",
            .failure(.limitExceeded)),
        failing(
            "9112 §7.1", "a chunk size with more than 4 KiB of zeros", "\(String(repeating: "0", count: 5000))5\r\nhello\r\n0\r\n\r\n",
            .failure(.limitExceeded)),
        failing(
            "9112 §7.1.1", "extensions above 64 KiB in total",
            String(repeating: "1;\(String(repeating: "a", count: 1023))\r\nx\r\n", count: 65) + "0\r\n\r\n",
            .failure(.limitExceeded)),
        failing("9112 §7.1.1", "a semicolon without an extension", "5;\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "an extension with a value and no name", "5;=b\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "an extension with an equals sign and no value", "5;a=\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "an extension of two tokens", "5;a b\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "a token after a quoted value", "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "a quote that is not closed", "5;a=\"b\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "LF alone within an extension", "5;a\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "LF in a quoted value", "5;a=\"b\n\"\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "CR within an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "NUL within an extension", "5;a\0\r\nhello\r\n0\r\n\r\n"),
        failing("9112 §7.1.1", "an extension without a semicolon", "5 a=b\r\nhello\r\n0\r\n\r\n"),
    ]

    private static let trailerSections: [ResponseCase] = [
        chunked("9112 §7.1.2", "one trailer field", "2\r\nhi\r\n0\r\nX-A: b\r\n\r\n", "hi", trailers: [["X-A", "b"]]),
        chunked(
            "9112 §7.1.2", "several trailer fields", "2\r\nhi\r\n0\r\nX-A: b\r\nX-B: c\r\nX-A: d\r\n\r\n", "hi",
            trailers: [["X-A", "b"], ["X-B", "c"], ["X-A", "d"]]),
        chunked("9112 §7.1.2", "a trailer field of an empty body", "0\r\nX-A: b\r\n\r\n", "", trailers: [["X-A", "b"]]),
        chunked("9112 §5.2", "a continued line", "0\r\nX-A: b\r\n c\r\n\r\n", "", trailers: [["X-A", "b c"]]),
        chunked("9112 §2.2", "LF alone ends a line", "0\r\nX-A: b\n\n", "", trailers: [["X-A", "b"]]),
        chunked(
            "9110 §6.5.1", "framing fields in trailers are ignored", "0\r\nContent-Length: 9\r\n\r\n", "",
            trailers: [["Content-Length", "9"]]),
        failing("9112 §5", "no colon", "0\r\nhello\r\n\r\n"),
        failing("9112 §2.2", "a blank before the first trailer field", "0\r\n X-A: b\r\n\r\n"),
        failing("9110 §5.1", "a name that is no token", "0\r\nX A: b\r\n\r\n"),
        failing("9110 §5.5", "NUL in a value", "0\r\nX-A: \0\r\n\r\n"),
        failing("9112 §8", "truncated before the empty line", "0\r\nX-A: b\r\n", .failure(.truncated)),
        failing(
            "9110 §5.4", "trailer fields above 64 KiB",
            "0\r\n\(String(repeating: "X-A: \(String(repeating: "b", count: 1017))\r\n", count: 65))\r\n",
            .failure(.limitExceeded)),
        failing(
            "9110 §5.4", "more than a thousand trailer fields", "0\r\n\(String(repeating: "a: b\r\n", count: 1001))\r\n",
            .failure(.limitExceeded)),
    ]
}
