// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Testing

@testable import PortolanCache

private typealias Fixtures = CacheStoreFixtures

/// The limit of the memory store, and what goes first.
@Suite struct MemoryCacheLimitTests {
    @Test func leastRecentlyUsedEntryGoesFirst() throws {
        let store = MemoryCacheStore(byteLimit: 100_000)
        func url(_ index: Int) -> String { "https://example.org/\(index)" }
        for index in 0..<8 { try Fixtures.store(Fixtures.pattern(index, count: 11_000), at: url(index), in: store) }
        #expect(store.entries.count == 8)
        #expect(try !Fixtures.entries(url(0), in: store).isEmpty)
        // The entry that was not used for the longest time.
        let second = try #require(store.entries.last)
        #expect(second.key == (try Fixtures.key(url(1))))
        store.update(second.id, to: second.stored)
        for index in 8..<10 { try Fixtures.store(Fixtures.pattern(index, count: 11_000), at: url(index), in: store) }
        let remaining = try (0..<10).filter { try !Fixtures.entries(url($0), in: store).isEmpty }
        #expect(remaining == [0, 1, 4, 5, 6, 7, 8, 9])
    }

    @Test func entriesWithoutBodyAreLimited() throws {
        let store = MemoryCacheStore(byteLimit: 50_000)
        for index in 0..<1000 { try Fixtures.store([], at: "https://example.org/\(index)", in: store) }
        #expect((30...90).contains(store.entries.count) && store.byteCount <= 50_000)
    }

    /// Writers hold everything, so one of them must end.
    @Test func openWritersCount() throws {
        let store = MemoryCacheStore(byteLimit: 80_000)
        try Fixtures.store(Fixtures.pattern(0, count: 9000), in: store)
        let writers = try (0..<9).map { try #require(store.openWriter(try Fixtures.opening("https://example.org/\($0)"))) }
        let areWritten = writers.map { Fixtures.write(Fixtures.pattern(1, count: 9000), to: $0) }
        #expect(areWritten == Array(repeating: true, count: 8) + [false])
        #expect(try Fixtures.entries(in: store).isEmpty && store.byteCount == 72_000)
        for (index, writer) in writers.enumerated() {
            writer.finish(try Fixtures.stored("", "https://example.org/\(index)", content: .complete(length: 9000)), trailers: nil)
            #expect(store.byteCount <= 80_000)
        }
        #expect(store.entries.count == 8)
    }

    @Test(arguments: [0, 1, 100, 4000]) func smallLimitsHold(limit: Int) throws {
        let store = MemoryCacheStore(byteLimit: limit)
        for count in [0, 1, 10, 600] {
            try Fixtures.store(Fixtures.pattern(count, count: count), at: "https://example.org/\(count)", in: store)
            #expect(store.byteCount <= limit)
        }
        #expect(store.entries.isEmpty)
        #expect(MemoryCacheStore(byteLimit: .min).byteCount == 0)
    }

    /// Random calls: the limit holds after each of them, nothing is counted twice or forgotten, and each body is one
    /// that was written.
    @Test(arguments: 0..<UInt64(12))
    func limitHoldsForAnySequenceOfCalls(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let limit = 40_000 + random.below(100_000)
        let store = MemoryCacheStore(byteLimit: limit)
        var writers: [(writer: any CacheWriter, opening: CacheOpening, octets: [UInt8], isOpen: Bool)] = []
        for step in 0..<400 {
            switch random.below(10) {
            case 0, 1, 2:
                var opening = try Fixtures.opening("https://example.org/\(random.below(12))", request: "Foo: \(random.below(3))")
                if random.below(3) == 0, let part = store.entries.first(where: { $0.key == opening.key && !$0.stored.content.isComplete }) {
                    (opening.extended, opening.position) = (part.id, part.body.ranges.count)
                }
                if let writer = store.openWriter(opening) { writers.append((writer, opening, [], true)) }
            case 3, 4, 5, 6:
                guard !writers.isEmpty else { continue }
                let index = random.below(writers.count)
                let octets = Fixtures.pattern(step, count: random.below(8) == 0 ? 0 : random.below(6000))
                if Fixtures.write(octets, to: writers[index].writer) {
                    #expect(writers[index].isOpen)
                    writers[index].octets += octets
                } else {
                    writers[index].isOpen = false
                }
            case 7, 8:
                guard !writers.isEmpty else { continue }
                let (writer, opening, octets, _) = writers.remove(at: random.below(writers.count))
                if random.below(6) == 0 {
                    writer.discard()
                } else {
                    try finish(writer, opening, octets, isComplete: random.below(2) == 0, store)
                }
            default:
                let entries = store.entries
                guard !entries.isEmpty else { continue }
                let entry = entries[random.below(entries.count)]
                switch random.below(5) {
                case 0: store.remove(.entry(entry.id))
                case 1: store.remove(.url(entry.key.url))
                case 2: store.update(entry.id, to: entry.stored)
                default: _ = store.entries(for: entry.key)
                }
            }
            try check(store, limit, open: writers.filter(\.isOpen).map(\.octets.count))
        }
        writers = []
        store.remove(.all)
        #expect(store.byteCount == 0 && store.entries.isEmpty)
    }

    private func finish(
        _ writer: any CacheWriter, _ opening: CacheOpening, _ octets: [UInt8], isComplete: Bool, _ store: MemoryCacheStore
    ) throws {
        let request = opening.request[values: HTTPField.Name("Foo") ?? .date].first ?? ""
        let length = opening.position + Int64(octets.count)
        let content = isComplete ? StoredContent.complete(length: length) : CacheFixtures.parts(0..<length, length: length + 5)
        let checksum = octets.hashValue
        let fields = "Vary: Foo | ETag: \"\(checksum)\" | X-Position: \(opening.position)"
        writer.finish(
            try Fixtures.stored(fields, opening.key.url.string, request: "Foo: \(request)", content: content), trailers: nil)
    }

    private func check(_ store: MemoryCacheStore, _ limit: Int, open counts: [Int]) throws {
        let entries = store.entries
        let cost = entries.reduce(0) { $0 + MemoryCacheState.cost(of: $1) }
        try #require(store.byteCount <= limit && cost <= store.byteCount)
        // Writers whose key was removed still hold their octets, until they learn it.
        try #require(store.byteCount == cost + counts.reduce(0, +))
        for entry in entries.prefix(3) {
            try #require(MemoryCacheState.cost(of: entry) <= limit / 8)
            let position = entry.stored.fields[values: HTTPField.Name("X-Position") ?? .date].first.flatMap { Int64($0) } ?? 0
            let octets = try Fixtures.octets(of: entry.body, position..<entry.body.ranges.count)
            let checksum = octets.hashValue
            try #require(entry.stored.fields[.eTag] == "\"\(checksum)\"")
        }
    }

    /// Tasks write, read, update and remove at the same time. Each body that is found is one that was written.
    @Test func concurrentLoadsFindWholeBodies() async throws {
        let limit = 300_000
        let store = MemoryCacheStore(byteLimit: limit)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SplitMix(state: UInt64(task))
                    for _ in 0..<100 {
                        let number = random.below(10)
                        let url = "https://example.org/\(number)"
                        let octets = Fixtures.pattern(number, count: 1000 + number * 2500)
                        let writer = store.openWriter(try Fixtures.opening(url))
                        for start in stride(from: 0, to: octets.count, by: 3000) {
                            _ = writer.map { Fixtures.write(Array(octets[start..<min(start + 3000, octets.count)]), to: $0) }
                            if random.below(50) == 0 { await Task.yield() }
                        }
                        writer?.finish(try Fixtures.stored("", url, content: .complete(length: Int64(octets.count))), trailers: nil)
                        let found = random.below(10)
                        let entries = try Fixtures.entries("https://example.org/\(found)", in: store)
                        #expect(entries.count <= 1 && store.byteCount <= limit)
                        for entry in entries {
                            #expect(try Fixtures.octets(of: entry.body) == Fixtures.pattern(found, count: 1000 + found * 2500))
                            if random.below(10) == 0 { store.update(entry.id, to: entry.stored) }
                        }
                        if random.below(40) == 0 { store.remove(.url(try URLRecord(parsing: url))) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.byteCount == store.entries.reduce(0) { $0 + MemoryCacheState.cost(of: $1) })
    }
}
