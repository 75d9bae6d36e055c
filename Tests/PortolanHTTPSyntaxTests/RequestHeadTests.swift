// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTPSyntax

/// `RequestHeadWriter`: the bytes of request heads, and the refusal of invalid parts.
@Suite struct RequestHeadTests {
    /// Returns the request head that the writer writes. Each character stands for one byte.
    private func head(_ method: HTTPRequest.Method, _ target: RequestTarget, _ fields: HTTPFields = [:]) throws -> String {
        let writer = try RequestHeadWriter(method: method, target: target, fields: fields)
        let bytes = writer.bytes()
        #expect(bytes.count == writer.byteCount)
        return String(bytes.map { Character(Unicode.Scalar($0)) })
    }

    @Test(arguments: [
        ("http://a.example/b/c?d=e#f", "GET /b/c?d=e HTTP/1.1\r\n\r\n"),
        ("http://a.example", "GET / HTTP/1.1\r\n\r\n"),
        ("http://a.example/?", "GET /? HTTP/1.1\r\n\r\n"),
        ("http://u:p@a.example:8080/%20", "GET /%20 HTTP/1.1\r\n\r\n"),
        ("http://a.example//b", "GET //b HTTP/1.1\r\n\r\n"),
    ]) func originFormHasPathAndQuery(url: String, expectedHead: String) throws {
        #expect(try head(.get, .originForm(of: URLRecord(parsing: url))) == expectedHead)
    }

    @Test(arguments: [
        ("http://a.example/b?d#f", "GET http://a.example/b?d HTTP/1.1\r\n\r\n"),
        ("http://u:p@a.example:8080", "GET http://a.example:8080/ HTTP/1.1\r\n\r\n"),
        ("http://[::1]:81/", "GET http://[::1]:81/ HTTP/1.1\r\n\r\n"),
    ]) func absoluteFormHasNoUserInformationOrFragment(url: String, expectedHead: String) throws {
        #expect(try head(.get, .absoluteForm(of: URLRecord(parsing: url))) == expectedHead)
    }

    @Test(arguments: [
        ("a.example:443", "CONNECT a.example:443 HTTP/1.1\r\n\r\n"), ("[::1]:81", "CONNECT [::1]:81 HTTP/1.1\r\n\r\n"),
    ]) func authorityFormHasHostAndPort(authority: String, expectedHead: String) throws {
        #expect(try head(.connect, .authority(authority)) == expectedHead)
    }

    @Test(arguments: ["*", "/a|b?c#d", "http://other/x"])
    func verbatimTargetIsSentUnchanged(target: String) throws {
        #expect(try head(.options, .verbatim(target)) == "OPTIONS \(target) HTTP/1.1\r\n\r\n")
    }

    @Test(arguments: ["", "a b", "/\r\nX: y", "/\u{7F}", "/é"])
    func invalidVerbatimTargetIsRefused(target: String) {
        let error = #expect(throws: LoadError.self) { try head(.get, .verbatim(target)) }
        #expect(error?.code == .badURL)
    }

    @Test func headOfHTTP10HasItsVersion() throws {
        let writer = try RequestHeadWriter(
            method: .get, target: .origin(path: "/", query: nil), lines: RequestHeadWriter.lines(of: [.accept: "a"]), minorVersion: 0)
        #expect(String(decoding: writer.bytes(), as: UTF8.self) == "GET / HTTP/1.0\r\nAccept: a\r\n\r\n")
        #expect(writer.bytes().count == writer.byteCount)
    }

    @Test func fieldsKeepTheirSpellingTheirOrderAndTheirBytes() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: try #require(HTTPField.Name("x-B")), value: "1"))
        fields.append(HTTPField(name: .accept, value: [0x61, 0xE9]))
        fields.append(HTTPField(name: try #require(HTTPField.Name("X-b")), value: ""))
        #expect(try head(.get, .origin(path: "/", query: nil), fields) == "GET / HTTP/1.1\r\nx-B: 1\r\nAccept: a\u{E9}\r\nX-b: \r\n\r\n")
    }

    /// HTTPField replaces CR, LF and NUL with spaces, so only the other control characters reach the writer.
    @Test(arguments: (0..<32).map { UInt8($0) }.filter { ![0, 9, 10, 13].contains($0) } + [127]) func controlCharactersInValuesAreRefused(
        _ octet: UInt8
    ) {
        let field = HTTPField(name: .accept, lenientValue: [0x61, octet, 0x62])
        #expect(throws: LoadError.self) { try head(.get, .origin(path: "/", query: nil), HTTPFields([field])) }
    }

    @Test(arguments: ["/a b", "/a\r\nX: y", "/a\0", "/a\u{7F}", "/\u{E9}", "/a#b", "a", "/a?b"]) func invalidPathsAreRefused(_ path: String)
    {
        #expect(throws: LoadError.self) { try head(.get, .origin(path: path[...], query: nil)) }
    }

    @Test(arguments: ["a b", "a\nb", "a\0", "\u{20AC}", "#"]) func invalidQueriesAreRefused(_ query: String) {
        #expect(throws: LoadError.self) { try head(.get, .origin(path: "/", query: query[...])) }
    }

    @Test(arguments: ["", "a b", "a\r\nb:1", "a/b", "a?b"]) func invalidAuthoritiesAreRefused(_ authority: String) {
        #expect(throws: LoadError.self) { try head(.connect, .authority(authority)) }
    }

    @Test func pseudoHeaderFieldsAreRefused() throws {
        let name = try #require(HTTPField.Name(parsed: ":path"))
        #expect(throws: (any Error).self) { try RequestHeadWriter.byteCount(of: HTTPField(name: name, value: "x")) }
    }

    @Test(arguments: [(1, "1\r\n"), (15, "f\r\n"), (16, "10\r\n"), (0x1F40, "1f40\r\n"), (Int.max, "7fffffffffffffff\r\n")])
    func chunkSizeIsWrittenInHexadecimal(count: Int, sizeLine: String) {
        let bytes = [UInt8](capacity: ChunkHeader.maximumLength) { output in ChunkHeader.write(count: count, to: &output) }
        #expect(String(decoding: bytes, as: UTF8.self) == sizeLine)
    }
}
