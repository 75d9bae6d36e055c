// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import Testing

@testable import PortolanHTTPSyntax

/// `ResponseHeadParser` and `ResponseHead`, as far as the response cases of PortolanHTTPTests do not check them.
@Suite struct ResponseHeadTests {
    /// Returns the parsed response head. Each character of `text` stands for one byte.
    private func head(_ text: String) throws -> ResponseHead {
        var parser = ResponseHeadParser(limits: HTTPLimits())
        let bytes = text.latin1
        var offset = 0
        let head = try unsafe parser.parse(bytes.span.bytes, from: &offset)
        #expect(offset == bytes.count)
        return try #require(head)
    }

    @Test func reasonPhraseIsDecodedAsISO88591() throws {
        let head = try head("HTTP/1.0 404  D\u{E9}j\u{E0} vu \r\n\r\n")
        #expect(head.reason == "D\u{E9}j\u{E0} vu")
        #expect(head.minorVersion == 0)
        #expect(head.httpStatus.code == 404 && head.httpStatus.reasonPhrase == "D\u{E9}j\u{E0} vu")
    }

    @Test func transferCodingsAreListed() throws {
        func codings(_ value: String) throws -> [ContentCoding] {
            try head("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n").framing.transferCodings
        }
        #expect(try codings("GZIP, chunked") == [.gzip])
        #expect(try codings("deflate, x-gzip, identity") == [.deflate, .gzip])
        #expect(try codings("chunked").isEmpty)
    }

    @Test(arguments: [
        ("xchunked", "\"xchunked\"", "is unknown here"), ("chunked, identity", "\"chunked, identity\"", "chunked is not the last"),
        ("chunked, chunked", "\"chunked, chunked\"", "chunked twice"), ("gzip;a=b", "\"gzip;a=b\"", "has a parameter"),
    ]) func transferEncodingErrorQuotesTheValueAndStatesTheProblem(_ value: String, _ quotedValue: String, _ problem: String) throws {
        let framing = try head("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n").framing
        let message = try #require(framing.transferEncodingFault?.loadError.message)
        #expect(message.contains(quotedValue) && message.contains(problem) && message.contains("RFC 9112 §"), "\(message)")
    }

    @Test func oneParserParsesSeveralHeads() throws {
        var parser = ResponseHeadParser(limits: HTTPLimits())
        let headTexts = [
            "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", "HTTP/1.1 404 No\r\nA: 1\r\nB: 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\r\nB: 4\r\nD: 5\r\n\r\n",
        ]
        let bytes = headTexts.joined().latin1
        var offset = 0
        var heads: [[String]] = []
        while offset < bytes.count, let head = try unsafe parser.parse(bytes.span.bytes, from: &offset) {
            heads.append(["\(head.status)"] + head.fields.map { "\($0.name)=\($0.value)" })
        }
        #expect(heads == [["200", "A=1", "B=2", "C=3"], ["404", "A=1", "B=4"], ["200", "A=1", "B=4", "D=5"]])
        #expect(parser.isAtStart)
    }

    @Test func errorAtTheEndOfTheInputDependsOnTheReceivedBytes() throws {
        var parser = ResponseHeadParser(limits: HTTPLimits())
        #expect(parser.errorAtEnd.rule == .noResponse)
        var offset = 0
        _ = try unsafe parser.parse("H".latin1.span.bytes, from: &offset)
        #expect(parser.errorAtEnd.rule == .cutInHead)
    }

    @Test func everyRuleHasASectionAndARemedy() {
        for rule in ResponseSyntaxError.Rule.allCases {
            #expect(rule.section.hasPrefix("RFC 91") && !rule.problem.isEmpty && !rule.remedy.phrase.isEmpty)
        }
    }

    @Test func excerptIsShortAndEscaped() {
        let error = ResponseSyntaxError(.missingColon, "a\"\\\u{1B}\n\u{E9}\(String(repeating: "x", count: 100))".latin1.span)
        #expect(error.excerpt == "\"a\\\"\\\\\\x1B\\x0A\\xE9\(String(repeating: "x", count: 54))…\"")
        #expect(error.loadError.code == .badResponse)
        #expect(error.loadError.message.contains("RFC 9112 §5"))
    }
}

extension String {
    /// The bytes of the text in ISO-8859-1.
    fileprivate var latin1: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}
