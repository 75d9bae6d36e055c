// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanCache

private typealias Fixtures = CacheStoreFixtures

/// Bodies in memory: in pieces, in parts, shared by readers.
@Suite struct MemoryCacheBodyTests {
    /// Bodies around the size of a piece, written and read in pieces of other sizes.
    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000], [1000, 65_536, 70_000, 200_000])
    func bodyIsReadAsItWasWritten(count: Int, step: Int) throws {
        let store = MemoryCacheStore()
        let octets = Fixtures.pattern(count, count: count)
        let writer = try #require(store.openWriter(try Fixtures.opening()))
        for start in stride(from: 0, to: count, by: step) {
            #expect(Fixtures.write(Array(octets[start..<min(start + step, count)]), to: writer))
        }
        writer.finish(try Fixtures.stored(content: .complete(length: Int64(count))), trailers: nil)
        let entry = try #require(try Fixtures.entries(in: store).first)
        #expect(try Fixtures.octets(of: entry.body) == octets)
        #expect(try Fixtures.octets(of: entry.body, atMost: 999) == octets)
        let middle = Int64(count / 3)..<Int64(count - count / 4)
        #expect(try Fixtures.octets(of: entry.body, middle) == Array(octets[Int(middle.lowerBound)..<Int(middle.upperBound)]))
        #expect(throws: LoadError.self) { try Fixtures.octets(of: entry.body, 0..<Int64(count + 1)) }
    }

    @Test func readersShareTheOctets() throws {
        let store = MemoryCacheStore()
        try Fixtures.store(Fixtures.pattern(1, count: 5000), in: store)
        var addresses: Set<UInt> = []
        for _ in 0..<3 {
            let entry = try #require(try Fixtures.entries(in: store).first)
            let result = entry.body.makeReader(of: 0..<5000).read(
                atMost: .max, { bytes in unsafe bytes.withUnsafeBytes { _ = addresses.insert(UInt(bitPattern: $0.baseAddress)) } },
                whenReady: {})
            guard case .bytes = result else { throw Fixtures.Unexpected.wait }
        }
        #expect(addresses.count == 1)
    }

    @Test func readerKeepsTheBodyOfARemovedEntry() throws {
        let store = MemoryCacheStore(byteLimit: 100_000)
        let octets = Fixtures.pattern(7, count: 10_000)
        try Fixtures.store(octets, in: store)
        let reader = try #require(try Fixtures.entries(in: store).first).body.makeReader(of: 0..<10_000)
        var received: [UInt8] = []
        func read() -> BodyRead {
            reader.read(atMost: 3000, { bytes in unsafe bytes.withUnsafeBytes { unsafe received.append(contentsOf: $0) } }, whenReady: {})
        }
        _ = read()
        for index in 0..<20 { try Fixtures.store(Fixtures.pattern(index, count: 10_000), at: "https://example.org/\(index)", in: store) }
        #expect(try Fixtures.entries(in: store).isEmpty)
        store.remove(.all)
        while case .bytes = read() {}
        #expect(received == octets)
    }

    /// A handler that validates its own responses reads the body in this way.
    @Test func bodyForAHandlerIsRewindable() throws {
        let store = MemoryCacheStore()
        let octets = Fixtures.pattern(3, count: 70_000)
        try Fixtures.store(octets, in: store)
        let entry = try #require(try Fixtures.entries(in: store).first)
        let body = entry.body.body(of: 10..<70_000)
        #expect(body.length == 69_990 && body.isRewindable)
        for _ in 0..<2 {
            let reader = try body.makeReader()
            var received: [UInt8] = []
            var isAtEnd = false
            while !isAtEnd {
                received += [UInt8](capacity: 1000) { output in
                    if case .end = reader.read(into: &output, whenReady: {}) { isAtEnd = true }
                }
            }
            #expect(received == Array(octets[10...]))
            reader.close()
        }
    }

    /// RFC 9111 §3.4: the octets that an extended entry has then, and those that count where both have some.
    @Test(
        arguments: [
            (0..<4, 4..<10, "aaaabbbbbb"), (4..<10, 0..<4, "bbbbaaaaaa"), (0..<6, 4..<10, "aaaabbbbbb"), (4..<10, 0..<6, "bbbbbbaaaa"),
            (2..<8, 4..<6, "aabbaa"), (2..<4, 0..<10, "bbbbbbbbbb"), (0..<2, 8..<10, "aabb"), (0..<10, 5..<5, "aaaaaaaaaa"),
        ] as [(Range<Int64>, Range<Int64>, String)])
    func entryIsExtended(old: Range<Int64>, new: Range<Int64>, expected: String) throws {
        let store = MemoryCacheStore()
        let fields = "ETag: \"a\""
        var opening = try Fixtures.opening()
        opening.position = old.lowerBound
        let first = try #require(store.openWriter(opening))
        #expect(Fixtures.write(Array(repeating: UInt8(ascii: "a"), count: old.count), to: first))
        first.finish(try Fixtures.stored(fields, content: StoredContent(ByteRangeSet(old), completeLength: 10)), trailers: nil)
        let part = try #require(try Fixtures.entries(in: store).first)
        (opening.position, opening.extended) = (new.lowerBound, part.id)
        let second = try #require(store.openWriter(opening))
        for _ in new { #expect(Fixtures.write([UInt8(ascii: "b")], to: second)) }
        let newer = try Fixtures.stored(fields, content: StoredContent(ByteRangeSet(new), completeLength: 10))
        second.finish(try #require(part.stored.combined(with: newer)), trailers: nil)
        let entries = try Fixtures.entries(in: store)
        try #require(entries.count == 1)
        let octets = try entries[0].body.ranges.ranges.flatMap { try Fixtures.octets(of: entries[0].body, $0) }
        #expect(String(decoding: octets, as: UTF8.self) == expected && entries[0].id != part.id)
        #expect(store.byteCount == MemoryCacheState.cost(of: entries[0]))
        // The part is unchanged for those who read it.
        #expect(try Fixtures.octets(of: part.body, old) == Array(repeating: UInt8(ascii: "a"), count: old.count))
    }

    @Test func removedEntryIsNotExtended() throws {
        let store = MemoryCacheStore(byteLimit: 80_000)
        var opening = try Fixtures.opening()
        let first = try #require(store.openWriter(opening))
        #expect(Fixtures.write(Fixtures.pattern(1, count: 5000), to: first))
        let part = try Fixtures.stored("ETag: \"a\"", content: CacheFixtures.parts(0..<5000, length: 9000))
        first.finish(part, trailers: nil)
        (opening.position, opening.extended) = (5000, try #require(try Fixtures.entries(in: store).first).id)
        // Both parts together must not exceed an eighth of the limit.
        opening.expectedLength = 5001
        #expect(store.openWriter(opening) == nil)
        opening.expectedLength = 4000
        let second = try #require(store.openWriter(opening))
        #expect(Fixtures.write(Fixtures.pattern(2, count: 4000), to: second))
        store.remove(.entry(try #require(opening.extended)))
        second.finish(try Fixtures.stored("ETag: \"a\"", content: .complete(length: 9000)), trailers: nil)
        #expect(store.entries.isEmpty && store.byteCount == 0)
        #expect(store.openWriter(opening) == nil)
    }
}
