// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

extension ResponseTable {
    /// A response with this value of Content-Length.
    private static func length(_ name: String, _ value: String, _ outcome: ResponseCase.Outcome, _ body: String = "hello") -> ResponseCase {
        .init("9112 §6.3", "Content-Length: " + name, "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n\(body)", outcome)
    }

    /// A response with these field lines and this body.
    private static func response(_ section: String, _ name: String, _ lines: String, _ body: String, _ outcome: ResponseCase.Outcome)
        -> ResponseCase
    {
        .init(section, name, "HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n\(body)", outcome)
    }

    static let contentLengths: [ResponseCase] = [
        length("a number", "5", .reusable(200, "hello")),
        length("zero", "0", .reusable(200), ""),
        length("leading zeros", "0005", .reusable(200, "hello")),
        length("very many leading zeros", "000000000000000000000000000005", .reusable(200, "hello")),
        length("blanks around it", " \t5\t ", .reusable(200, "hello")),
        length("the same number twice in a list", "5, 5", .reusable(200, "hello")),
        length("the same number twice in a list without a blank", "5,5", .reusable(200, "hello")),
        length("the same number in two lines", "5\r\nContent-Length: 5", .reusable(200, "hello")),
        length("the same number in two lines and a list", "5\r\ncontent-length: 5, 5", .reusable(200, "hello")),
        // RFC 9110 §8.6 lets a recipient refuse any list. Fetch ("extract a length") requires that these are refused.
        length("the same number, written differently", "5, 05", .bad),
        length("the same number, written differently in two lines", "05\r\nContent-Length: 5", .bad),
        length("empty elements around it in the list", ",5, ,", .bad),
        length("an empty element at the end", "5,", .bad),
        length("an empty element before it", ",5", .bad),
        length("an empty element between", "5,,5", .bad),
        length("different numbers in a list", "5, 6", .bad),
        length("different numbers in two lines", "5\r\nContent-Length: 6", .bad),
        length("different numbers in two lines, with the name in another case", "5\r\nCONTENT-LENGTH: 6", .bad),
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
        length("a semicolon after it", "5;", .bad),
        length("digits with a blank between", "1 2", .bad),
        length("a quoted string", "\"5\"", .bad),
        length("a digit of another script", "\u{D9}\u{A5}", .bad),
        length("NUL after it", "5\0", .bad),
        length("a control character after it", "5\u{B}", .bad),
        length("2^63 - 1, and five bytes of body", "9223372036854775807", .failure(.truncated)),
        length("2^63", "9223372036854775808", .bad),
        length("2^64", "18446744073709551616", .bad),
        length("2^64 + 5", "18446744073709551621", .bad),
        length("a thousand digits", String(repeating: "9", count: 1000), .bad),
        length("more than the bytes of the body", "6", .failure(.truncated)),
        .init(
            "9112 §6.3", "without Content-Length, the body ends with the connection", "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nhello",
            .untilClose(200, "hello")
        ),
        .init(
            "9110 §8.6", "a Content-Length of a 404", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", .reusable(404, "hello")),
        .init(
            "9110 §15.4", "a Content-Length of a redirect", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 5\r\n\r\nhello",
            .reusable(302, "hello")),
        .init(
            "9110 §15.3.7", "a Content-Length of partial content",
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nhello",
            .reusable(206, "hello")),
    ]

    private static let chunkedBody = "2\r\nhi\r\n0\r\n\r\n"

    static let transferEncodings: [ResponseCase] = [
        response("9112 §6.1", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked", chunkedBody, .reusable(200, "hi")),
        response("9112 §7", "chunked in capitals", "Transfer-Encoding: CHUNKED", chunkedBody, .reusable(200, "hi")),
        response("9112 §6.1", "the name in lower case", "transfer-encoding: chunked", chunkedBody, .reusable(200, "hi")),
        response("9112 §6.1", "the name in odd case", "tRANSFER-eNCODING: chunked", chunkedBody, .reusable(200, "hi")),
        response("9110 §5.6.1", "chunked between empty list elements", "Transfer-Encoding: , chunked ,", chunkedBody, .reusable(200, "hi")),
        response(
            "9112 §6.3", "chunked after a Content-Length", "Content-Length: 3\r\nTransfer-Encoding: chunked", chunkedBody,
            .notReusable(200, "hi")),
        response(
            "9112 §6.3", "chunked before a Content-Length", "Transfer-Encoding: chunked\r\nContent-Length: 3", chunkedBody,
            .notReusable(200, "hi")),
        response(
            "9112 §6.3", "chunked with a malformed Content-Length", "Transfer-Encoding: chunked\r\nContent-Length: x", chunkedBody,
            .notReusable(200, "hi")),
        response(
            "9112 §6.3", "chunked with a Content-Length of two numbers", "Transfer-Encoding: chunked\r\nContent-Length: 1, 2", chunkedBody,
            .notReusable(200, "hi")),
        .init(
            "9112 §6.1", "chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunkedBody)",
            .notReusable(200, "hi")),
        .init(
            "9112 §6.1", "chunked in HTTP/1.0 with keep-alive",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n\(chunkedBody)",
            .notReusable(200, "hi")),
        response("9112 §6.3", "identity", "Transfer-Encoding: identity", "hello", .untilClose(200, "hello")),
        response("9112 §6.1", "an unknown coding", "Transfer-Encoding: x-own", "hello", .undecodable),
        response("9112 §6.1", "an unknown coding before chunked", "Transfer-Encoding: x-own, chunked", chunkedBody, .undecodable),
        response("9112 §6.1", "a registered coding that is not offered", "Transfer-Encoding: compress", "hello", .undecodable),
        response("9112 §6.1", "a content coding that is no transfer coding", "Transfer-Encoding: br, chunked", chunkedBody, .undecodable),
        response("9112 §6.1", "a coding whose name ends with chunked", "Transfer-Encoding: xchunked", chunkedBody, .undecodable),
        response("9112 §6.1", "a coding whose name starts with chunked", "Transfer-Encoding: chunkedx", chunkedBody, .undecodable),
        response(
            "9112 §6.1", "an unknown coding in a second line", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x-own", chunkedBody, .bad),
        response("9112 §6.1", "an unknown coding and a length", "Transfer-Encoding: x-own\r\nContent-Length: 5", "hello", .undecodable),
        response(
            "9112 §6.1", "an unknown coding after a Content-Length", "Content-Length: 5\r\nTransfer-Encoding: xchunked", "hello",
            .undecodable),
        response("9112 §7", "an unknown coding with parameters", "Transfer-Encoding: x-own;a=b ; c=\"d, e\"", "hello", .undecodable),
        response("9112 §6.1", "chunked before an unknown coding", "Transfer-Encoding: chunked, x-own", chunkedBody, .bad),
        response("9112 §6.1", "chunked before identity", "Transfer-Encoding: chunked, identity", chunkedBody, .bad),
        response(
            "9112 §6.1", "chunked before identity, in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", chunkedBody,
            .bad),
        response("9112 §6.1", "chunked before gzip", "Transfer-Encoding: chunked, gzip", chunkedBody, .bad),
        response("9112 §6.1", "gzip between chunked and chunked", "Transfer-Encoding: chunked, gzip, chunked", chunkedBody, .bad),
        response("9112 §7.2", "gzip with a parameter", "Transfer-Encoding: gzip;q=1, chunked", chunkedBody, .bad),
        response("9112 §7", "identity with a parameter", "Transfer-Encoding: identity;q=1", "hello", .bad),
        response("9112 §6.1", "identity before chunked", "Transfer-Encoding: identity, chunked", chunkedBody, .reusable(200, "hi")),
        response(
            "9112 §6.3", "identity and a length", "Transfer-Encoding: identity\r\nContent-Length: 2", "hello", .untilClose(200, "hello")),
        response("9112 §6.3", "an empty Transfer-Encoding", "Transfer-Encoding:", "hello", .untilClose(200, "hello")),
        .init(
            "9112 §6.1", "an unknown coding in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n\(chunkedBody)",
            .undecodable),
        .init(
            "9112 §6.1", "an unknown coding of an error", "HTTP/1.1 404 No\r\nTransfer-Encoding: xchunked\r\n\r\n\(chunkedBody)",
            .undecodable),
        .init(
            "9112 §6.3", "an unknown coding without a body", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: xchunked\r\n\r\n",
            .notReusable(304)),
        .init(
            "9112 §6.3", "an unknown coding for HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n", .notReusable(),
            method: .head),
        response("9112 §6.1", "chunked twice", "Transfer-Encoding: chunked, chunked", chunkedBody, .bad),
        response("9112 §6.1", "chunked twice, in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", chunkedBody, .bad),
        response(
            "9112 §6.1", "chunked twice, with another coding between", "Transfer-Encoding: chunked, x-own, chunked", chunkedBody, .bad),
        response("9112 §7.1", "chunked with a parameter", "Transfer-Encoding: chunked;a=b", chunkedBody, .bad),
        response("9112 §6.1", "a transfer coding of two tokens", "Transfer-Encoding: chunked x", chunkedBody, .bad),
        response("9112 §6.1", "a semicolon after chunked", "Transfer-Encoding: chunked;", chunkedBody, .bad),
        response("9112 §6.1", "chunked in quotes", "Transfer-Encoding: \"chunked\"", chunkedBody, .bad),
        response("9112 §6.1", "a control character before chunked", "Transfer-Encoding: \u{B}chunked", chunkedBody, .bad),
        response("9112 §6.1", "a control character after chunked", "Transfer-Encoding: chunked\u{B}", chunkedBody, .bad),
        response("9112 §6.1", "NUL after chunked", "Transfer-Encoding: chunked\0", chunkedBody, .bad),
        response(
            "9112 §6.1", "forty unknown codings", "Transfer-Encoding: \(String(repeating: "x, ", count: 40))", chunkedBody,
            .undecodable),
        response("9112 §5.1", "a blank before the colon", "Transfer-Encoding : chunked", chunkedBody, .notReusable(200, "hi")),
    ]

    static let withoutBody: [ResponseCase] = [
        .init("9112 §6.3", "a response to HEAD has no body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .reusable(), method: .head),
        .init("9112 §6.3", "HEAD without a length", "HTTP/1.1 200 OK\r\n\r\n", .reusable(), method: .head),
        .init("9112 §6.3", "HEAD, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .reusable(), method: .head),
        .init("9112 §6.3", "HEAD with 404", "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n", .reusable(404), method: .head),
        .init("9112 §6.3", "HEAD, a malformed length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .notReusable(), method: .head),
        .init("9112 §6.3", "HEAD, HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", .notReusable(), method: .head),
        .init(
            "9112 §6.3", "HEAD, chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", .notReusable(),
            method: .head),
        .init("9112 §6.3", "204 has no body", "HTTP/1.1 204 No Content\r\n\r\n", .reusable(204)),
        .init("9110 §8.6", "204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", .notReusable(204)),
        .init("9110 §8.6", "204 with a Content-Length of 0", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", .reusable(204)),
        .init("9112 §6.1", "204, chunked", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", .notReusable(204)),
        .init("9112 §6.3", "304 has no body", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", .reusable(304)),
        .init(
            "9110 §8.6", "304 with the length that a 200 would have", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            .reusable(304)),
        .init(
            "9112 §6.1", "304, chunked as a 200 would be", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", .reusable(304)
        ),
        .init("9110 §15.3.6", "205 with a Content-Length of 0", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", .reusable(205)),
        .init("9112 §6.3", "205 with a body", "HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\n\r\nhi", .reusable(205, "hi")),
        .init("9112 §6.3", "205 without a length", "HTTP/1.1 205 Reset Content\r\n\r\n", .untilClose(205)),
        .init("9112 §6.3", "200 for CONNECT", "HTTP/1.1 200 OK\r\n\r\n", .notReusable(), method: .connect),
        .init(
            "9112 §6.3", "200 for CONNECT with a Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .notReusable(),
            method: .connect),
        .init(
            "9112 §6.3", "200 for CONNECT, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .notReusable(),
            method: .connect),
        .init("9112 §6.3", "299 for CONNECT", "HTTP/1.1 299 Own\r\nContent-Length: x\r\n\r\n", .notReusable(299), method: .connect),
        .init(
            "9112 §6.3", "407 for CONNECT, with a body", "HTTP/1.1 407 Proxy\r\nContent-Length: 2\r\n\r\nhi", .reusable(407, "hi"),
            method: .connect),
        .init("9112 §6.3", "a response to OPTIONS", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .reusable(), method: .options),
    ]

    static let connections: [ResponseCase] = [
        response("9112 §9.3", "Connection: close", "Connection: close\r\nContent-Length: 2", "hi", .notReusable(200, "hi")),
        response("9110 §7.6.1", "close in capitals", "Connection: CLOSE\r\nContent-Length: 2", "hi", .notReusable(200, "hi")),
        response("9110 §7.6.1", "close in a list", "Connection: foo, close , bar\r\nContent-Length: 2", "hi", .notReusable(200, "hi")),
        response(
            "9110 §7.6.1", "close in a second line", "Connection: foo\r\nConnection: close\r\nContent-Length: 2", "hi",
            .notReusable(200, "hi")),
        response(
            "9112 §9.3", "keep-alive and close", "Connection: keep-alive, close\r\nContent-Length: 2", "hi", .notReusable(200, "hi")
        ),
        response("9112 §9.3", "Connection: keep-alive", "Connection: keep-alive\r\nContent-Length: 2", "hi", .reusable(200, "hi")),
        response(
            "9110 §7.6.1", "unknown connection options", "Connection: closed, x-close\r\nContent-Length: 2", "hi", .reusable(200, "hi")),
        response("9110 §7.6.1", "an empty Connection field", "Connection:\r\nContent-Length: 2", "hi", .reusable(200, "hi")),
        response(
            "9110 §7.8", "a server that offers an upgrade", "Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2", "hi",
            .reusable(200, "hi")),
        .init("9112 §9.3", "HTTP/1.0 without keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", .notReusable(200, "hi")),
        .init(
            "9112 §9.3", "HTTP/1.0 with keep-alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi",
            .reusable(200, "hi")),
        .init(
            "9112 §9.3", "HTTP/1.0 with keep-alive and close",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 2\r\n\r\nhi",
            .notReusable(200, "hi")),
        .init(
            "9112 §9.3", "keep-alive without a Content-Length", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhi",
            .untilClose(200, "hi")
        ),
        .init("9112 §8", "a connection that closes without a byte", "", .failure(.emptyResponse)),
        .init("9112 §8", "a head without its empty line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", .failure(.truncated)),
    ]

    static let interim: [ResponseCase] = [
        .init(
            "9110 §15.2", "a 100 response", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            .reusable(200, "hi", interim: [100])),
        .init(
            "9110 §15.2", "several interim responses",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 204 No Content\r\n\r\n", .reusable(204, interim: [100, 102, 103])),
        .init(
            "9110 §15.2", "an unknown interim status", "HTTP/1.1 199 Own\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            .reusable(204, interim: [199])),
        .init(
            "9112 §6.3", "the Content-Length of an interim response is ignored",
            "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            .reusable(204, interim: [100])),
        .init(
            "9110 §15.2", "the fields of an interim response are not fields of the final response",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No\r\nX-A: b\r\n\r\n",
            .reusable(204, fields: [["X-A", "b"]], interim: [103])),
        .init(
            "9110 §15.2", "an interim response to HEAD", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            .reusable(interim: [103]),
            method: .head),
        .init(
            "9110 §15.2", "thirty-two interim responses",
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 32) + "HTTP/1.1 204 No Content\r\n\r\n",
            .reusable(204, interim: Array(repeating: 102, count: 32))),
        .init(
            "9110 §15.2", "more than thirty-two interim responses",
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 33) + "HTTP/1.1 204 No Content\r\n\r\n",
            .failure(.limitExceeded)),
        .init(
            "9112 §9.6", "an interim response with close",
            "HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            .notReusable(200, "hi", interim: [103])),
        .init(
            "9112 §9.6", "an interim response with close, and a final response with keep-alive",
            "HTTP/1.1 100 Continue\r\nConnection: x, close\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            .notReusable(200, "hi", interim: [100, 102])),
        .init(
            "9112 §9.3", "keep-alive of an interim response does not apply to the final response",
            "HTTP/1.1 103 Early Hints\r\nConnection: keep-alive\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            .notReusable(200, "hi", interim: [103])),
        .init("9110 §15.2", "an interim response and nothing after it", "HTTP/1.1 100 Continue\r\n\r\n", .failure(.emptyResponse)),
        .init("9110 §15.2", "an interim response and no HTTP after it", "HTTP/1.1 100 Continue\r\n\r\nhello", .bad),
        .init(
            "9110 §15.2.2", "101 without a requested upgrade",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            .bad),
    ]
}
