// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Testing

@testable import PortolanCache

@Suite struct CombinedCacheStoreTests {
    private let memory = MemoryCacheStore(byteLimit: 1 << 20)
    private let persistent = MemoryCacheStore(byteLimit: 1 << 20)
    private let combined: CombinedCacheStore

    init() { combined = CombinedCacheStore(memory: memory, persistent: persistent) }

    @discardableResult
    private func store(
        _ text: String, _ policy: CacheStoragePolicy, request: String = "", vary: String = "", received: Int64 = 0
    ) throws -> Bool {
        var opening = try CacheStoreFixtures.opening(request: request)
        opening.policy = policy
        guard let writer = combined.openWriter(opening), CacheStoreFixtures.write(Array(text.utf8), to: writer) else { return false }
        let content = StoredContent.complete(length: Int64(text.utf8.count))
        writer.finish(try CacheStoreFixtures.stored(vary, request: request, content: content, received: received), trailers: nil)
        return true
    }

    private func texts() throws -> [String] {
        try CacheStoreFixtures.entries(in: combined).map { String(decoding: try CacheStoreFixtures.octets(of: $0.body), as: UTF8.self) }
    }

    @Test(arguments: [(CacheStoragePolicy.allowed, 0, 1), (.allowedInMemoryOnly, 1, 0), (.notAllowed, 0, 0)])
    func policyDecidesWhereAResponseIsStored(_ policy: CacheStoragePolicy, _ inMemory: Int, _ onDisk: Int) throws {
        #expect(try store("a", policy) == (policy != .notAllowed))
        #expect(memory.entries.count == inMemory && persistent.entries.count == onDisk)
        #expect(try texts().count == inMemory + onDisk)
    }

    /// Both stores number their entries from 1.
    @Test func identifiersNameTheStore() throws {
        try store("a", .allowed, request: "Accept: a", vary: "Vary: Accept")
        try store("b", .allowedInMemoryOnly, request: "Accept: b", vary: "Vary: Accept")
        let entries = try CacheStoreFixtures.entries(in: combined)
        #expect(memory.entries.map(\.id) == persistent.entries.map(\.id) && Set(entries.map(\.id)).count == 2)
        for entry in entries {
            var stored = entry.stored
            stored.fields[.server] = String(decoding: try CacheStoreFixtures.octets(of: entry.body), as: UTF8.self)
            combined.update(entry.id, to: stored)
        }
        #expect(memory.entries.map { $0.stored.fields[.server] } == ["b"] && persistent.entries.map { $0.stored.fields[.server] } == ["a"])
        let inMemory = try #require(entries.first { $0.stored.selectingFields == memory.entries.first?.stored.selectingFields })
        combined.remove(.entry(inMemory.id))
        #expect(try texts() == ["a"] && memory.entries.isEmpty)
    }

    /// A response replaces an older one for the same request in the other store.
    @Test(arguments: [CacheStoragePolicy.allowed, .allowedInMemoryOnly]) func newerResponseReplacesTheOlderOne(_ policy: CacheStoragePolicy)
        throws
    {
        try store("old", policy == .allowed ? .allowedInMemoryOnly : .allowed, received: 1)
        try store("new", policy, received: 2)
        #expect(try texts() == ["new"])
        try store("late", policy == .allowed ? .allowedInMemoryOnly : .allowed, received: 1)
        #expect(try texts().contains("new"))
    }

    @Test func removalReachesBothStores() throws {
        let selections: [CacheSelection] = [
            .all, .url(try URLRecord(parsing: "https://example.org/a")), .origin(try URLRecord(parsing: "https://example.org/")),
            .host("example.org"), .since(0),
        ]
        for selection in selections {
            try store("a", .allowed, request: "Accept: a", vary: "Vary: Accept")
            try store("b", .allowedInMemoryOnly, request: "Accept: b", vary: "Vary: Accept")
            #expect(try texts().count == 2)
            combined.remove(selection)
            #expect(memory.entries.isEmpty && persistent.entries.isEmpty)
        }
    }

    /// A part is extended in the store that has it. What only the memory may have does not extend a part of the other
    /// store.
    @Test(arguments: [CacheStoragePolicy.allowed, .allowedInMemoryOnly]) func partIsExtendedInItsStore(_ policy: CacheStoragePolicy) throws
    {
        for first in [CacheStoragePolicy.allowed, .allowedInMemoryOnly] {
            combined.remove(.all)
            var opening = try CacheStoreFixtures.opening()
            opening.policy = first
            let writer = try #require(combined.openWriter(opening))
            #expect(CacheStoreFixtures.write([0, 1], to: writer))
            writer.finish(
                try CacheStoreFixtures.stored("ETag: \"x\"", content: StoredContent(ByteRangeSet(0..<2), completeLength: 4)), trailers: nil)
            opening.extended = try #require(CacheStoreFixtures.entries(in: combined).first).id
            (opening.position, opening.policy) = (2, policy)
            guard let extending = combined.openWriter(opening) else {
                #expect(first == .allowed && policy == .allowedInMemoryOnly)
                continue
            }
            #expect(CacheStoreFixtures.write([2, 3], to: extending))
            extending.finish(try CacheStoreFixtures.stored("ETag: \"x\"", content: .complete(length: 4)), trailers: nil)
            let entry = try #require(CacheStoreFixtures.entries(in: combined).first)
            #expect(try CacheStoreFixtures.octets(of: entry.body) == [0, 1, 2, 3])
            #expect((first == .allowed ? persistent : memory).entries.count == 1)
        }
    }
}
