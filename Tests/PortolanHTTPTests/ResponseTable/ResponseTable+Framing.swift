// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

extension ResponseTable {
    private static func length(_ name: String, _ value: String, _ outcome: ResponseCase.Outcome, _ body: String = "hello") -> ResponseCase {
        .init("9112 §6.3", name, "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n\(body)", outcome)
    }

    private static func coding(_ section: String, _ name: String, _ lines: String, _ body: String, _ outcome: ResponseCase.Outcome)
        -> ResponseCase
    {
        .init(section, name, "HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n\(body)", outcome)
    }

    static let contentLengths: [ResponseCase] = [
        length("a number", "5", .reusable(200, "hello")),
        length("nothing", "0", .reusable(200), ""),
        length("zeros in front", "0005", .reusable(200, "hello")),
        length("very many zeros in front", "000000000000000000000000000005", .reusable(200, "hello")),
        length("blanks around it", " \t5\t ", .reusable(200, "hello")),
        length("the same twice in a list", "5, 5", .reusable(200, "hello")),
        length("the same twice, without a blank", "5,5", .reusable(200, "hello")),
        length("the same in two lines", "5\r\nContent-Length: 5", .reusable(200, "hello")),
        length("the same in two lines and a list", "5\r\ncontent-length: 5, 5", .reusable(200, "hello")),
        // RFC 9110 §8.6 lets a recipient refuse any list. Fetch ("extract a length") requires that these are refused.
        length("the same number, written differently", "5, 05", .bad),
        length("the same number, written differently in two lines", "05\r\nContent-Length: 5", .bad),
        length("empty elements around it in the list", ",5, ,", .bad),
        length("an empty element at the end", "5,", .bad),
        length("an empty element in front", ",5", .bad),
        length("an empty element between", "5,,5", .bad),
        length("different in a list", "5, 6", .bad),
        length("different in two lines", "5\r\nContent-Length: 6", .bad),
        length("different in two lines, the name in another case", "5\r\nCONTENT-LENGTH: 6", .bad),
        length("valid and invalid, in a list", "5, x", .bad),
        length("valid and invalid, in two lines", "5\r\nContent-Length: x", .bad),
        length("valid and empty, in two lines", "5\r\nContent-Length:", .bad),
        length("empty", "", .bad),
        length("a comma", ",", .bad),
        length("a sign", "+5", .bad),
        length("negative", "-5", .bad),
        length("hexadecimal", "0x5", .bad),
        length("hexadecimal digits", "a", .bad),
        length("a fraction", "5.0", .bad),
        length("an exponent", "5e0", .bad),
        length("a unit", "5 bytes", .bad),
        length("a semicolon behind", "5;", .bad),
        length("digits with a blank between", "1 2", .bad),
        length("a quoted string", "\"5\"", .bad),
        length("a digit of another script", "\u{D9}\u{A5}", .bad),
        length("NUL behind", "5\0", .bad),
        length("a control character behind", "5\u{B}", .bad),
        length("2^63 - 1 announced, five received", "9223372036854775807", .failure(.truncated)),
        length("2^63", "9223372036854775808", .bad),
        length("2^64", "18446744073709551616", .bad),
        length("2^64 + 5", "18446744073709551621", .bad),
        length("a thousand digits", String(repeating: "9", count: 1000), .bad),
        length("more announced than received", "6", .failure(.truncated)),
        .init(
            "9112 §6.3", "without a length the body ends with the connection", "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nhello",
            .untilClose(200, "hello")
        ),
        .init("9110 §8.6", "a length of an error", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", .reusable(404, "hello")),
        .init(
            "9110 §15.4", "a length of a redirect", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 5\r\n\r\nhello",
            .reusable(302, "hello")),
        .init(
            "9110 §15.3.7", "a length of partial content",
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nhello",
            .reusable(206, "hello")),
    ]

    private static let two = "2\r\nhi\r\n0\r\n\r\n"

    static let transferEncodings: [ResponseCase] = [
        coding("9112 §6.1", "chunked", "Transfer-Encoding: chunked", two, .reusable(200, "hi")),
        coding("9112 §7", "chunked in capitals", "Transfer-Encoding: CHUNKED", two, .reusable(200, "hi")),
        coding("9112 §6.1", "the name in lower case", "transfer-encoding: chunked", two, .reusable(200, "hi")),
        coding("9112 §6.1", "the name in odd case", "tRANSFER-eNCODING: chunked", two, .reusable(200, "hi")),
        coding("9110 §5.6.1", "empty elements around it", "Transfer-Encoding: , chunked ,", two, .reusable(200, "hi")),
        coding(
            "9112 §6.3", "with a length, chunked is used", "Content-Length: 3\r\nTransfer-Encoding: chunked", two, .notReusable(200, "hi")),
        coding("9112 §6.3", "with a length behind it", "Transfer-Encoding: chunked\r\nContent-Length: 3", two, .notReusable(200, "hi")),
        coding("9112 §6.3", "with a malformed length", "Transfer-Encoding: chunked\r\nContent-Length: x", two, .notReusable(200, "hi")),
        coding("9112 §6.3", "with lengths that differ", "Transfer-Encoding: chunked\r\nContent-Length: 1, 2", two, .notReusable(200, "hi")),
        .init("9112 §6.1", "in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(two)", .notReusable(200, "hi")),
        .init(
            "9112 §6.1", "in HTTP/1.0, kept alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n\(two)",
            .notReusable(200, "hi")),
        coding("9112 §6.3", "not chunked, until the end", "Transfer-Encoding: identity", "hello", .untilClose(200, "hello")),
        coding("9112 §6.1", "an unknown coding", "Transfer-Encoding: x-own", "hello", .undecodable),
        coding("9112 §6.1", "an unknown coding under chunked", "Transfer-Encoding: x-own, chunked", two, .undecodable),
        coding("9112 §6.1", "a registered coding that is not offered", "Transfer-Encoding: compress", "hello", .undecodable),
        coding("9112 §6.1", "a content coding that is no transfer coding", "Transfer-Encoding: br, chunked", two, .undecodable),
        coding("9112 §6.1", "a coding that only ends with chunked", "Transfer-Encoding: xchunked", two, .undecodable),
        coding("9112 §6.1", "a coding that only starts with chunked", "Transfer-Encoding: chunkedx", two, .undecodable),
        coding("9112 §6.1", "an unknown coding in a second line", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x-own", two, .bad),
        coding("9112 §6.1", "an unknown coding and a length", "Transfer-Encoding: x-own\r\nContent-Length: 5", "hello", .undecodable),
        coding(
            "9112 §6.1", "an unknown coding in front of a length", "Content-Length: 5\r\nTransfer-Encoding: xchunked", "hello",
            .undecodable),
        coding("9112 §7", "an unknown coding with parameters", "Transfer-Encoding: x-own;a=b ; c=\"d, e\"", "hello", .undecodable),
        coding("9112 §6.1", "chunked under an unknown coding", "Transfer-Encoding: chunked, x-own", two, .bad),
        coding("9112 §6.1", "chunked under identity", "Transfer-Encoding: chunked, identity", two, .bad),
        coding("9112 §6.1", "chunked under identity, in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", two, .bad),
        coding("9112 §6.1", "chunked under gzip", "Transfer-Encoding: chunked, gzip", two, .bad),
        coding("9112 §6.1", "chunked under gzip and chunked", "Transfer-Encoding: chunked, gzip, chunked", two, .bad),
        coding("9112 §7.2", "gzip with a parameter", "Transfer-Encoding: gzip;q=1, chunked", two, .bad),
        coding("9112 §7", "identity with a parameter", "Transfer-Encoding: identity;q=1", "hello", .bad),
        coding("9112 §6.1", "chunked over identity", "Transfer-Encoding: identity, chunked", two, .reusable(200, "hi")),
        coding(
            "9112 §6.3", "identity and a length", "Transfer-Encoding: identity\r\nContent-Length: 2", "hello", .untilClose(200, "hello")),
        coding("9112 §6.3", "no coding at all", "Transfer-Encoding:", "hello", .untilClose(200, "hello")),
        .init(
            "9112 §6.1", "an unknown coding in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n\(two)", .undecodable),
        .init("9112 §6.1", "an unknown coding of an error", "HTTP/1.1 404 No\r\nTransfer-Encoding: xchunked\r\n\r\n\(two)", .undecodable),
        .init(
            "9112 §6.3", "an unknown coding without a body", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: xchunked\r\n\r\n",
            .notReusable(304)),
        .init(
            "9112 §6.3", "an unknown coding for HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n", .notReusable(),
            method: .head),
        coding("9112 §6.1", "chunked twice", "Transfer-Encoding: chunked, chunked", two, .bad),
        coding("9112 §6.1", "chunked twice, in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", two, .bad),
        coding("9112 §6.1", "chunked twice, one between", "Transfer-Encoding: chunked, x-own, chunked", two, .bad),
        coding("9112 §7.1", "chunked with a parameter", "Transfer-Encoding: chunked;a=b", two, .bad),
        coding("9112 §6.1", "two tokens", "Transfer-Encoding: chunked x", two, .bad),
        coding("9112 §6.1", "a semicolon behind", "Transfer-Encoding: chunked;", two, .bad),
        coding("9112 §6.1", "in quotes", "Transfer-Encoding: \"chunked\"", two, .bad),
        coding("9112 §6.1", "a control character before it", "Transfer-Encoding: \u{B}chunked", two, .bad),
        coding("9112 §6.1", "a control character behind it", "Transfer-Encoding: chunked\u{B}", two, .bad),
        coding("9112 §6.1", "NUL behind it", "Transfer-Encoding: chunked\0", two, .bad),
        coding(
            "9112 §6.1", "forty unknown codings", "Transfer-Encoding: \(String(repeating: "x, ", count: 40))", two,
            .undecodable),
        coding("9112 §5.1", "a blank before the colon", "Transfer-Encoding : chunked", two, .notReusable(200, "hi")),
    ]

    static let withoutBody: [ResponseCase] = [
        .init("9112 §6.3", "HEAD has none", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .reusable(), method: .head),
        .init("9112 §6.3", "HEAD without a length", "HTTP/1.1 200 OK\r\n\r\n", .reusable(), method: .head),
        .init("9112 §6.3", "HEAD, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .reusable(), method: .head),
        .init("9112 §6.3", "HEAD with 404", "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n", .reusable(404), method: .head),
        .init("9112 §6.3", "HEAD, a malformed length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .notReusable(), method: .head),
        .init("9112 §6.3", "HEAD, HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", .notReusable(), method: .head),
        .init(
            "9112 §6.3", "HEAD, chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", .notReusable(),
            method: .head),
        .init("9112 §6.3", "204 has none", "HTTP/1.1 204 No Content\r\n\r\n", .reusable(204)),
        .init("9110 §8.6", "204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", .notReusable(204)),
        .init("9110 §8.6", "204 with a length of nothing", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", .reusable(204)),
        .init("9112 §6.1", "204, chunked", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", .notReusable(204)),
        .init("9112 §6.3", "304 has none", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", .reusable(304)),
        .init(
            "9110 §8.6", "304 with the length that a 200 would have", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            .reusable(304)),
        .init(
            "9112 §6.1", "304, chunked as a 200 would be", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", .reusable(304)
        ),
        .init("9110 §15.3.6", "205 has nothing", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", .reusable(205)),
        .init("9112 §6.3", "205 is framed as any other", "HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\n\r\nhi", .reusable(205, "hi")),
        .init("9112 §6.3", "205 without a length", "HTTP/1.1 205 Reset Content\r\n\r\n", .untilClose(205)),
        .init("9112 §6.3", "CONNECT, 200: what follows is not HTTP", "HTTP/1.1 200 OK\r\n\r\n", .notReusable(), method: .connect),
        .init("9112 §6.3", "CONNECT, 200 with a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .notReusable(), method: .connect),
        .init(
            "9112 §6.3", "CONNECT, 200, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .notReusable(), method: .connect),
        .init("9112 §6.3", "CONNECT, 299", "HTTP/1.1 299 Own\r\nContent-Length: x\r\n\r\n", .notReusable(299), method: .connect),
        .init(
            "9112 §6.3", "CONNECT refused has a body", "HTTP/1.1 407 Proxy\r\nContent-Length: 2\r\n\r\nhi", .reusable(407, "hi"),
            method: .connect),
        .init("9112 §6.3", "OPTIONS", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .reusable(), method: .options),
    ]

    static let connections: [ResponseCase] = [
        coding("9112 §9.3", "close", "Connection: close\r\nContent-Length: 2", "hi", .notReusable(200, "hi")),
        coding("9110 §7.6.1", "close in capitals", "Connection: CLOSE\r\nContent-Length: 2", "hi", .notReusable(200, "hi")),
        coding("9110 §7.6.1", "close in a list", "Connection: foo, close , bar\r\nContent-Length: 2", "hi", .notReusable(200, "hi")),
        coding(
            "9110 §7.6.1", "close in a second line", "Connection: foo\r\nConnection: close\r\nContent-Length: 2", "hi",
            .notReusable(200, "hi")),
        coding(
            "9112 §9.3", "close goes before keep-alive", "Connection: keep-alive, close\r\nContent-Length: 2", "hi", .notReusable(200, "hi")
        ),
        coding("9112 §9.3", "keep-alive", "Connection: keep-alive\r\nContent-Length: 2", "hi", .reusable(200, "hi")),
        coding("9110 §7.6.1", "unknown options", "Connection: closed, x-close\r\nContent-Length: 2", "hi", .reusable(200, "hi")),
        coding("9110 §7.6.1", "no option", "Connection:\r\nContent-Length: 2", "hi", .reusable(200, "hi")),
        coding(
            "9110 §7.8", "an upgrade that is offered", "Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2", "hi",
            .reusable(200, "hi")),
        .init("9112 §9.3", "HTTP/1.0 closes", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", .notReusable(200, "hi")),
        .init(
            "9112 §9.3", "HTTP/1.0, kept alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi",
            .reusable(200, "hi")),
        .init(
            "9112 §9.3", "HTTP/1.0, both", "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 2\r\n\r\nhi",
            .notReusable(200, "hi")),
        .init(
            "9112 §9.3", "kept alive, but without a length", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhi", .untilClose(200, "hi")
        ),
        .init("9112 §8", "no byte", "", .failure(.emptyResponse)),
        .init("9112 §8", "a head without its empty line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", .failure(.truncated)),
    ]

    static let interim: [ResponseCase] = [
        .init(
            "9110 §15.2", "100", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            .reusable(200, "hi", interim: [100])),
        .init(
            "9110 §15.2", "several",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 204 No Content\r\n\r\n", .reusable(204, interim: [100, 102, 103])),
        .init("9110 §15.2", "an unknown one", "HTTP/1.1 199 Own\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", .reusable(204, interim: [199])),
        .init(
            "9112 §6.3", "a length in it is ignored", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            .reusable(204, interim: [100])),
        .init(
            "9110 §15.2", "its fields are not those of the final one",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No\r\nX-A: b\r\n\r\n",
            .reusable(204, fields: [["X-A", "b"]], interim: [103])),
        .init(
            "9110 §15.2", "for HEAD", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            .reusable(interim: [103]),
            method: .head),
        .init(
            "9110 §15.2", "thirty-two", String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 32) + "HTTP/1.1 204 No Content\r\n\r\n",
            .reusable(204, interim: Array(repeating: 102, count: 32))),
        .init(
            "9110 §15.2", "more than thirty-two",
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 33) + "HTTP/1.1 204 No Content\r\n\r\n",
            .failure(.limitExceeded)),
        .init(
            "9112 §9.6", "one that ends the connection",
            "HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            .notReusable(200, "hi", interim: [103])),
        .init(
            "9112 §9.6", "one that ends the connection, and a final one that keeps it",
            "HTTP/1.1 100 Continue\r\nConnection: x, close\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            .notReusable(200, "hi", interim: [100, 102])),
        .init(
            "9112 §9.3", "keep-alive in it does not apply to the final one",
            "HTTP/1.1 103 Early Hints\r\nConnection: keep-alive\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            .notReusable(200, "hi", interim: [103])),
        .init("9110 §15.2", "nothing behind it", "HTTP/1.1 100 Continue\r\n\r\n", .failure(.emptyResponse)),
        .init("9110 §15.2", "no HTTP behind it", "HTTP/1.1 100 Continue\r\n\r\nhello", .bad),
        .init(
            "9110 §15.2.2", "101 without a requested upgrade",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            .bad),
    ]
}
