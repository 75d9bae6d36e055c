// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHandlers
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct MessageTests {
    @Test(arguments: [
        ("a.txt", "a.txt"), ("", "download"), (".", "download"), ("..", "download"), ("../../etc/passwd", ".._.._etc_passwd"),
        ("a\u{0}b\nc", "a_b_c"), ("a\\b", "a_b"), ("gpj\u{202E}.exe", "gpj_.exe"), ("ünï.txt", "ünï.txt"),
    ])
    func unsafeFilenamesAreMadeSafe(untrusted: String, safe: String) {
        #expect(SafeFilename(untrusted).text == safe)
    }

    @Test func noDescriptionOfARequestShowsASecret() throws {
        var request = try Request("http://user:s3cr3t@host/a")
        request.fields[.authorization] = "Bearer s3cr3t"
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), "\([request])", dumped] {
            #expect(!text.contains("s3cr3t") && text.contains("http://host/a"), "\(text)")
        }
        #expect("\(request)" == "GET http://host/a")
    }

    @Test func longFilenamesAreShortenedForFileSystems() {
        #expect(SafeFilename(String(repeating: "é", count: 300)).text.utf8.count == 254)
    }

    @Test(arguments: [
        ("file:///a/b%20c.txt", "b c.txt"), ("file:///a/b/", "b"), ("file:///", "download"), ("data:,x/y", "download"),
        ("http://h/a%2Fb", "a_b"),
    ])
    func suggestedFilenameIsTheLastPathComponent(url: String, name: String) throws {
        #expect(Response(url: try URLRecord(parsing: url)).suggestedFilename == name)
    }

    @Test(arguments: [("a%20b", "a b"), ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%41%", "A%"), ("%C3%A9", "é"), ("", "")])
    func percentSequencesAreDecoded(text: String, decoded: String) {
        #expect(PercentEncoding.decode(text) == decoded)
    }

    @Test func copiesOfAResponseAreIndependent() throws {
        let original = Response(
            url: try URLRecord(parsing: "x:1"), mimeType: .html, textEncodingName: "utf-8", expectedLength: 1, suggestedFilename: "name",
            status: .ok, fields: [.server: "a"])
        var copy = original
        copy.url = try URLRecord(parsing: "x:2")
        copy.mimeType = .json
        copy.textEncodingName = nil
        copy.expectedLength = 2
        copy.status = .notFound
        copy.fields[.server] = "b"
        copy.remainingContentCodings = ["br"]
        #expect(original.url.description == "x:1" && copy.url.description == "x:2")
        #expect(original.mimeType == .html && copy.mimeType == .json)
        #expect(original.textEncodingName == "utf-8" && copy.textEncodingName == nil)
        #expect(original.expectedLength == 1 && copy.expectedLength == 2)
        #expect(original.status == .ok && copy.status == .notFound)
        #expect(original.fields == [.server: "a"] && copy.fields == [.server: "b"])
        #expect(original.remainingContentCodings.isEmpty && copy.remainingContentCodings == ["br"])
        #expect(copy.suggestedFilename == "name")
    }

    @Test func invalidURLFailsWithAOneLineMessage() throws {
        let error = try #require(throws: LoadError.self) { try Request("no url") }
        #expect(error.code == .badURL)
        #expect(!error.message.contains("\n"))
    }

    @Test func typedRequestPropertiesAreStoredByName() throws {
        enum Mode: String, RequestPropertyValue, RequestPropertyKey {
            case ascii, binary
            static let name = "org.example.mode"
            typealias Value = Self
        }
        var request = try Request("x:1")
        #expect(request[Mode.self] == nil)
        request[Mode.self] = .binary
        #expect(request.properties["org.example.mode"] == .text("binary"))
        request.properties["org.example.mode"] = .integer(1)
        #expect(request[Mode.self] == nil)
        request[Mode.self] = nil
        #expect(request.properties.isEmpty)
    }

    @Test func publishedErrorCodesAndNamesAreUnique() {
        #expect(Set(LoadError.Code.published.map(\.code)).count == LoadError.Code.published.count)
        #expect(Set(LoadError.Code.published.map(\.name)).count == LoadError.Code.published.count)
        #expect(LoadError.Code.notFound.description == "notFound")
        #expect(LoadError.Code(rawValue: 77).description == "77")
    }
}
