// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// A response on a stream, and the expected outcome.
struct HTTP2ResponseRow: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        case complete(Int, body: String = "", interim: [Int] = [], trailers: [String: String] = [:])
        /// The transaction fails, its stream is reset, and the connection stays open.
        case streamFails(LoadError.Code, HTTP2ResponseError.Rule)
        /// The connection is closed with this code (RFC 9113 §7).
        case connectionFails(LoadError.Code, Int)
    }

    let name: String
    var method = HTTPRequest.Method.get
    let frames: [UInt8]
    let outcome: Outcome

    init(_ name: String, method: HTTPRequest.Method = .get, _ frames: [[UInt8]], _ outcome: Outcome) {
        self.name = name
        self.method = method
        self.frames = frames.flatMap { $0 }
        self.outcome = outcome
    }

    var testDescription: String { name }
}

extension HTTP2ResponseRow {
    private typealias F = ServerFrames
    private static let ok: (String, String) = (":status", "200")

    private static func head(_ fields: (String, String)..., ends: Bool = false) -> [UInt8] { F.headers(fields, ends: ends) }

    private static func row(
        _ name: String, method: HTTPRequest.Method = .get, _ frames: [[UInt8]], _ outcome: Outcome
    ) -> HTTP2ResponseRow {
        HTTP2ResponseRow(name, method: method, frames, outcome)
    }

    private static func malformed(_ name: String, _ rule: HTTP2ResponseError.Rule, _ frames: [UInt8]...) -> HTTP2ResponseRow {
        HTTP2ResponseRow(name, frames, .streamFails(.badResponse, rule))
    }

    static let valid: [HTTP2ResponseRow] = [
        row("head alone", [head(ok, ends: true)], .complete(200)),
        row("head and content", [head(ok), F.data("hello", ends: true)], .complete(200, body: "hello")),
        row("empty frame at the end", [head(ok), F.data("hello"), F.data("", ends: true)], .complete(200, body: "hello")),
        row("content in pieces", [head(ok), F.data("he"), F.data("ll"), F.data("o", ends: true)], .complete(200, body: "hello")),
        row(
            "padding", [head(ok), F.padded("hello", padding: 17), F.padded("!", padding: 0, ends: true)], .complete(200, body: "hello!")),
        row("a length that is right", [head(ok, ("content-length", "5")), F.data("hello", ends: true)], .complete(200, body: "hello")),
        row(
            "the same length twice", [head(ok, ("content-length", "1"), ("content-length", "1")), F.data("x", ends: true)],
            .complete(200, body: "x")),
        row("no content of length 0", [head(ok, ("content-length", "0"), ends: true)], .complete(200)),
        row("HEAD with a length", method: .head, [head(ok, ("content-length", "5"), ends: true)], .complete(200)),
        row("HEAD ended by an empty frame", method: .head, [head(ok, ("content-length", "5")), F.data("", ends: true)], .complete(200)),
        row("304 with a length", [head((":status", "304"), ("content-length", "5"), ends: true)], .complete(304)),
        row("204", [head((":status", "204"), ends: true)], .complete(204)),
        row("early hints", [head((":status", "103"), ("link", "</a>")), head(ok, ends: true)], .complete(200, interim: [103])),
        row(
            "two interim responses", [head((":status", "100")), head((":status", "103")), head(ok, ends: true)],
            .complete(200, interim: [100, 103])),
        row(
            "trailers", [head(ok), F.data("a"), F.headers([("x-sum", "1")], ends: true)],
            .complete(200, body: "a", trailers: ["x-sum": "1"])),
        row("trailers without content", [head(ok), F.headers([("x-sum", "1")], ends: true)], .complete(200, trailers: ["x-sum": "1"])),
        row("trailers without fields", [head(ok), F.headers([], ends: true)], .complete(200)),
        row("a status of no class", [head((":status", "799"), ends: true)], .complete(799)),
        row("a value that is UTF-8", [head(ok, ("x-a", "grüße"), ends: true)], .complete(200)),
        row("a tab within a value", [head(ok, ("x-a", "b\tc"), ends: true)], .complete(200)),
        row("a bell within a value", [head(ok, ("x-a", "b\u{7}c"), ends: true)], .complete(200)),
        row("an empty value", [head(ok, ("x-a", ""), ends: true)], .complete(200)),
        row(
            "frames of unknown types",
            [F.frame(0xEE, flags: 0xFF, stream: 1, [1, 2, 3]), head(ok), F.frame(0xEF), F.data("a", ends: true)], .complete(200, body: "a")),
        row("a ping in between", [head(ok), F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), F.data("a", ends: true)], .complete(200, body: "a")),
        row("a PRIORITY frame of RFC 7540", [F.frame(2, stream: 1, [0, 0, 0, 0, 15]), head(ok, ends: true)], .complete(200)),
        row("a GOAWAY that includes the stream", [F.goAway(last: 1), head(ok), F.data("a", ends: true)], .complete(200, body: "a")),
        row("a GOAWAY in two steps", [F.goAway(last: 0x7FFF_FFFF), F.goAway(last: 1), head(ok, ends: true)], .complete(200)),
        row("fields in several frames", [head(ok, ("x-a", String(repeating: "a", count: 30_000)), ends: true)], .complete(200)),
        row("end and reset without error", [head(ok, ends: true), F.reset(0)], .complete(200)),
    ]

    static let malformed: [HTTP2ResponseRow] = [
        malformed("content before the head", .contentBeforeHead, F.data("hello")),
        malformed("content before the head, of no bytes", .contentBeforeHead, F.data("")),
        malformed("content of no bytes behind an interim response", .contentBeforeHead, head((":status", "103")) + F.data("")),
        malformed("a name in capitals", .fieldName, head(ok, ("X-A", "b"), ends: true)),
        malformed("a name with a blank", .fieldName, head(ok, ("x a", "b"), ends: true)),
        malformed("a name that is no token", .fieldName, head(ok, ("x(a", "b"), ends: true)),
        malformed("a name that is not ASCII", .fieldName, head(ok, ("x-ä", "b"), ends: true)),
        malformed("a name with a colon", .fieldName, head(ok, ("x:a", "b"), ends: true)),
        malformed("a NUL in a value", .fieldValue, head(ok, ("x-a", "b\0c"), ends: true)),
        malformed("a CR in a value", .fieldValue, head(ok, ("x-a", "b\rc"), ends: true)),
        malformed("a LF in a value", .fieldValue, head(ok, ("x-a", "b\nc"), ends: true)),
        malformed("a blank before a value", .fieldValue, head(ok, ("x-a", " b"), ends: true)),
        malformed("a tab after a value", .fieldValue, head(ok, ("x-a", "b\t"), ends: true)),
        malformed("connection", .connectionField, head(ok, ("connection", "close"), ends: true)),
        malformed("keep-alive", .connectionField, head(ok, ("keep-alive", "5"), ends: true)),
        malformed("proxy-connection", .connectionField, head(ok, ("proxy-connection", "close"), ends: true)),
        malformed("transfer-encoding", .connectionField, head(ok, ("transfer-encoding", "chunked"), ends: true)),
        malformed("upgrade", .connectionField, head(ok, ("upgrade", "h2c"), ends: true)),
        malformed("no status", .noStatus, head(("x-a", "b"), ends: true)),
        malformed("nothing at all", .noStatus, F.headers([], ends: true)),
        malformed("two statuses", .repeatedPseudoField, head(ok, (":status", "404"), ends: true)),
        malformed("a status after fields", .latePseudoField, head(("x-a", "b"), ok, ends: true)),
        malformed("a pseudo-field of requests", .unknownPseudoField, head(ok, (":path", "/"), ends: true)),
        malformed("an unknown pseudo-field", .unknownPseudoField, head(ok, (":x", "/"), ends: true)),
        malformed("a colon alone", .unknownPseudoField, head(ok, (":", "/"), ends: true)),
        malformed("a status of two digits", .status, head((":status", "20"), ends: true)),
        malformed("a status of four digits", .status, head((":status", "2000"), ends: true)),
        malformed("a status below 100", .status, head((":status", "099"), ends: true)),
        malformed("a status with a reason", .status, head((":status", "200 OK"), ends: true)),
        malformed("a status with a sign", .status, head((":status", "+20"), ends: true)),
        malformed("an empty status", .status, head((":status", ""), ends: true)),
        malformed("101", .unrequestedUpgrade, head((":status", "101"), ends: true)),
        malformed("an end with an interim response", .endInInterimResponse, head((":status", "103"), ends: true)),
        malformed("a status in trailers", .pseudoFieldInTrailers, head(ok), F.headers([(":status", "200")], ends: true)),
        malformed("a capital in trailers", .fieldName, head(ok), F.headers([("X-A", "b")], ends: true)),
        malformed("a length that is no number", .contentLength, head(ok, ("content-length", "5x"), ends: true)),
        malformed("a length with a sign", .contentLength, head(ok, ("content-length", "+5"), ends: true)),
        malformed("a length of 2^63", .contentLength, head(ok, ("content-length", "9223372036854775808"), ends: true)),
        malformed("lengths that differ", .contentLengthsDiffer, head(ok, ("content-length", "5"), ("content-length", "6"))),
        malformed("more than the length", .tooMuchContent, head(ok, ("content-length", "4")), F.data("hello", ends: true)),
        malformed("more than no length", .tooMuchContent, head(ok, ("content-length", "0")), F.data("hello", ends: true)),
        malformed("content with 204", .unexpectedContent, head((":status", "204")), F.data("hello", ends: true)),
        malformed("content with 304", .unexpectedContent, head((":status", "304"), ("content-length", "5")), F.data("hello", ends: true)),
        row(
            "content for HEAD", method: .head, [head(ok, ("content-length", "5")), F.data("hello", ends: true)],
            .streamFails(.badResponse, .unexpectedContent)),
        row(
            "less than the length", [head(ok, ("content-length", "6")), F.data("hello", ends: true)],
            .streamFails(.truncated, .tooLittleContent)),
        row("a length and no content", [head(ok, ("content-length", "6"), ends: true)], .streamFails(.truncated, .tooLittleContent)),
        row(
            "trailers before the length", [head(ok, ("content-length", "6")), F.data("hello"), F.headers([("x-a", "b")], ends: true)],
            .streamFails(.truncated, .tooLittleContent)),
        malformed("fields within the content", .openTrailers, head(ok), F.data("a"), F.headers([("x-a", "b")])),
        malformed("a second head", .openTrailers, head(ok), head(ok)),
        row(
            "too many interim responses", [[UInt8]](repeating: head((":status", "103")), count: 33),
            .streamFails(.limitExceeded, .tooManyInterimResponses)),
        row(
            "too many fields", [F.headers([ok] + [(String, String)](repeating: ("a", "b"), count: 1001), ends: true)],
            .streamFails(.limitExceeded, .tooManyFields)),
        row(
            "a field that is too long", [head(ok, ("x-a", String(repeating: "a", count: 65_532)), ends: true)],
            .streamFails(.limitExceeded, .fieldLineTooLong)),
        row(
            "fields that take too many bytes",
            [F.headers([ok] + [(String, String)](repeating: ("a", String(repeating: "b", count: 1000)), count: 300), ends: true)],
            .streamFails(.limitExceeded, .fieldSectionTooLarge)),
        row(
            "trailers that are too large",
            [head(ok), F.headers([(String, String)](repeating: ("a", String(repeating: "b", count: 1000)), count: 80), ends: true)],
            .streamFails(.limitExceeded, .trailerSectionTooLarge)),
    ]

    /// Repeats the same field of the dynamic table.
    private static let bomb = [UInt8](repeating: 0xBE, count: 16_000)

    static let fatal: [HTTP2ResponseRow] = [
        row("a stream that the client did not open", [F.headers([ok], stream: 3, ends: true)], .connectionFails(.badResponse, 1)),
        row("a priority of the connection", [F.frame(2, [0, 0, 0, 1, 15])], .connectionFails(.badResponse, 1)),
        row("push allowed by the server", [F.settings([(2, 1)])], .connectionFails(.badResponse, 1)),
        row("a window update of 0 on a stream", [F.windowUpdate(0, stream: 1)], .connectionFails(.badResponse, 1)),
        row("a window update of 0 on the connection", [F.windowUpdate(0, stream: 0)], .connectionFails(.badResponse, 1)),
        row(
            "an initial window that makes one overflow", [F.windowUpdate(0x7FFF_0000, stream: 1), F.settings([(4, 0x7FFF_FFFF)])],
            .connectionFails(.badResponse, 3)),
        row(
            "fields that HPACK makes a thousand times as large",
            [F.section(F.fields([ok]) + F.field("x", [UInt8](repeating: 0x61, count: 3900), isIndexed: true) + bomb, ends: true)],
            .connectionFails(.limitExceeded, 11)),
        row("content on stream 0", [F.data("hello", stream: 0)], .connectionFails(.badResponse, 1)),
        row("a frame that is too large", [F.frame(0, stream: 1, [UInt8](repeating: 0, count: 16385))], .connectionFails(.badResponse, 6)),
        row("settings of a wrong size", [F.frame(4, [1, 2, 3])], .connectionFails(.badResponse, 6)),
        row("a window of 2^31", [F.settings([(4, 0x8000_0000)])], .connectionFails(.badResponse, 3)),
        row("settings that turn pushes on", [F.settings([(2, 1)])], .connectionFails(.badResponse, 1)),
        row("a window that overflows", [F.windowUpdate(0x7FFF_FFFF, stream: 0)], .connectionFails(.badResponse, 3)),
        row("a push", [F.frame(5, flags: 4, stream: 1, F.number(2) + F.fields([(":method", "GET")]))], .connectionFails(.badResponse, 1)),
        row("padding beyond the frame", [F.headers([ok]), F.frame(0, flags: 8, stream: 1, [9, 1])], .connectionFails(.badResponse, 1)),
        row("a continuation of nothing", [F.frame(9, flags: 4, stream: 1)], .connectionFails(.badResponse, 1)),
        row("another frame within fields", [F.frame(1, stream: 1, F.fields([ok])), F.data("a")], .connectionFails(.badResponse, 1)),
        row(
            "an HPACK index out of range", [F.frame(1, flags: 5, stream: 1, [0xFF, 0x80, 0x80, 0x01])], .connectionFails(.badResponse, 9)
        ),
        row("a string of HPACK cut short", [F.frame(1, flags: 5, stream: 1, [0, 5, 0x61])], .connectionFails(.badResponse, 9)),
        row(
            "a value that nghttp2 does not decode", [head(ok, ("x-a", String(repeating: "a", count: 70_000)), ends: true)],
            .connectionFails(.limitExceeded, 9)),
        row(
            "continuations without end", [F.frame(1, stream: 1, F.fields([ok]))] + [[UInt8]](repeating: F.frame(9, stream: 1), count: 100),
            .connectionFails(.limitExceeded, 11)),
        row(
            "empty frames without end", [F.headers([ok])] + [[UInt8]](repeating: F.data(""), count: 100),
            .connectionFails(.limitExceeded, 11)),
        row(
            "pings without end", [[UInt8]](repeating: F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), count: 1100),
            .connectionFails(.limitExceeded, 11)),
        row("settings without end", [[UInt8]](repeating: F.settings(), count: 1100), .connectionFails(.limitExceeded, 11)),
    ]
}
