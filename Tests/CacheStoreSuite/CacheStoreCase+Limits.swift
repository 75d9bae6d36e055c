// SPDX-License-Identifier: Apache-2.0

import PortolanCache
import PortolanCore
import PortolanURL
import Testing

private typealias Harness = CacheStoreHarness

/// The limit, and loads that use the store at the same time.
extension CacheStoreCase {
    static let limits = [
        CacheStoreCase("the least recently used entry goes first", byteLimit: 400_000) { harness in
            func url(_ index: Int) -> String { "https://example.org/\(index)" }
            // Five entries fit, whatever a store adds to a body.
            for index in 0..<5 { try harness.storeBody(Harness.pattern(index, count: 40_000), at: url(index)) }
            var found: [Int] = []
            for index in [1, 2, 3, 4, 0] where try await !harness.entries(url(index)).isEmpty { found.append(index) }
            #expect(found == [1, 2, 3, 4, 0])
            for index in 5..<20 {
                try harness.storeBody(Harness.pattern(index, count: 40_000), at: url(index))
                // This entry is used all the time.
                #expect(try await harness.bodies(url(0)) == [Harness.pattern(0, count: 40_000)])
            }
            // When the last one is found, the others were stored before.
            #expect(try await harness.bodies(url(19)) == [Harness.pattern(19, count: 40_000)])
            for index in 1..<5 { #expect(try await harness.entries(url(index)).isEmpty) }
        },
        CacheStoreCase("what can be found stays below the limit", byteLimit: 200_000) { harness in
            for index in 0..<60 { try harness.storeBody(Harness.pattern(index, count: 15_000), at: "https://example.org/\(index)") }
            var total: Int64 = 0
            // The last one first: when it is found, the others were stored before.
            for index in (0..<60).reversed() {
                for entry in try await harness.entries("https://example.org/\(index)") { total += entry.body.ranges.count }
            }
            #expect(total > 0 && total <= 200_000)
        },
        CacheStoreCase("a limit of zero stores nothing", byteLimit: 0) { harness in
            for count in [0, 1, 600] { try harness.storeBody(Harness.pattern(1, count: count)) }
            #expect(try await harness.entries().isEmpty)
        },
        // Tasks write, read, update and remove at the same time.
        CacheStoreCase("concurrent loads find whole bodies", byteLimit: 2 << 20) { harness in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 { group.addTask { try await useConcurrently(harness, seed: UInt64(task)) } }
                try await group.waitForAll()
            }
        },
    ]

    private static func useConcurrently(_ harness: CacheStoreHarness, seed: UInt64) async throws {
        var random = Numbers(state: seed)
        func count(_ number: Int) -> Int { 100 + number * 10_000 }
        for _ in 0..<60 {
            let number = random.below(10)
            let url = "https://example.org/\(number)"
            let octets = Harness.pattern(number, count: count(number))
            let writer = harness.store.openWriter(try Harness.makeOpening(url))
            for start in stride(from: 0, to: octets.count, by: 30_000) {
                _ = writer.map { Harness.write(Array(octets[start..<min(start + 30_000, octets.count)]), to: $0) }
                if random.below(50) == 0 { await Task.yield() }
            }
            writer?.finish(try Harness.makeStoredResponse("", url, content: .complete(length: Int64(octets.count))), trailers: nil)
            let found = random.below(10)
            let entries = try await harness.entries("https://example.org/\(found)")
            #expect(entries.count <= 1)
            for entry in entries {
                do throws(LoadError) {
                    let body = try await octetsOrError(of: entry)
                    #expect(body == Harness.pattern(found, count: count(found)))
                } catch {
                    // The entry was removed before its reader could open it. Its load begins again without the entry.
                }
                if random.below(10) == 0 { harness.store.update(entry.id, to: entry.stored) }
            }
            if random.below(40) == 0 { harness.store.remove(.url(try URLRecord(parsing: url))) }
        }
    }

    private static func octetsOrError(of entry: CacheEntry) async throws(LoadError) -> [UInt8] {
        do { return try await Harness.octets(of: entry.body) } catch {
            throw error as? LoadError ?? LoadError(.ioFailed, message: "\(error)")
        }
    }

    /// Random numbers that are the same in each run.
    private struct Numbers {
        var state: UInt64

        mutating func below(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }
    }
}
