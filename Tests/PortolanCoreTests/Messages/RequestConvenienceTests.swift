// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@Suite struct RequestConvenienceTests {
    @Test(
        arguments: [
            ("http://h/s", ["q": "C++ & Swift"], "http://h/s?q=C%2B%2B+%26+Swift"),
            ("http://h/s?a=1", ["b": "2"], "http://h/s?a=1&b=2"),
            ("http://h/s?", ["b": "2"], "http://h/s?b=2"),
            ("http://h/s?a&", ["b": "2"], "http://h/s?a&b=2"),
            ("http://h/s#f?x", ["b": "2"], "http://h/s?b=2#f?x"),
            ("http://h/s", [:], "http://h/s"),
            ("http://h/s", ["é=": "#%\n~"], "http://h/s?%C3%A9%3D=%23%25%0A%7E"),
        ] as [(String, KeyValuePairs<String, String>, String)]) func queryIsFormEncoded(
            text: String, query: KeyValuePairs<String, String>, expected: String
        ) throws
    {
        #expect(try Request(text, query: query).url.description == expected)
    }

    @Test func queryParametersKeepTheirOrderAndMayRepeat() throws {
        #expect(try Request("x://h/", query: ["b": "1", "a": "2", "b": ""]).url.query == "b=1&a=2&b=")
    }

    @Test func foundationURLsAreAccepted() async throws {
        let url = try #require(URL(string: "http://h/a%20b?c#d"))
        #expect(try Request(url).url.description == "http://h/a%20b?c#d")
        let relative = try #require(URL(string: "a/b"))
        #expect(#expect(throws: LoadError.self) { try Request(relative) }?.code == .badURL)
        let loader = loader(StubHandler { .text(String($0.url.path)) })
        let (body, _) = try await loader.data(from: url)
        #expect(body == Data("/a%20b".utf8))
        let (chunks, _) = try await loader.bytes(from: url)
        #expect(try await chunks.collect() == body)
    }

    @Test func fieldsAreSetByName() throws {
        var request = try Request("http://h/")
        try request.setField("X-Api-Key", "secret")
        #expect(request.field("x-api-key") == "secret")
        try request.setField("x-API-key", "other")
        #expect(request.fields.count == 1 && request.field("X-Api-Key") == "other")
        try request.setField("X-Api-Key", nil)
        #expect(request.field("X-Api-Key") == nil && request.fields.isEmpty)
        #expect(request.field("no name") == nil)
    }

    @Test(arguments: [("no name", "v"), ("", "v"), ("X:", "v"), ("X", "a\r\nb"), ("X", "a\0")])
    func invalidFieldsAreErrors(name: String, value: String) throws {
        var request = try Request("http://h/")
        let error = #expect(throws: LoadError.self) { try request.setField(name, value) }
        #expect(error?.code == .badRequest)
        #expect(request.fields.isEmpty)
    }

    @Test func collectFailsBeyondItsLimit() async throws {
        let loader = loader(StubHandler { _ in .pieces([[1, 2], [3]]) }) { $0.maximumBodySizeInMemory = 2 }
        let (chunksWithinLimit, _) = try await loader.bytes(from: "x:1")
        #expect(try await chunksWithinLimit.collect(upTo: 3) == Data([1, 2, 3]))
        let (chunksBeyondLimit, _) = try await loader.bytes(from: "x:1")
        let error = await #expect(throws: LoadError.self) { try await chunksBeyondLimit.collect() }
        #expect(error?.code == .limitExceeded)
        #expect(chunksBeyondLimit.task.state == .ended)
    }

    @Test func dataCanBeABody() throws {
        #expect(Body.data(Data([1, 2])).length == 2)
    }
}
