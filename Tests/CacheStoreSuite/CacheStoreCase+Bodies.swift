// SPDX-License-Identifier: Apache-2.0

import PortolanCache
import PortolanCore
import PortolanURL
import Testing

private typealias Harness = CacheStoreHarness

/// Bodies: in pieces, in parts, shared by readers.
extension CacheStoreCase {
    static let bodies =
        [0, 1, 65_535, 65_536, 65_537, 200_000, 262_144, 1_000_000].flatMap { count in
            [1000, 65_536, 70_000, 1_000_000].map { step in bodyIsReadAsItWasWritten(count, step) }
        }
        + [
            // RFC 9111 §3.4: the octets that an extended entry has then, and those that count where both have some.
            (0..<4, 4..<10, "aaaabbbbbb"), (4..<10, 0..<4, "bbbbaaaaaa"), (0..<6, 4..<10, "aaaabbbbbb"), (4..<10, 0..<6, "bbbbbbaaaa"),
            (2..<8, 4..<6, "aabbaa"), (2..<4, 0..<10, "bbbbbbbbbb"), (0..<2, 8..<10, "aabb"), (0..<10, 5..<5, "aaaaaaaaaa"),
        ].map { (old: Range<Int>, new: Range<Int>, expected: String) in entryIsExtended(old, new, expected) }
        + otherBodies

    private static func bodyIsReadAsItWasWritten(_ count: Int, _ step: Int) -> CacheStoreCase {
        CacheStoreCase("a body of \(count) octets, written in pieces of \(step), is read as it was written") { harness in
            let octets = Harness.pattern(count, count: count)
            let writer = try #require(harness.store.openWriter(try Harness.makeOpening()))
            for start in stride(from: 0, to: count, by: step) {
                #expect(Harness.write(Array(octets[start..<min(start + step, count)]), to: writer))
            }
            writer.finish(try Harness.makeStoredResponse(content: .complete(length: Int64(count))), trailers: nil)
            let body = try await harness.entry().body
            #expect(body.ranges == ByteRangeSet(0..<Int64(count)))
            #expect(try await Harness.octets(of: body) == octets)
            #expect(try await Harness.octets(of: body, atMost: 9999) == octets)
            let middle = Int64(count / 3)..<Int64(count - count / 4)
            #expect(try await Harness.octets(of: body, middle) == Array(octets[Int(middle.lowerBound)..<Int(middle.upperBound)]))
            await #expect(throws: LoadError.self) { try await Harness.octets(of: body, 0..<Int64(count + 1)) }
        }
    }

    private static func entryIsExtended(_ old: Range<Int>, _ new: Range<Int>, _ expected: String) -> CacheStoreCase {
        CacheStoreCase("the octets \(old) are extended by \(new)") { harness in
            try harness.storePart(Array(repeating: UInt8(ascii: "a"), count: old.count), at: old.lowerBound, of: 10)
            let part = try await harness.entry()
            // Reads the part before and after it is extended.
            let reader = CacheBodyCollector(part.body.makeReader(of: Int64(old.lowerBound)..<Int64(old.upperBound)))
            #expect(try await reader.readNext(atMost: 1))
            try harness.storePart(Array(repeating: UInt8(ascii: "b"), count: new.count), at: new.lowerBound, of: 10, extending: part)
            let entry = try await harness.entry()
            var octets: [UInt8] = []
            for range in entry.body.ranges.ranges { octets += try await Harness.octets(of: entry.body, range) }
            #expect(String(decoding: octets, as: UTF8.self) == expected && entry.id != part.id)
            #expect(entry.stored.content.ranges == entry.body.ranges)
            while try await reader.readNext() {}
            #expect(reader.octets == Array(repeating: UInt8(ascii: "a"), count: old.count))
            reader.close()
        }
    }

    private static let otherBodies = [
        CacheStoreCase("a large entry is extended in the middle") { harness in
            let octets = Harness.pattern(1, count: 700_000)
            let first = try #require(harness.store.openWriter(try Harness.makeOpening()))
            #expect(Harness.write(Array(octets[..<300_000]), to: first))
            let content = Harness.makeContent(0..<300_000, completeLength: 700_000)
            first.finish(try Harness.makeStoredResponse("ETag: \"a\"", content: content), trailers: nil)
            for range in [600_000..<700_000, 290_000..<610_000] {
                let part = try await harness.entry()
                #expect(!part.stored.content.isComplete)
                var opening = try Harness.makeOpening()
                (opening.position, opening.extended) = (Int64(range.lowerBound), part.id)
                let writer = try #require(harness.store.openWriter(opening))
                #expect(Harness.write(Array(octets[range]), to: writer))
                let newer = try Harness.makeStoredResponse("ETag: \"a\"", content: Harness.makeContent(range, completeLength: 700_000))
                writer.finish(try #require(part.stored.combined(with: newer)), trailers: nil)
            }
            let entry = try await harness.entry()
            #expect(entry.stored.content == .complete(length: 700_000))
            #expect(try await Harness.octets(of: entry.body) == octets)
        },
        CacheStoreCase("readers of one body do not disturb each other") { harness in
            let octets = Harness.pattern(1, count: 600_000)
            try harness.storeBody(octets)
            let body = try await harness.entry().body
            let readers = (0..<5).map { CacheBodyCollector(body.makeReader(of: Int64($0 * 1000)..<600_000)) }
            for step in 0..<3 { for reader in readers { #expect(try await reader.readNext(atMost: 1000 + step)) } }
            for (index, reader) in readers.enumerated() {
                while try await reader.readNext(atMost: 100_000) {}
                #expect(reader.octets == Array(octets[(index * 1000)...]))
                reader.close()
            }
        },
        CacheStoreCase("a reader keeps the body of a removed entry") { harness in
            let octets = Harness.pattern(7, count: 900_000)
            try harness.storeBody(octets)
            let reader = CacheBodyCollector(try await harness.entry().body.makeReader(of: 0..<900_000))
            #expect(try await reader.readNext(atMost: 3000))
            harness.store.remove(.all)
            #expect(try await harness.entries().isEmpty)
            while try await reader.readNext(atMost: 3000) {}
            #expect(reader.octets == octets)
            reader.close()
        },
        CacheStoreCase("a removed entry is not extended", byteLimit: 80_000) { harness in
            let first = try #require(harness.store.openWriter(try Harness.makeOpening()))
            #expect(Harness.write(Harness.pattern(1, count: 4000), to: first))
            let content = Harness.makeContent(0..<4000, completeLength: 8000)
            first.finish(try Harness.makeStoredResponse("ETag: \"a\"", content: content), trailers: nil)
            var opening = try Harness.makeOpening()
            (opening.position, opening.extended) = (4000, try await harness.entry().id)
            let second = try #require(harness.store.openWriter(opening))
            _ = Harness.write(Harness.pattern(2, count: 4000), to: second)
            harness.store.remove(.entry(try #require(opening.extended)))
            second.finish(try Harness.makeStoredResponse("ETag: \"a\"", content: .complete(length: 8000)), trailers: nil)
            #expect(try await harness.entries().isEmpty)
            let third = harness.store.openWriter(opening)
            _ = third.map { Harness.write(Harness.pattern(2, count: 4000), to: $0) }
            third?.finish(try Harness.makeStoredResponse("ETag: \"a\"", content: .complete(length: 8000)), trailers: nil)
            #expect(try await harness.entries().isEmpty)
        },
        CacheStoreCase("an entry is not extended beyond an eighth of the limit", byteLimit: 80_000) { harness in
            try harness.storePart(Harness.pattern(1, count: 6000), at: 0, of: 12_000)
            let part = try await harness.entry()
            try harness.storePart(Harness.pattern(1, count: 6000), at: 6000, of: 12_000, extending: part)
            for entry in try await harness.entries() { #expect(entry.body.ranges.count == 6000) }
        },
        CacheStoreCase("an entry of another URL is not extended") { harness in
            try harness.storePart([1, 2], at: 0, of: 4)
            let part = try await harness.entry()
            var opening = try Harness.makeOpening("https://example.org/b")
            (opening.position, opening.extended) = (2, part.id)
            let writer = harness.store.openWriter(opening)
            _ = writer.map { Harness.write([3, 4], to: $0) }
            writer?.finish(
                try Harness.makeStoredResponse("ETag: \"a\"", "https://example.org/b", content: .complete(length: 4)), trailers: nil)
            #expect(try await harness.entries("https://example.org/b").isEmpty)
            #expect(try await Harness.octets(of: harness.entry().body) == [1, 2])
        },
        // A handler that validates its own responses reads the body in this way.
        CacheStoreCase("the body for a handler is rewindable") { harness in
            let octets = Harness.pattern(3, count: 10_000)
            try harness.storeBody(octets)
            let body = try await harness.entry().body.body(of: 10..<10_000)
            #expect(body.length == 9990 && body.isRewindable)
            for _ in 0..<2 {
                let reader = try body.makeReader()
                var received: [UInt8] = []
                var isAtEnd = false
                while !isAtEnd {
                    let isReady = ReadySignal()
                    received += [UInt8](capacity: 1000) { output in
                        switch reader.read(into: &output, whenReady: { isReady.signal() }) {
                        case .end: isAtEnd = true
                        case .wait: break
                        default: isReady.signal()
                        }
                        if isAtEnd { isReady.signal() }
                    }
                    await isReady.wait()
                }
                #expect(received == Array(octets[10...]))
                reader.close()
            }
        },
    ]
}

/// One call that another task waits for.
private final class ReadySignal: Sendable {
    private let (stream, continuation) = AsyncStream<Void>.makeStream()

    func signal() { continuation.finish() }
    func wait() async { for await _ in stream {} }
}
