// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import Foundation
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanTestSupport
    import PortolanURL
    import TestThreads
    import Testing

    @testable import PortolanStore

    private typealias Harness = CacheStoreHarness

    /// Several stores in one folder: in this process, and in processes that end or are killed.
    @Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct DiskCacheSharingTests {
        private let fixture: CacheFixture

        init() throws { fixture = try CacheFixture() }

        @Test func storesSeeTheChangesOfEachOther() async throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            try Harness(first).storeBody(Harness.pattern(1, count: 30_000), "A: 1")
            _ = try first.summary()
            let entry = try await Harness(second).entry()
            #expect(try await Harness.octets(of: entry.body) == Harness.pattern(1, count: 30_000))
            let updated = entry.stored.updated(by: try Harness.fields("A: 2"), request: HTTPFields(), requestTime: 5, responseTime: 5)
            second.update(entry.id, to: updated.response)
            _ = try second.summary()
            #expect(try await Harness(first).entry().stored.responseTime == 5)
            second.remove(.all)
            _ = try second.summary()
            #expect(try await Harness(first).entries().isEmpty && fixture.bodyFiles == [])
        }

        /// What was requested before a removal by another store can be older than the reason for it.
        @Test(arguments: [CacheSelection.all, .host("example.org"), .host("example.com"), .since(0)], [10, 300_000])
        func removalEndsTheWritersOfOtherStores(selection: CacheSelection, count: Int) async throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            let octets = Harness.pattern(1, count: count)
            let writer = try #require(first.openWriter(try Harness.makeOpening()))
            #expect(Harness.write(octets, to: writer))
            second.remove(selection)
            _ = try second.summary()
            writer.finish(try Harness.makeStoredResponse(content: .complete(length: Int64(count))), trailers: nil)
            let isSelected = if case .host("example.com") = selection { false } else { true }
            #expect(try await Harness(first).entries().isEmpty == isSelected)
            #expect(try first.summary().byteCount == 0 || !isSelected)
            try Harness(first).storeBody(octets)
            #expect(try await Harness(second).entries().isEmpty == false || first.summary().entryCount == 1)
        }

        /// After a start of the system, the monotonic clock begins again.
        @Test func removalBeforeTheLastStartOfTheSystemDoesNotCount() async throws {
            try fixture.fill([:])
            try fixture.execute("INSERT INTO removal (time, kind, value) VALUES (\(Int64.max), 'all', 0)")
            let store = try fixture.open()
            try Harness(store).storeBody([1])
            #expect(try await Harness(store).bodies() == [[1]])
        }

        @Test func oldRemovalsAreForgotten() throws {
            try fixture.fill([:])
            let old = -2 * CacheIndex.removalLifetime
            for time in [old, Int64.max] { try fixture.execute("INSERT INTO removal (time, kind, value) VALUES (\(time), 'all', 0)") }
            let store = try fixture.open()
            store.remove(.host("example.org"))
            _ = try store.summary()
            #expect(try fixture.number("SELECT count(*) FROM removal") == 1)
            #expect(try fixture.number("SELECT count(*) FROM removal WHERE kind = 'host'") == 1)
        }

        @Test func entryThatAnotherStoreRemovesIsNotExtended() async throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            try Harness(first).storePart([1, 2], at: 0, of: 4)
            let part = try await Harness(first).entry()
            second.remove(.entry(part.id))
            _ = try second.summary()
            try Harness(first).storePart([3, 4], at: 2, of: 4, extending: part)
            #expect(try await Harness(first).entries().isEmpty && second.summary().byteCount == 0)
        }

        @Test func limitHoldsForAllStoresTogether() throws {
            let limit: Int64 = 2 << 20
            let stores = try (0..<3).map { _ in try fixture.open(byteLimit: limit) }
            var writers: [any CacheWriter] = []
            for round in 0..<8 {
                for (index, store) in stores.enumerated() {
                    let count = round % 2 == 0 ? 250_000 : 9000
                    let url = "https://example.org/\(round)/\(index)"
                    guard let writer = store.openWriter(try Harness.makeOpening(url)) else { continue }
                    let isWritten = Harness.write(Harness.pattern(round, count: count), to: writer)
                    if isWritten, round % 3 != 0 {
                        writer.finish(try Harness.makeStoredResponse("", url, content: .complete(length: Int64(count))), trailers: nil)
                    } else {
                        writers.append(writer)
                    }
                    let summary = try store.summary()
                    #expect(summary.byteCount <= limit)
                    #expect(try fixture.bodyFileSize <= limit)
                }
            }
            writers = []
            for store in stores { _ = try store.summary() }
            let verification = try stores[0].verify(removing: false)
            #expect(verification.damagedResponses == [] && verification.orphanCount == 0 && verification.intactCount > 3)
        }

        // MARK: Other processes

        /// The rounds of the next test: 200 in `scripts/cache-kill.sh`.
        private static let roundCount = ProcessInfo.processInfo.environment["PORTOLAN_CACHE_KILLS"].flatMap { Int($0) } ?? 12

        /// A process can be killed at any moment. Then each response is intact, and the limit holds.
        @Test func killedProcessLeavesTheCacheIntact() throws {
            let limit: Int64 = 4 << 20
            var random = SeededGenerator(seed: UInt64(Self.roundCount))
            for round in 0..<Self.roundCount {
                let filler = try FillerProcess(fixture.path, limit: limit, seed: round)
                try filler.waitForLoads(Int.random(in: 1...150, using: &random))
                filler.kill()
                #expect(!filler.text.contains("wrong"), "round \(round): \(filler.text.suffix(200))")
                // Before anything is cleaned up.
                #expect(try fixture.bodyFileSize <= limit, "round \(round)")
                #expect(try fixture.number("SELECT bytes FROM total") <= limit, "round \(round)")
                let store = try fixture.open(byteLimit: limit)
                let verification = try store.verify(removing: false)
                #expect(verification.damagedResponses == [] && verification.orphanCount == 0, "round \(round): \(verification)")
                #expect(verification.summary.byteCount <= limit)
                #expect(try fixture.number("SELECT count(*) FROM writing") == 0)
                #expect(
                    try fixture.number("SELECT bytes - (SELECT COALESCE(sum(cost), 0) FROM entry) FROM total") == 0, "round \(round)")
                store.waitForClose()
                #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path + "/processes") == [])
            }
            #expect(fixture.log.messages == [])
        }

        /// The loads of each process in the next test.
        private static let loadCount = ProcessInfo.processInfo.environment["PORTOLAN_CACHE_LOADS"].flatMap { Int($0) } ?? 1500

        @Test func processesFillAndReadOneFolder() throws {
            let limit: Int64 = 4 << 20
            let fillers = try (1...2).map { try FillerProcess(fixture.path, limit: limit, seed: 1000 + $0, loads: Self.loadCount) }
            for filler in fillers {
                let (status, line) = filler.waitForEnd()
                #expect(status == 0 && line.hasPrefix("hits "), "\(line)")
                #expect(line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 > Self.loadCount / 20, "\(line)")
            }
            let store = try fixture.open(byteLimit: limit)
            let verification = try store.verify(removing: false)
            #expect(verification.damagedResponses == [] && verification.orphanCount == 0 && verification.intactCount > 5)
            #expect(verification.summary.byteCount <= limit)
            #expect(fixture.log.messages == [])
        }

        /// A process of this user can have a file system of its own.
        private static var canMount: Bool {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
            process.arguments = ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "test", "/mnt"]
            process.standardError = FileHandle.nullDevice
            do { try process.run() } catch { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }

        /// Nothing is stored when the disk is full, and no load fails.
        @Test(.enabled(if: canMount), arguments: [4, 16, 40, 300, 900, 2500]) func fullDiskIsAMiss(kibibytes: Int) throws {
            try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
            let mount = "mount -t tmpfs -o size=\(kibibytes)k,mode=700 cache '\(fixture.path)' && exec \"$@\""
            let filler = try FillerProcess(
                fixture.path + "/full", limit: 64 << 20, seed: 5, loads: 600,
                launcher: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", mount, "sh"])
            let (status, line) = filler.waitForEnd()
            // Also if there is no room for the index.
            #expect(status == 0 && line.hasPrefix("hits "), "\(line)")
        }
    }
#endif
