// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCache

private typealias Fixtures = CacheStoreFixtures

/// What is stored in memory, found, updated and removed.
@Suite struct MemoryCacheStoreTests {
    @Test func storedResponseIsFound() throws {
        let store = MemoryCacheStore(byteLimit: 1 << 20)
        #expect(try Fixtures.entries(in: store).isEmpty)
        let url = try URLRecord(parsing: "https://user:secret@example.org/a#b")
        var response = Response(
            url: url, mimeType: MIMEType(parsing: "text/plain;charset=utf-8"), expectedLength: 3, suggestedFilename: "../x", status: .ok)
        (response.remainingContentCodings, response.isVerified) = (["br"], true)
        var opening = CacheOpening(CacheKey(url), CacheAttributes(response), request: HTTPFields())
        opening.expectedLength = 3
        let writer = try #require(store.openWriter(opening))
        #expect(Fixtures.write([1, 2], to: writer) && Fixtures.write([], to: writer) && Fixtures.write([3], to: writer))
        // It is not visible before its end.
        #expect(try Fixtures.entries(in: store).isEmpty)
        let trailers = try CacheFixtures.fields("Digest: x")
        writer.finish(try Fixtures.stored("ETag: \"a\"", content: .complete(length: 3)), trailers: trailers)
        let entries = try Fixtures.entries(in: store)
        try #require(entries.count == 1)
        let entry = entries[0]
        #expect(entry.stored.entityTag != nil && entry.trailers == trailers && entry.key.url.string == "https://example.org/a")
        #expect(try Fixtures.octets(of: entry.body) == [1, 2, 3] && entry.body.ranges == ByteRangeSet(0..<3))
        let answer = entry.response(.ok, StoredFields.answer(entry.stored, age: 5))
        #expect(answer.status == .ok && answer.fields[.age] == "5" && answer.expectedLength == 3 && answer.isVerified)
        #expect(answer.remainingContentCodings == ["br"] && answer.mimeType?.charset == "utf-8" && answer.textEncodingName == "utf-8")
        #expect(answer.unsanitizedFilename == "../x" && answer.url.string == "https://example.org/a")
        #expect(entry.response(.partialContent, HTTPFields(), length: 1).expectedLength == 1)
        // A finished writer does nothing.
        #expect(!Fixtures.write([4], to: writer))
        writer.finish(entry.stored, trailers: nil)
        writer.discard()
        #expect(try Fixtures.entries(in: store).count == 1)
    }

    @Test func responseWithoutStatusHasNone() throws {
        let store = MemoryCacheStore()
        let opening = CacheOpening(
            try Fixtures.key("echo:x"), CacheAttributes(Response(url: try URLRecord(parsing: "echo:x"))), request: HTTPFields())
        let writer = try #require(store.openWriter(opening))
        writer.finish(try Fixtures.stored("", "echo:x", content: .complete(length: 0)), trailers: nil)
        let entry = try #require(try Fixtures.entries("echo:x", in: store).first)
        #expect(entry.response(.ok, HTTPFields()).status == nil)
        #expect(entry.response(.notModified, HTTPFields()).status == .notModified)
    }

    /// RFC 9111 §4.1
    @Test func variantsAreStoredTogetherAndReplaced() throws {
        let store = MemoryCacheStore()
        try Fixtures.store([1], "Vary: Foo", request: "Foo: 1", in: store)
        try Fixtures.store([2], "Vary: Foo", request: "Foo: 2", in: store)
        try Fixtures.store([3], "Vary: Foo", request: "Foo: 1", in: store)
        let entries = try Fixtures.entries(in: store)
        #expect(try entries.map { try Fixtures.octets(of: $0.body) } == [[2], [3]])
        #expect(Set(entries.map(\.id)).count == 2 && store.entries.count == 2)
        // A response without Vary replaces only what its own request selects.
        try Fixtures.store([4], request: "Foo: 1", in: store)
        #expect(try Fixtures.entries(in: store).map { try Fixtures.octets(of: $0.body) } == [[2], [4]])
    }

    @Test func partitionsAreSeparate() throws {
        let store = MemoryCacheStore()
        try Fixtures.store([1], partition: "https://a.example", in: store)
        try Fixtures.store([2], partition: "https://b.example", in: store)
        #expect(try Fixtures.entries(in: store).isEmpty)
        let entries = try Fixtures.entries(partition: "https://b.example", in: store)
        #expect(try entries.map { try Fixtures.octets(of: $0.body) } == [[2]])
        store.remove(.url(try URLRecord(parsing: "https://example.org/a#x")))
        #expect(store.entries.isEmpty && store.byteCount == 0)
    }

    @Test func updateKeepsTheBody() throws {
        let store = MemoryCacheStore()
        try Fixtures.store([1, 2], "A: 1", in: store)
        let entry = try #require(try Fixtures.entries(in: store).first)
        let fields = try CacheFixtures.fields("A: 2 | B: " + String(repeating: "x", count: 1000))
        let before = store.byteCount
        store.update(entry.id, to: entry.stored.updated(by: fields, request: HTTPFields(), requestTime: 5, responseTime: 5).response)
        let updated = try #require(try Fixtures.entries(in: store).first)
        #expect(updated.id == entry.id && updated.body === entry.body && updated.stored.responseTime == 5)
        #expect(updated.stored.fields.contains(HTTPField.Name("B") ?? .age) && store.byteCount > before + 1000)
        // The octets can't change, and a removed entry stays removed.
        store.update(entry.id, to: try Fixtures.stored(content: .complete(length: 9)))
        #expect(try Fixtures.entries(in: store).first?.stored.content == .complete(length: 2))
        store.remove(.entry(entry.id))
        store.update(entry.id, to: updated.stored)
        #expect(store.entries.isEmpty && store.byteCount == 0)
    }

    private static let urls = [
        "https://example.org/a", "https://example.org/b?q", "https://example.org:8443/a", "http://example.org/a",
        "https://www.example.org/a",
    ]

    /// What stays of these URLs. The responses were received one second after the other.
    @Test(
        arguments: [
            ("url", [1, 2, 3, 4]), ("origin", [2, 3, 4]), ("host", [4]), ("since", [0, 1]), ("all", []), ("entry", [0, 1, 3, 4]),
        ])
    func selectionIsRemoved(selection: String, rest: [Int]) throws {
        let store = MemoryCacheStore()
        for (index, url) in Self.urls.enumerated() { try Fixtures.store([UInt8(index)], at: url, received: Int64(index), in: store) }
        let url = try URLRecord(parsing: Self.urls[0])
        let third = try #require(try Fixtures.entries(Self.urls[2], in: store).first)
        let selections: [String: CacheSelection] = [
            "url": .url(url), "origin": .origin(url), "host": .host("example.org"), "since": .since(CacheFixtures.now + 2), "all": .all,
            "entry": .entry(third.id),
        ]
        store.remove(try #require(selections[selection]))
        let remaining = try Self.urls.indices.filter { try !Fixtures.entries(Self.urls[$0], in: store).isEmpty }
        #expect(remaining == rest && store.entries.count == rest.count)
    }

    /// A response that began before an unsafe request may be older than its effect.
    @Test(arguments: [true, false]) func removalEndsTheWritersOfTheKey(isOwnURL: Bool) throws {
        let store = MemoryCacheStore()
        let writer = try #require(store.openWriter(try Fixtures.opening()))
        #expect(Fixtures.write([1], to: writer))
        store.remove(.url(try URLRecord(parsing: isOwnURL ? "https://example.org/a" : "https://example.org/b")))
        #expect(Fixtures.write([2], to: writer) == !isOwnURL)
        writer.finish(try Fixtures.stored(content: .complete(length: 2)), trailers: nil)
        #expect(try Fixtures.entries(in: store).isEmpty == isOwnURL && (store.byteCount == 0) == isOwnURL)
    }

    @Test func contentMustBeWhatWasWritten() throws {
        let store = MemoryCacheStore()
        for content in [StoredContent.complete(length: 1), .complete(length: 3), CacheFixtures.parts(1..<3, length: nil)] {
            let writer = try #require(store.openWriter(try Fixtures.opening()))
            #expect(Fixtures.write([1, 2], to: writer))
            writer.finish(try Fixtures.stored(content: content), trailers: nil)
            #expect(store.entries.isEmpty && store.byteCount == 0)
        }
    }

    @Test func refusedAndAbandonedResponsesLeaveNothing() throws {
        let store = MemoryCacheStore(byteLimit: 80_000)
        var opening = try Fixtures.opening()
        opening.policy = .notAllowed
        #expect(store.openWriter(opening) == nil)
        opening.policy = .allowedInMemoryOnly
        do {
            let writer = try #require(store.openWriter(opening))
            #expect(Fixtures.write(Fixtures.pattern(1, count: 5000), to: writer) && store.byteCount == 5000)
        }
        // The writer was released.
        #expect(store.byteCount == 0)
        let writer = try #require(store.openWriter(opening))
        #expect(Fixtures.write([1], to: writer))
        writer.discard()
        #expect(store.byteCount == 0 && !Fixtures.write([2], to: writer))
        // More than an eighth, with and without a known length.
        opening.expectedLength = 10_001
        #expect(store.openWriter(opening) == nil)
        opening.expectedLength = nil
        let large = try #require(store.openWriter(opening))
        #expect(Fixtures.write(Fixtures.pattern(1, count: 9999), to: large) && !Fixtures.write([1, 2], to: large))
        #expect(store.byteCount == 0 && !Fixtures.write([], to: large))
        // The fields count, too.
        try Fixtures.store([], "A: " + String(repeating: "x", count: 10_000), in: store)
        #expect(store.entries.isEmpty && store.byteCount == 0)
    }

    @Test func changesAreObserved() throws {
        let store = MemoryCacheStore()
        let texts = Mutex<[String]>([])
        let observation = store.observe { changes in
            // No lock is held.
            _ = store.byteCount
            texts.withLock { texts in
                for change in changes {
                    switch change {
                    case .stored: texts.append("stored")
                    case .updated: texts.append("updated")
                    case .removed(_, let reason): texts.append("\(reason)")
                    }
                }
            }
        }
        try Fixtures.store([1], in: store)
        try Fixtures.store([2], in: store)
        let entry = try #require(try Fixtures.entries(in: store).first)
        store.update(entry.id, to: entry.stored)
        store.remove(.all)
        store.remove(.all)
        #expect(texts.withLock { $0 } == ["stored", "replaced", "stored", "updated", "requested"])
        _ = consume observation
        try Fixtures.store([1], in: store)
        #expect(texts.withLock { $0.count } == 5)
    }
}
