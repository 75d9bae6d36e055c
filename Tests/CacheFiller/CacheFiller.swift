// SPDX-License-Identifier: Apache-2.0

import CacheStoreSuite
import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import Synchronization

#if Persistence
    import Logging
    import PortolanStore
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Uses a cache in a folder with eight loads at a time: each load stores a body, or reads one and compares it with what
/// must be in it. Prints a line after each load, and ends after LOADS loads, or when a test kills it. SEED selects the
/// loads. The exit status is 3 after a wrong body.
///
///     CacheFiller FOLDER LIMIT SEED LOADS
@main
enum CacheFiller {
    static func main() async {
        #if Persistence
            let arguments = CommandLine.arguments
            guard arguments.count == 5, let limit = Int64(arguments[2]), let seed = UInt64(arguments[3]), let loadCount = Int(arguments[4])
            else { exit(2) }
            do {
                let store = try await DiskCacheStore.open(arguments[1], byteLimit: limit, logger: Logger(label: "filler"))
                let filling = Filling(store, limit: limit, loadCount: loadCount)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<8 { group.addTask { try await filling.run(seed: seed &* 8 &+ UInt64(task)) } }
                    try await group.waitForAll()
                }
                let (hits, failures) = filling.counts
                close(store)
                print("hits \(hits) failures \(failures)")
            } catch {
                print("error: \(error)")
                exit(1)
            }
        #endif
    }
}

#if Persistence
    private func close(_ store: DiskCacheStore) { store.waitForClose() }

    private final class Filling: Sendable {
        private let harness: CacheStoreHarness
        private let limit: Int64
        private let loadCount: Int
        private let started = Atomic(0)
        private let hits = Atomic(0)
        private let failures = Atomic(0)

        init(_ store: DiskCacheStore, limit: Int64, loadCount: Int) {
            (harness, self.limit, self.loadCount) = (CacheStoreHarness(store), limit, loadCount)
        }

        var counts: (hits: Int, failures: Int) { (hits.load(ordering: .relaxed), failures.load(ordering: .relaxed)) }

        func run(seed: UInt64) async throws {
            var random = Numbers(state: seed)
            while started.add(1, ordering: .relaxed).oldValue < loadCount {
                let url = "https://example.org/\(random.below(60))"
                switch random.below(10) {
                case 0..<6: try await store(at: url, &random)
                case 6..<9: try await read(url)
                default: harness.store.remove(.url(try URLRecord(parsing: url)))
                }
                writeLine("load")
            }
        }

        private func store(at url: String, _ random: inout Numbers) async throws {
            // Bodies in the index, bodies of one block, and larger ones.
            let count = random.below([8000, 100_000, Int(limit) / 9][random.below(3)])
            let seed = random.below(250)
            let octets = CacheStoreHarness.pattern(seed, count: count)
            let opening = try CacheStoreHarness.makeOpening(url, expectedLength: random.below(2) == 0 ? count : nil)
            guard let writer = harness.store.openWriter(opening) else { return }
            for start in stride(from: 0, to: count, by: 50_000) {
                guard CacheStoreHarness.write(Array(octets[start..<min(start + 50_000, count)]), to: writer) else { return }
                await Task.yield()
            }
            if random.below(20) == 0 { return }
            let fields = "X-Seed: \(seed) | X-Count: \(count)"
            writer.finish(try CacheStoreHarness.makeStoredResponse(fields, url, content: .complete(length: Int64(count))), trailers: nil)
        }

        private func read(_ url: String) async throws {
            for entry in try await harness.entries(url) {
                let values = entry.stored.fields.map { Int($0.value) ?? -1 }
                guard values.count == 2, entry.body.ranges.count == Int64(values[1]) else { return fail("\(url) has wrong fields") }
                let octets: [UInt8]
                do {
                    octets = try await CacheStoreHarness.octets(of: entry.body)
                } catch {
                    // Another load has removed the entry before it was read.
                    failures.add(1, ordering: .relaxed)
                    continue
                }
                guard octets == CacheStoreHarness.pattern(values[0], count: values[1]) else { return fail("\(url) has a wrong body") }
                hits.add(1, ordering: .relaxed)
            }
        }

        private func fail(_ problem: String) {
            writeLine("wrong: \(problem)")
            exit(3)
        }
    }

    private func writeLine(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        guard unsafe Glibc.write(1, bytes, bytes.count) == bytes.count else { exit(4) }
    }

    /// Random numbers that are the same for the same seed.
    private struct Numbers {
        var state: UInt64

        mutating func below(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(max(1, limit)))
        }
    }
#endif
