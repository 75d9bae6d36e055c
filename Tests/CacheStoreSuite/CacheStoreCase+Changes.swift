// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import Testing

private typealias Harness = CacheStoreHarness

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
        CacheStoreCase("of five responses, those selected by \(selection) are removed") { harness in
            for (index, url) in urls.enumerated() { try harness.storeBody([UInt8(index)], at: url, secondsAfterReference: Int64(index)) }
            let url = try URLRecord(parsing: urls[0])
            let third = try await harness.entry(urls[2])
            let selections: [String: CacheSelection] = [
                "url": .url(url), "origin": .origin(url), "host": .host("example.org"),
                "since": .since(Harness.referenceTime + 2), "all": .all, "entry": .entry(third.id),
            ]
            harness.store.remove(try #require(selections[selection]))
            // Once at once, and once more after the look-ups have waited for the store.
            for _ in 0..<2 {
                var remaining: [Int] = []
                for index in urls.indices where try await !harness.entries(urls[index]).isEmpty { remaining.append(index) }
                #expect(remaining == rest)
            }
        }
    }

    private static let updates = [
        CacheStoreCase("an update keeps the body") { harness in
            try harness.storeBody([1, 2], "A: 1")
            let entry = try await harness.entry()
            let fields = try Harness.fields("A: 2 | B: " + String(repeating: "x", count: 1000))
            harness.store.update(
                entry.id, to: entry.stored.updated(by: fields, request: HTTPFields(), requestTime: 5, responseTime: 6).response)
            for _ in 0..<2 {
                let updated = try await harness.entry()
                #expect(updated.id == entry.id && updated.stored.requestTime == 5 && updated.stored.responseTime == 6)
                #expect(updated.stored.fields.map(\.value.count) == [1, 1000])
                #expect(try await Harness.octets(of: updated.body) == [1, 2])
            }
            // The octets can't change, and a removed entry stays removed.
            harness.store.update(entry.id, to: try Harness.makeStoredResponse(content: .complete(length: 9)))
            #expect(try await harness.entry().stored.content == .complete(length: 2))
            harness.store.remove(.entry(entry.id))
            harness.store.update(entry.id, to: entry.stored)
            #expect(try await harness.entries().isEmpty)
        },
        CacheStoreCase("an update of a large response keeps the body") { harness in
            let octets = Harness.pattern(1, count: 600_000)
            try harness.storeBody(octets, "A: 1")
            for number in 2..<5 {
                let entry = try await harness.entry()
                let newer = try Harness.fields("A: \(number)")
                let updated = entry.stored.updated(by: newer, request: HTTPFields(), requestTime: 5, responseTime: Int64(number))
                harness.store.update(entry.id, to: updated.response)
                #expect(try await harness.entry().stored.responseTime == Int64(number))
                #expect(try await Harness.octets(of: harness.entry().body) == octets)
            }
        },
        CacheStoreCase("the selecting fields of an update count") { harness in
            try harness.storeBody([1])
            let entry = try await harness.entry()
            let request = try Harness.fields("Foo: 1")
            let updated = entry.stored.updated(by: try Harness.fields("Vary: Foo"), request: request, requestTime: 5, responseTime: 5)
            harness.store.update(entry.id, to: updated.response)
            try harness.storeBody([2], "Vary: Foo", request: "Foo: 2")
            #expect(try await harness.bodies() == [[1], [2]])
        },
    ]

    private static let writers =
        [true, false].map { isOwnURL in
            // A response that began before an unsafe request may be older than its effect.
            CacheStoreCase("the removal of \(isOwnURL ? "its" : "another") URL \(isOwnURL ? "ends" : "does not end") a writer") { harness in
                let writer = try #require(harness.store.openWriter(try Harness.makeOpening()))
                #expect(Harness.write([1], to: writer))
                harness.store.remove(.url(try URLRecord(parsing: isOwnURL ? "https://example.org/a" : "https://example.org/b")))
                #expect(Harness.write([2], to: writer) == !isOwnURL)
                writer.finish(try Harness.makeStoredResponse(content: .complete(length: 2)), trailers: nil)
                #expect(try await harness.entries().isEmpty == isOwnURL)
            }
        }
        + [
            CacheStoreCase("a writer that was opened after a removal stores its response") { harness in
                harness.store.remove(.all)
                try harness.storeBody([1])
                #expect(try await harness.bodies() == [[1]])
            },
            CacheStoreCase("the content must be what was written") { harness in
                for content in [StoredContent.complete(length: 1), .complete(length: 3), Harness.makeContent(1..<3, completeLength: nil)] {
                    let writer = try #require(harness.store.openWriter(try Harness.makeOpening()))
                    #expect(Harness.write([1, 2], to: writer))
                    writer.finish(try Harness.makeStoredResponse(content: content), trailers: nil)
                    #expect(try await harness.entries().isEmpty)
                }
            },
            CacheStoreCase("refused and abandoned responses leave nothing", byteLimit: 80_000) { harness in
                var opening = try Harness.makeOpening()
                opening.policy = .notAllowed
                #expect(harness.store.openWriter(opening) == nil)
                opening.policy = .allowed
                // A writer that is released.
                #expect(Harness.write([1, 2, 3], to: try #require(harness.store.openWriter(opening))))
                let writer = try #require(harness.store.openWriter(opening))
                #expect(Harness.write([1], to: writer))
                writer.discard()
                #expect(!Harness.write([2], to: writer))
                writer.finish(try Harness.makeStoredResponse(content: .complete(length: 1)), trailers: nil)
                #expect(try await harness.entries().isEmpty)
                // More than an eighth, with and without a known length.
                opening.expectedLength = 10_001
                #expect(harness.store.openWriter(opening) == nil)
                opening.expectedLength = nil
                let large = try #require(harness.store.openWriter(opening))
                #expect(Harness.write(Harness.pattern(1, count: 9999), to: large) && !Harness.write([1, 2], to: large))
                #expect(!Harness.write([], to: large))
                large.finish(try Harness.makeStoredResponse(content: .complete(length: 9999)), trailers: nil)
                #expect(try await harness.entries().isEmpty)
                // The fields count, too.
                try harness.storeBody([], "A: " + String(repeating: "x", count: 10_000))
                #expect(try await harness.entries().isEmpty)
            },
        ]
}
