// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import Testing

private typealias Tester = CacheStoreTester

/// Updates, removals, and writers that store nothing.
extension CacheStoreCase {
    static let changes = removals + updates + writers

    private static let urls = [
        "https://example.org/a", "https://example.org/b?q", "https://example.org:8443/a", "http://example.org/a",
        "https://www.example.org/a",
    ]

    /// What stays of ``urls``. The responses were received one second after the other.
    private static let removals = [
        ("url", [1, 2, 3, 4]), ("origin", [2, 3, 4]), ("host", [4]), ("since", [0, 1]), ("all", []), ("entry", [0, 1, 3, 4]),
    ].map { (selection: String, rest: [Int]) in
        CacheStoreCase("of five responses, those selected by \(selection) are removed") { tester in
            for (index, url) in urls.enumerated() { try tester.store([UInt8(index)], at: url, received: Int64(index)) }
            let url = try URLRecord(parsing: urls[0])
            let third = try await tester.entry(urls[2])
            let selections: [String: CacheSelection] = [
                "url": .url(url), "origin": .origin(url), "host": .host("example.org"), "since": .since(Tester.now + 2), "all": .all,
                "entry": .entry(third.id),
            ]
            tester.store.remove(try #require(selections[selection]))
            // Once at once, and once more after the look-ups have waited for the store.
            for _ in 0..<2 {
                var remaining: [Int] = []
                for index in urls.indices where try await !tester.entries(urls[index]).isEmpty { remaining.append(index) }
                #expect(remaining == rest)
            }
        }
    }

    private static let updates = [
        CacheStoreCase("an update keeps the body") { tester in
            try tester.store([1, 2], "A: 1")
            let entry = try await tester.entry()
            let fields = try Tester.fields("A: 2 | B: " + String(repeating: "x", count: 1000))
            tester.store.update(
                entry.id, to: entry.stored.updated(by: fields, request: HTTPFields(), requestTime: 5, responseTime: 6).response)
            for _ in 0..<2 {
                let updated = try await tester.entry()
                #expect(updated.id == entry.id && updated.stored.requestTime == 5 && updated.stored.responseTime == 6)
                #expect(updated.stored.fields.map(\.value.count) == [1, 1000])
                #expect(try await Tester.octets(of: updated.body) == [1, 2])
            }
            // The octets can't change, and a removed entry stays removed.
            tester.store.update(entry.id, to: try Tester.stored(content: .complete(length: 9)))
            #expect(try await tester.entry().stored.content == .complete(length: 2))
            tester.store.remove(.entry(entry.id))
            tester.store.update(entry.id, to: entry.stored)
            #expect(try await tester.entries().isEmpty)
        },
        CacheStoreCase("an update of a large response keeps the body") { tester in
            let octets = Tester.pattern(1, count: 600_000)
            try tester.store(octets, "A: 1")
            for number in 2..<5 {
                let entry = try await tester.entry()
                let newer = try Tester.fields("A: \(number)")
                let updated = entry.stored.updated(by: newer, request: HTTPFields(), requestTime: 5, responseTime: Int64(number))
                tester.store.update(entry.id, to: updated.response)
                #expect(try await tester.entry().stored.responseTime == Int64(number))
                #expect(try await Tester.octets(of: tester.entry().body) == octets)
            }
        },
        CacheStoreCase("the selecting fields of an update count") { tester in
            try tester.store([1])
            let entry = try await tester.entry()
            let request = try Tester.fields("Foo: 1")
            let updated = entry.stored.updated(by: try Tester.fields("Vary: Foo"), request: request, requestTime: 5, responseTime: 5)
            tester.store.update(entry.id, to: updated.response)
            try tester.store([2], "Vary: Foo", request: "Foo: 2")
            #expect(try await tester.bodies() == [[1], [2]])
        },
    ]

    private static let writers =
        [true, false].map { isOwnURL in
            // A response that began before an unsafe request may be older than its effect.
            CacheStoreCase("the removal of \(isOwnURL ? "its" : "another") URL \(isOwnURL ? "ends" : "does not end") a writer") { tester in
                let writer = try #require(tester.store.openWriter(try Tester.opening()))
                #expect(Tester.write([1], to: writer))
                tester.store.remove(.url(try URLRecord(parsing: isOwnURL ? "https://example.org/a" : "https://example.org/b")))
                #expect(Tester.write([2], to: writer) == !isOwnURL)
                writer.finish(try Tester.stored(content: .complete(length: 2)), trailers: nil)
                #expect(try await tester.entries().isEmpty == isOwnURL)
            }
        }
        + [
            CacheStoreCase("a writer that was opened after a removal stores its response") { tester in
                tester.store.remove(.all)
                try tester.store([1])
                #expect(try await tester.bodies() == [[1]])
            },
            CacheStoreCase("the content must be what was written") { tester in
                for content in [StoredContent.complete(length: 1), .complete(length: 3), Tester.parts(1..<3, length: nil)] {
                    let writer = try #require(tester.store.openWriter(try Tester.opening()))
                    #expect(Tester.write([1, 2], to: writer))
                    writer.finish(try Tester.stored(content: content), trailers: nil)
                    #expect(try await tester.entries().isEmpty)
                }
            },
            CacheStoreCase("refused and abandoned responses leave nothing", byteLimit: 80_000) { tester in
                var opening = try Tester.opening()
                opening.policy = .notAllowed
                #expect(tester.store.openWriter(opening) == nil)
                opening.policy = .allowed
                // A writer that is released.
                #expect(Tester.write([1, 2, 3], to: try #require(tester.store.openWriter(opening))))
                let writer = try #require(tester.store.openWriter(opening))
                #expect(Tester.write([1], to: writer))
                writer.discard()
                #expect(!Tester.write([2], to: writer))
                writer.finish(try Tester.stored(content: .complete(length: 1)), trailers: nil)
                #expect(try await tester.entries().isEmpty)
                // More than an eighth, with and without a known length.
                opening.expectedLength = 10_001
                #expect(tester.store.openWriter(opening) == nil)
                opening.expectedLength = nil
                let large = try #require(tester.store.openWriter(opening))
                #expect(Tester.write(Tester.pattern(1, count: 9999), to: large) && !Tester.write([1, 2], to: large))
                #expect(!Tester.write([], to: large))
                large.finish(try Tester.stored(content: .complete(length: 9999)), trailers: nil)
                #expect(try await tester.entries().isEmpty)
                // The fields count, too.
                try tester.store([], "A: " + String(repeating: "x", count: 10_000))
                #expect(try await tester.entries().isEmpty)
            },
        ]
}
