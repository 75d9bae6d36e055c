// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// The frames of a server on stream 1, and the expected outcome of the transaction.
struct HTTP2ResponseRow: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        case complete(Int, body: String = "", interim: [Int] = [], trailers: [String: String] = [:])
        /// The transaction fails with this code and this rule, its stream is reset, and the connection stays open.
        case streamFails(LoadError.Code, HTTP2ResponseError.Rule)
        /// The transaction fails with the load error's code. The client sends GOAWAY with this HTTP/2 error code
        /// (RFC 9113 §7), and closes the connection.
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
    private typealias Frames = ServerFrames
    private static let ok: (String, String) = (":status", "200")

    private static func head(_ fields: (String, String)..., endsStream: Bool = false) -> [UInt8] {
        Frames.headers(fields, endsStream: endsStream)
    }

    private static func row(
        _ name: String, method: HTTPRequest.Method = .get, _ frames: [[UInt8]], _ outcome: Outcome
    ) -> HTTP2ResponseRow {
        HTTP2ResponseRow(name, method: method, frames, outcome)
    }

    private static func malformed(_ name: String, _ rule: HTTP2ResponseError.Rule, _ frames: [UInt8]...) -> HTTP2ResponseRow {
        HTTP2ResponseRow(name, frames, .streamFails(.badResponse, rule))
    }

    static let validResponses: [HTTP2ResponseRow] = [
        row("head alone", [head(ok, endsStream: true)], .complete(200)),
        row("head and content", [head(ok), Frames.data("hello", endsStream: true)], .complete(200, body: "hello")),
        row(
            "an empty DATA frame at the end", [head(ok), Frames.data("hello"), Frames.data("", endsStream: true)],
            .complete(200, body: "hello")),
        row(
            "content in pieces", [head(ok), Frames.data("he"), Frames.data("ll"), Frames.data("o", endsStream: true)],
            .complete(200, body: "hello")),
        row(
            "padding", [head(ok), Frames.padded("hello", padding: 17), Frames.padded("!", padding: 0, endsStream: true)],
            .complete(200, body: "hello!")),
        row(
            "a content-length that is correct", [head(ok, ("content-length", "5")), Frames.data("hello", endsStream: true)],
            .complete(200, body: "hello")),
        row(
            "the same content-length twice",
            [head(ok, ("content-length", "1"), ("content-length", "1")), Frames.data("x", endsStream: true)],
            .complete(200, body: "x")),
        row("content-length 0 and no content", [head(ok, ("content-length", "0"), endsStream: true)], .complete(200)),
        row("HEAD with a content-length", method: .head, [head(ok, ("content-length", "5"), endsStream: true)], .complete(200)),
        row(
            "a response to HEAD, ended by an empty DATA frame", method: .head,
            [head(ok, ("content-length", "5")), Frames.data("", endsStream: true)], .complete(200)),
        row("304 with a content-length", [head((":status", "304"), ("content-length", "5"), endsStream: true)], .complete(304)),
        row("204", [head((":status", "204"), endsStream: true)], .complete(204)),
        row("early hints", [head((":status", "103"), ("link", "</a>")), head(ok, endsStream: true)], .complete(200, interim: [103])),
        row(
            "two interim responses", [head((":status", "100")), head((":status", "103")), head(ok, endsStream: true)],
            .complete(200, interim: [100, 103])),
        row(
            "trailers", [head(ok), Frames.data("a"), Frames.headers([("x-sum", "1")], endsStream: true)],
            .complete(200, body: "a", trailers: ["x-sum": "1"])),
        row(
            "trailers without content", [head(ok), Frames.headers([("x-sum", "1")], endsStream: true)],
            .complete(200, trailers: ["x-sum": "1"])),
        row("trailers without fields", [head(ok), Frames.headers([], endsStream: true)], .complete(200)),
        row("a status above 599", [head((":status", "799"), endsStream: true)], .complete(799)),
        row("a value that is UTF-8", [head(ok, ("x-a", "grüße"), endsStream: true)], .complete(200)),
        row("a tab within a value", [head(ok, ("x-a", "b\tc"), endsStream: true)], .complete(200)),
        row("a bell within a value", [head(ok, ("x-a", "b\u{7}c"), endsStream: true)], .complete(200)),
        row("an empty value", [head(ok, ("x-a", ""), endsStream: true)], .complete(200)),
        row(
            "frames of unknown types",
            [Frames.frame(0xEE, flags: 0xFF, stream: 1, [1, 2, 3]), head(ok), Frames.frame(0xEF), Frames.data("a", endsStream: true)],
            .complete(200, body: "a")),
        row(
            "a PING between head and content", [head(ok), Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), Frames.data("a", endsStream: true)],
            .complete(200, body: "a")),
        row("a PRIORITY frame of RFC 7540", [Frames.frame(2, stream: 1, [0, 0, 0, 0, 15]), head(ok, endsStream: true)], .complete(200)),
        row(
            "a GOAWAY that includes the stream", [Frames.goAway(last: 1), head(ok), Frames.data("a", endsStream: true)],
            .complete(200, body: "a")),
        row(
            "a GOAWAY in two steps", [Frames.goAway(last: 0x7FFF_FFFF), Frames.goAway(last: 1), head(ok, endsStream: true)], .complete(200)),
        row("fields in several frames", [head(ok, ("x-a", String(repeating: "a", count: 30_000)), endsStream: true)], .complete(200)),
        row("the end of the response, then a reset with NO_ERROR", [head(ok, endsStream: true), Frames.reset(0)], .complete(200)),
    ]

    static let malformedResponses: [HTTP2ResponseRow] = [
        malformed("content before the head", .contentBeforeHead, Frames.data("hello")),
        malformed("an empty DATA frame before the head", .contentBeforeHead, Frames.data("")),
        malformed("an empty DATA frame after an interim response", .contentBeforeHead, head((":status", "103")) + Frames.data("")),
        malformed("a name in capitals", .fieldName, head(ok, ("X-A", "b"), endsStream: true)),
        malformed("a name with a blank", .fieldName, head(ok, ("x a", "b"), endsStream: true)),
        malformed("a name that is no token", .fieldName, head(ok, ("x(a", "b"), endsStream: true)),
        malformed("a name that is not ASCII", .fieldName, head(ok, ("x-ä", "b"), endsStream: true)),
        malformed("a name with a colon", .fieldName, head(ok, ("x:a", "b"), endsStream: true)),
        malformed("a NUL in a value", .fieldValue, head(ok, ("x-a", "b\0c"), endsStream: true)),
        malformed("a CR in a value", .fieldValue, head(ok, ("x-a", "b\rc"), endsStream: true)),
        malformed("a LF in a value", .fieldValue, head(ok, ("x-a", "b\nc"), endsStream: true)),
        malformed("a blank before a value", .fieldValue, head(ok, ("x-a", " b"), endsStream: true)),
        malformed("a tab after a value", .fieldValue, head(ok, ("x-a", "b\t"), endsStream: true)),
        malformed("the field connection", .connectionField, head(ok, ("connection", "close"), endsStream: true)),
        malformed("the field keep-alive", .connectionField, head(ok, ("keep-alive", "5"), endsStream: true)),
        malformed("the field proxy-connection", .connectionField, head(ok, ("proxy-connection", "close"), endsStream: true)),
        malformed("the field transfer-encoding", .connectionField, head(ok, ("transfer-encoding", "chunked"), endsStream: true)),
        malformed("the field upgrade", .connectionField, head(ok, ("upgrade", "h2c"), endsStream: true)),
        malformed("no status", .noStatus, head(("x-a", "b"), endsStream: true)),
        malformed("a head without fields", .noStatus, Frames.headers([], endsStream: true)),
        malformed("two statuses", .repeatedPseudoField, head(ok, (":status", "404"), endsStream: true)),
        malformed("a status after fields", .latePseudoField, head(("x-a", "b"), ok, endsStream: true)),
        malformed("a pseudo-field of requests", .unknownPseudoField, head(ok, (":path", "/"), endsStream: true)),
        malformed("an unknown pseudo-field", .unknownPseudoField, head(ok, (":x", "/"), endsStream: true)),
        malformed("a colon alone", .unknownPseudoField, head(ok, (":", "/"), endsStream: true)),
        malformed("a status of two digits", .status, head((":status", "20"), endsStream: true)),
        malformed("a status of four digits", .status, head((":status", "2000"), endsStream: true)),
        malformed("a status below 100", .status, head((":status", "099"), endsStream: true)),
        malformed("a status with a reason", .status, head((":status", "200 OK"), endsStream: true)),
        malformed("a status with a sign", .status, head((":status", "+20"), endsStream: true)),
        malformed("an empty status", .status, head((":status", ""), endsStream: true)),
        malformed("a status of 101", .unrequestedUpgrade, head((":status", "101"), endsStream: true)),
        malformed("an interim response that ends the stream", .endInInterimResponse, head((":status", "103"), endsStream: true)),
        malformed("a status in trailers", .pseudoFieldInTrailers, head(ok), Frames.headers([(":status", "200")], endsStream: true)),
        malformed("a capital in trailers", .fieldName, head(ok), Frames.headers([("X-A", "b")], endsStream: true)),
        malformed("a content-length that is no number", .contentLength, head(ok, ("content-length", "5x"), endsStream: true)),
        malformed("a content-length with a sign", .contentLength, head(ok, ("content-length", "+5"), endsStream: true)),
        malformed("a content-length of 2^63", .contentLength, head(ok, ("content-length", "9223372036854775808"), endsStream: true)),
        malformed("content-lengths that differ", .contentLengthsDiffer, head(ok, ("content-length", "5"), ("content-length", "6"))),
        malformed(
            "more content than content-length", .tooMuchContent, head(ok, ("content-length", "4")), Frames.data("hello", endsStream: true)),
        malformed(
            "content although content-length is 0", .tooMuchContent, head(ok, ("content-length", "0")),
            Frames.data("hello", endsStream: true)),
        malformed("content with 204", .unexpectedContent, head((":status", "204")), Frames.data("hello", endsStream: true)),
        malformed(
            "content with 304", .unexpectedContent, head((":status", "304"), ("content-length", "5")),
            Frames.data("hello", endsStream: true)),
        row(
            "content for HEAD", method: .head, [head(ok, ("content-length", "5")), Frames.data("hello", endsStream: true)],
            .streamFails(.badResponse, .unexpectedContent)),
        row(
            "less content than content-length", [head(ok, ("content-length", "6")), Frames.data("hello", endsStream: true)],
            .streamFails(.truncated, .tooLittleContent)),
        row(
            "a content-length above 0 and no content", [head(ok, ("content-length", "6"), endsStream: true)],
            .streamFails(.truncated, .tooLittleContent)),
        row(
            "trailers before all content has arrived",
            [head(ok, ("content-length", "6")), Frames.data("hello"), Frames.headers([("x-a", "b")], endsStream: true)],
            .streamFails(.truncated, .tooLittleContent)),
        malformed("a HEADERS frame within the content", .openTrailers, head(ok), Frames.data("a"), Frames.headers([("x-a", "b")])),
        malformed("a second final head", .openTrailers, head(ok), head(ok)),
        row(
            "too many interim responses", [[UInt8]](repeating: head((":status", "103")), count: 33),
            .streamFails(.limitExceeded, .tooManyInterimResponses)),
        row(
            "too many fields", [Frames.headers([ok] + [(String, String)](repeating: ("a", "b"), count: 1001), endsStream: true)],
            .streamFails(.limitExceeded, .tooManyFields)),
        row(
            "a field that is too long", [head(ok, ("x-a", String(repeating: "a", count: 65_532)), endsStream: true)],
            .streamFails(.limitExceeded, .fieldLineTooLong)),
        row(
            "fields that take too many bytes",
            [
                Frames.headers(
                    [ok] + [(String, String)](repeating: ("a", String(repeating: "b", count: 1000)), count: 300), endsStream: true)
            ],
            .streamFails(.limitExceeded, .fieldSectionTooLarge)),
        row(
            "trailers that are too large",
            [
                head(ok),
                Frames.headers([(String, String)](repeating: ("a", String(repeating: "b", count: 1000)), count: 80), endsStream: true),
            ],
            .streamFails(.limitExceeded, .trailerSectionTooLarge)),
    ]

    /// References to the newest field of the dynamic table. Each byte expands to the whole field.
    private static let repeatedReferences = [UInt8](repeating: 0xBE, count: 16_000)

    static let connectionErrors: [HTTP2ResponseRow] = [
        row(
            "a stream that the client did not open", [Frames.headers([ok], stream: 3, endsStream: true)], .connectionFails(.badResponse, 1)),
        row("a PRIORITY frame on stream 0", [Frames.frame(2, [0, 0, 0, 1, 15])], .connectionFails(.badResponse, 1)),
        row("SETTINGS_ENABLE_PUSH of 1 from a server", [Frames.settings([(2, 1)])], .connectionFails(.badResponse, 1)),
        row("a window update of 0 on a stream", [Frames.windowUpdate(0, stream: 1)], .connectionFails(.badResponse, 1)),
        row("a window update of 0 on the connection", [Frames.windowUpdate(0, stream: 0)], .connectionFails(.badResponse, 1)),
        row(
            "an initial window size that makes the window of a stream overflow",
            [Frames.windowUpdate(0x7FFF_0000, stream: 1), Frames.settings([(4, 0x7FFF_FFFF)])],
            .connectionFails(.badResponse, 3)),
        row(
            "fields that HPACK decodes to a thousand times their size",
            [
                Frames.section(
                    Frames.fields([ok]) + Frames.field("x", [UInt8](repeating: 0x61, count: 3900), isIndexed: true) + repeatedReferences,
                    endsStream: true)
            ],
            .connectionFails(.limitExceeded, 11)),
        row("content on stream 0", [Frames.data("hello", stream: 0)], .connectionFails(.badResponse, 1)),
        row(
            "a frame that is too large", [Frames.frame(0, stream: 1, [UInt8](repeating: 0, count: 16385))],
            .connectionFails(.badResponse, 6)),
        row("a SETTINGS frame of 3 bytes", [Frames.frame(4, [1, 2, 3])], .connectionFails(.badResponse, 6)),
        row("an initial window size of 2^31", [Frames.settings([(4, 0x8000_0000)])], .connectionFails(.badResponse, 3)),
        row("SETTINGS_ENABLE_PUSH of 1 from a server, again", [Frames.settings([(2, 1)])], .connectionFails(.badResponse, 1)),
        row(
            "a WINDOW_UPDATE that makes the connection's window overflow", [Frames.windowUpdate(0x7FFF_FFFF, stream: 0)],
            .connectionFails(.badResponse, 3)),
        row(
            "a PUSH_PROMISE frame", [Frames.frame(5, flags: 4, stream: 1, Frames.number(2) + Frames.fields([(":method", "GET")]))],
            .connectionFails(.badResponse, 1)),
        row(
            "padding beyond the frame", [Frames.headers([ok]), Frames.frame(0, flags: 8, stream: 1, [9, 1])],
            .connectionFails(.badResponse, 1)),
        row("a CONTINUATION frame without HEADERS", [Frames.frame(9, flags: 4, stream: 1)], .connectionFails(.badResponse, 1)),
        row(
            "a DATA frame between HEADERS and CONTINUATION", [Frames.frame(1, stream: 1, Frames.fields([ok])), Frames.data("a")],
            .connectionFails(.badResponse, 1)),
        row(
            "an HPACK index out of range", [Frames.frame(1, flags: 5, stream: 1, [0xFF, 0x80, 0x80, 0x01])],
            .connectionFails(.badResponse, 9)
        ),
        row(
            "an HPACK string that ends too early", [Frames.frame(1, flags: 5, stream: 1, [0, 5, 0x61])], .connectionFails(.badResponse, 9)),
        row(
            "a value that is longer than nghttp2 accepts", [head(ok, ("x-a", String(repeating: "a", count: 70_000)), endsStream: true)],
            .connectionFails(.limitExceeded, 9)),
        row(
            "endless CONTINUATION frames",
            [Frames.frame(1, stream: 1, Frames.fields([ok]))] + [[UInt8]](repeating: Frames.frame(9, stream: 1), count: 100),
            .connectionFails(.limitExceeded, 11)),
        row(
            "endless empty DATA frames", [Frames.headers([ok])] + [[UInt8]](repeating: Frames.data(""), count: 100),
            .connectionFails(.limitExceeded, 11)),
        row(
            "endless PING frames", [[UInt8]](repeating: Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), count: 1100),
            .connectionFails(.limitExceeded, 11)),
        row("endless SETTINGS frames", [[UInt8]](repeating: Frames.settings(), count: 1100), .connectionFails(.limitExceeded, 11)),
    ]
}
