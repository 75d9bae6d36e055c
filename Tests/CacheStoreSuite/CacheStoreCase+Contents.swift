// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import Testing

private typealias Harness = CacheStoreHarness

/// What is stored, and how it is found.
extension CacheStoreCase {
    static let contents = [
        CacheStoreCase("a stored response is found with everything that belongs to it") { harness in
            #expect(try await harness.entries().isEmpty)
            let url = try URLRecord(parsing: "https://user:secret@example.org/a#b")
            var response = Response(
                url: url, mimeType: MIMEType(parsing: "text/plain;charset=utf-8"), textEncodingName: "UTF-8", expectedLength: 3,
                suggestedFilename: "../x", status: .ok)
            (response.remainingContentCodings, response.isVerified) = (["br"], true)
            var attributes = CacheAttributes(response)
            attributes.userInfo = ["a": "1", "": "\u{0}\u{1F600}"]
            let writer = try #require(harness.store.openWriter(CacheOpening(CacheKey(url), attributes, request: HTTPFields())))
            #expect(Harness.write([1, 2], to: writer) && Harness.write([], to: writer) && Harness.write([3], to: writer))
            // It is not visible before its end.
            #expect(try await harness.entries().isEmpty)
            let trailers = try Harness.fields("Digest: x")
            let stored = StoredResponse(
                url: try URLRecord(parsing: Harness.url), status: .notFound,
                fields: try Harness.fields("ETag: \"a\" | X-B: 1 | x-a:  | X-B: 2"),
                requestTime: 5, responseTime: 7,
                selectingFields: SelectingFields([.init(name: "a", value: nil), .init(name: "b", value: [0, 255])]),
                content: .complete(length: 3), isDecoded: true)
            writer.finish(stored, trailers: trailers)
            let entry = try await harness.entry()
            #expect(entry.key == CacheKey(url) && entry.trailers == trailers && entry.body.ranges == ByteRangeSet(0..<3))
            #expect(try await Harness.octets(of: entry.body) == [1, 2, 3])
            let found = entry.stored
            #expect(found.url.string == Harness.url && found.status == .notFound && found.fields == stored.fields && found.isDecoded)
            #expect(found.fields.map(\.name.rawName) == ["ETag", "X-B", "x-a", "X-B"])
            #expect(found.requestTime == 5 && found.responseTime == 7 && found.content == stored.content)
            #expect(found.selectingFields == stored.selectingFields && found.entityTag == stored.entityTag)
            let answer = entry.response(.notFound, HTTPFields())
            #expect(
                answer.status == .notFound && answer.expectedLength == 3 && answer.isVerified && answer.remainingContentCodings == ["br"])
            #expect(answer.mimeType?.charset == "utf-8" && answer.textEncodingName == "UTF-8" && answer.unsanitizedFilename == "../x")
            #expect(entry.attributes.userInfo == attributes.userInfo)
            // A finished writer does nothing.
            #expect(!Harness.write([4], to: writer))
            writer.finish(entry.stored, trailers: nil)
            writer.discard()
            #expect(try await harness.bodies() == [[1, 2, 3]])
        },
        CacheStoreCase("a response without status has none") { harness in
            let opening = CacheOpening(
                try Harness.key("echo:x"), CacheAttributes(Response(url: try URLRecord(parsing: "echo:x"))), request: HTTPFields())
            let writer = try #require(harness.store.openWriter(opening))
            writer.finish(try Harness.makeStoredResponse("", "echo:x", content: .complete(length: 0)), trailers: nil)
            let entry = try await harness.entry("echo:x")
            #expect(entry.response(.ok, HTTPFields()).status == nil && entry.response(.notModified, HTTPFields()).status == .notModified)
            #expect(entry.trailers == nil && entry.attributes.mimeType == nil && entry.attributes.expectedLength == nil)
        },
        CacheStoreCase("octets that are not UTF-8 stay in fields and trailers") { harness in
            let field = HTTPField(name: try #require(HTTPField.Name("X-Name")), value: [0x80, 0x20, 0xff] as [UInt8])
            let writer = try #require(harness.store.openWriter(try Harness.makeOpening()))
            let stored = StoredResponse(
                url: try URLRecord(parsing: Harness.url), status: .ok, fields: HTTPFields([field]), requestTime: .min, responseTime: .max,
                selectingFields: SelectingFields(), content: .complete(length: 0))
            writer.finish(stored, trailers: HTTPFields([field]))
            let entry = try await harness.entry()
            let values = [entry.stored.fields, try #require(entry.trailers)].flatMap { $0 }.map { field in
                unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }
            }
            #expect(values == [[0x80, 0x20, 0xff], [0x80, 0x20, 0xff]])
            #expect(entry.stored.requestTime == .min && entry.stored.responseTime == .max)
        },
        CacheStoreCase("partitions are separate") { harness in
            try harness.storeBody([1], partition: "https://a.example")
            try harness.storeBody([2], partition: "https://b.example")
            #expect(try await harness.entries().isEmpty)
            try harness.storeBody([3], partition: "")
            #expect(try await harness.bodies(partition: "https://b.example") == [[2]])
            #expect(try await harness.entries().isEmpty)
            harness.store.remove(.url(try URLRecord(parsing: "https://example.org/a#x")))
            for partition in ["https://a.example", "https://b.example", ""] {
                #expect(try await harness.entries(partition: partition).isEmpty)
            }
        },
        // RFC 9111 §4.1
        CacheStoreCase("variants are stored together and replaced") { harness in
            try harness.storeBody([1], "Vary: Foo", request: "Foo: 1")
            try harness.storeBody([2], "Vary: Foo", request: "Foo: 2")
            try harness.storeBody([3], "Vary: Foo", request: "Foo: 1")
            #expect(try await harness.bodies() == [[2], [3]])
            // A response without Vary replaces only what its own request selects.
            try harness.storeBody([4], request: "Foo: 1")
            #expect(try await harness.bodies() == [[2], [4]])
        },
        CacheStoreCase("the oldest variant makes room for a new one") { harness in
            for number in 0..<Variants.limit + 2 {
                try harness.storeBody([UInt8(number)], "Vary: Foo", request: "Foo: \(number)", secondsAfterReference: Int64(number))
            }
            #expect(try await harness.bodies() == (2..<Variants.limit + 2).map { [UInt8($0)] })
        },
        CacheStoreCase("a response to a later request stays") { harness in
            try harness.storeBody([1], secondsAfterReference: 10)
            try harness.storeBody([2], secondsAfterReference: 9)
            #expect(try await harness.bodies() == [[1]])
            try harness.storeBody([3], secondsAfterReference: 10)
            #expect(try await harness.bodies() == [[3]])
        },
    ]
}
