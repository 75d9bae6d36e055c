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

    /// What a cache on disk does besides the rules for all stores: it outlives its process, and says what it has.
    @Suite(.blocking, .timeLimit(.minutes(3))) struct DiskCacheStoreTests {
        private let fixture: CacheFixture

        init() throws { fixture = try CacheFixture() }

        private static let bodies = [0, 1, 16_384, 16_385, 262_144, 262_145, 700_000].map { count in
            ("https://example.org/\(count)", Harness.pattern(count, count: count))
        }

        @Test func responsesOutliveTheProcess() async throws {
            try fixture.fill(Dictionary(uniqueKeysWithValues: Self.bodies), "ETag: \"a\"")
            // Small bodies need no file.
            #expect(try fixture.bodyFiles.count == 4)
            for _ in 0..<2 {
                let store = try await DiskCacheStore.open(fixture.path, logger: fixture.log.logger)
                for (url, octets) in Self.bodies {
                    let entry = try await Harness(store).entry(url)
                    #expect(entry.stored.entityTag != nil)
                    #expect(try await Harness.octets(of: entry.body) == octets)
                }
                close(store)
            }
            #expect(fixture.log.messages == [])
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path).sorted() == ["bodies", "index.sqlite", "processes"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path + "/processes") == [])
        }

        private func close(_ store: DiskCacheStore) { store.waitForClose() }

        @Test func contentsAreListed() async throws {
            let store = try fixture.open(byteLimit: 10 << 20)
            let harness = Harness(store)
            try harness.storeBody(Harness.pattern(1, count: 10), "Content-Type: text/plain", at: "https://example.org/a")
            try harness.storeBody(Harness.pattern(2, count: 300_000), at: "https://example.org/b")
            try harness.storeBody(Harness.pattern(3, count: 20_000), at: "https://example.org/c", partition: "https://d.example")
            // The last body is stored before the first use.
            try store.waitForWrites()
            for _ in 0..<3 { #expect(try await harness.entries("https://example.org/b").count == 1) }
            let items = try store.items()
            #expect(items.map(\.key.url.string) == ["a", "b", "c"].map { "https://example.org/\($0)" })
            #expect(items.map(\.key.partition) == [nil, nil, "https://d.example"])
            #expect(items.map(\.bodyLength) == [10, 300_000, 20_000] && items.map(\.useCount) == [0, 3, 0])
            #expect(items.allSatisfy { $0.byteCount >= $0.bodyLength && $0.lastUse > Date(timeIntervalSince1970: 0) })
            #expect(items[1].lastUse > items[2].lastUse)
            let summary = try store.summary()
            #expect(summary.entryCount == 3 && summary.byteCount == items.reduce(0) { $0 + $1.byteCount })
            #expect(summary.path == fixture.path && summary.byteLimit == 10 << 20)
            let verification = try store.verify(removing: false)
            #expect(verification.intactCount == 3 && verification.damagedResponses == [] && verification.orphanCount == 0)
            var count = 0
            try store.forEachItem { _ in
                count += 1
                return false
            }
            #expect(count == 1)
            store.remove(.entry(items[1].id))
            #expect(try store.items().count == 2 && fixture.bodyFiles.count == 1)
        }

        @Test func limitOfTheFolderIsKept() throws {
            try fixture.open(byteLimit: 5 << 20).waitForClose()
            let store = try fixture.open()
            #expect(store.byteLimit == 5 << 20)
            store.waitForClose()
            let other = try fixture.open(at: fixture.path + "-2")
            #expect(other.byteLimit == 256 << 20)
        }

        @Test func smallerLimitRemovesResponses() throws {
            let store = try fixture.open(byteLimit: 10 << 20)
            for index in 0..<10 { try Harness(store).storeBody(Harness.pattern(index, count: 500_000), at: "https://example.org/\(index)") }
            #expect(try store.summary().entryCount == 10)
            store.waitForClose()
            let smaller = try fixture.open(byteLimit: 2 << 20)
            let summary = try smaller.summary()
            #expect(summary.byteCount <= 2 << 20 && summary.entryCount >= 2)
            #expect(try fixture.bodyFileSize <= 2 << 20)
        }

        // MARK: Room

        @Test(arguments: [15_000, 30_000]) func limitHoldsAfterEachResponse(count: Int) throws {
            let limit: Int64 = 1 << 20
            let store = try fixture.open(byteLimit: limit)
            for index in 0..<90 {
                try Harness(store).storeBody(Harness.pattern(index, count: count), at: "https://example.org/\(index)")
                let summary = try store.summary()
                #expect(summary.byteCount <= limit && summary.entryCount > min(index, 20), "\(index)")
            }
        }

        /// A disk stores whole blocks.
        @Test func fileCountsInWholeBlocks() throws {
            let store = try fixture.open()
            for (index, count) in [16_385, 20_480].enumerated() {
                try Harness(store).storeBody(Harness.pattern(1, count: count), at: "https://example.org/\(index)")
            }
            let counts = try store.items().map(\.byteCount)
            #expect(counts.count == 2 && counts[0] == counts[1] && counts[0] > 20_480)
        }

        @Test func updateChangesTheRoomOfAResponse() async throws {
            let store = try fixture.open()
            try Harness(store).storeBody([1], "A: 1")
            let (before, entry) = (try store.summary().byteCount, try await Harness(store).entry())
            let longer = try Harness.fields("A: " + String(repeating: "x", count: 1001))
            store.update(entry.id, to: entry.stored.updated(by: longer, request: HTTPFields(), requestTime: 5, responseTime: 5).response)
            #expect(try store.summary().byteCount == before + 1000)
        }

        /// The fields of a response count like its body.
        @Test(arguments: [10, 300_000]) func responseWithLargeFieldsIsNotStored(count: Int) throws {
            let store = try fixture.open(byteLimit: 4 << 20)
            for (index, length) in [100_000, 600_000].enumerated() {
                let url = "https://example.org/\(index)"
                try Harness(store).storeBody(Harness.pattern(1, count: count), "A: " + String(repeating: "x", count: length), at: url)
                #expect(try store.items().map(\.key.url.string) == ["https://example.org/0"])
            }
            #expect(try fixture.bodyFiles.count == (count < 20_000 ? 0 : 1))
        }

        /// A process that is killed between two changes, or a damaged page, can leave a wrong total.
        @Test(arguments: [0, 1 << 40]) func totalIsCountedAgainAtTheOpening(total: Int) throws {
            try fixture.fill([Harness.url: Harness.pattern(1, count: 1000)])
            let count = try fixture.number("SELECT bytes FROM total")
            try fixture.execute("UPDATE total SET bytes = \(total)")
            let summary = try fixture.open().summary()
            #expect(summary.byteCount == count && summary.entryCount == 1)
        }

        @Test func indexBecomesSmallerWhenResponsesAreRemoved() throws {
            let store = try fixture.open(byteLimit: 8 << 20)
            for index in 0..<240 { try Harness(store).storeBody(Harness.pattern(index, count: 16_000), at: "https://example.org/\(index)") }
            _ = try store.summary()
            let pages = try fixture.number("PRAGMA page_count")
            store.remove(.all)
            _ = try store.summary()
            #expect(try pages > 900 && fixture.number("PRAGMA page_count") < 400)
        }

        /// What was removed can be private.
        @Test func removedResponseIsNotInTheIndex() throws {
            let octets = Harness.pattern(1, count: 900)
            try fixture.fill(["https://example.org/a": octets, "https://example.org/b": [1]])
            func isInTheIndex() throws -> Bool {
                let bytes = try fixture.bytes(of: "index.sqlite")
                return bytes.indices.dropLast(200).contains { bytes[$0] == octets[0] && bytes[$0..<$0 + 200] == octets[..<200] }
            }
            #expect(try isInTheIndex())
            let store = try fixture.open()
            store.remove(.url(try Harness.key("https://example.org/a").url))
            store.waitForClose()
            #expect(try !isInTheIndex())
        }

        @Test func closedStoreFindsNothing() async throws {
            let store = try fixture.open()
            let harness = Harness(store)
            try harness.storeBody([1])
            let writer = try #require(store.openWriter(try Harness.makeOpening("https://example.org/b")))
            store.waitForClose()
            #expect(try await harness.entries().isEmpty && store.openWriter(try Harness.makeOpening()) == nil)
            #expect(!Harness.write([1], to: writer))
            store.remove(.all)
            #expect(throws: StoreError.self) { try store.summary() }
            store.waitForClose()
            #expect(try fixture.number("SELECT count(*) FROM entry") == 1)
        }

        /// A load that was just stopped keeps what it has received.
        @Test func closeWaitsForAWriterThatIsAboutToEnd() async throws {
            let store = try fixture.open()
            let writer = try #require(store.openWriter(try Harness.makeOpening()))
            let state = ConditionLock((hasBegun: false, isClosed: false))
            try PlatformThread.start {
                state.withLockBroadcasting { $0.hasBegun = true }
                store.waitForClose()
                state.withLockBroadcasting { $0.isClosed = true }
            }
            state.wait { $0.hasBegun ? () : nil }
            let octets = Harness.pattern(1, count: 100)
            for octet in octets { #expect(Harness.write([octet], to: writer)) }
            writer.finish(try Harness.makeStoredResponse(content: .complete(length: 100)), trailers: nil)
            state.wait { $0.isClosed ? () : nil }
            let other = try fixture.open()
            #expect(try await Harness(other).bodies() == [octets])
        }

        @Test func responseForMemoryOnlyIsRefused() throws {
            let store = try fixture.open()
            var opening = try Harness.makeOpening()
            opening.policy = .allowedInMemoryOnly
            #expect(store.openWriter(opening) == nil)
        }

        @Test(
            arguments: [
                (["XDG_CACHE_HOME": "/c", "HOME": "/h"], "/c/portolan"), (["XDG_CACHE_HOME": "c", "HOME": "/h"], "/h/.cache/portolan"),
                (["HOME": "/h"], "/h/.cache/portolan"), (["HOME": "h"], nil), ([:], nil),
            ] as [([String: String], String?)])
        func standardPathFollowsTheEnvironment(environment: [String: String], path: String?) {
            #expect(DiskCacheStore.standardPath { environment[$0] } == path)
        }

        @Test func missingCacheIsReported() throws {
            #expect(try DiskCacheStore.missingCacheReason(fixture.path)?.contains("does not exist") == true)
            try fixture.temporary.write([], to: "cache/file")
            #expect(try DiskCacheStore.missingCacheReason(fixture.path)?.contains("is not a cache") == true)
            try fixture.fill([:])
            #expect(try DiskCacheStore.missingCacheReason(fixture.path) == nil)
        }

        @Test func publicCacheUsesTheFolder() async throws {
            var cache: ResponseCache? = try await ResponseCache.open(folder: fixture.path, byteLimit: 1 << 20, logger: fixture.log.logger)
            try Harness(try #require(cache).store).storeBody([1])
            ((cache?.store) as? DiskCacheStore).map(close)
            cache = try openPublicly()
            #expect(try await Harness(try #require(cache).store).bodies() == [[1]])
        }

        /// A flush waits for the thread that writes.
        @Test func flushWaitsForChanges() async throws {
            let store = try fixture.open()
            let cache = ResponseCache(store: CombinedCacheStore(memory: MemoryCacheStore(), persistent: store))
            let gate = ConditionLock(false)
            store.core.writing.submit { _ in gate.wait { $0 ? () : nil } }
            try Harness(store).storeBody([1])
            let isFlushed = ConditionLock(false)
            cache.store.flush { isFlushed.withLockBroadcasting { $0 = true } }
            #expect(isFlushed.withLock { !$0 })
            gate.withLockBroadcasting { $0 = true }
            wait(for: isFlushed)
            #expect(try fixture.number("SELECT count(*) FROM entry") == 1)
            try Harness(store).storeBody([2], at: "https://example.org/2")
            await cache.flush()
            #expect(try fixture.number("SELECT count(*) FROM entry") == 2)
            close(store)
            // Nothing is left to write.
            await cache.flush()
            flush(cache)
        }

        private func wait(for condition: ConditionLock<Bool>) { condition.wait { $0 ? () : nil } }
        private func flush(_ cache: ResponseCache) { cache.waitForFlush() }

        private func openPublicly() throws(StoreError) -> ResponseCache { try ResponseCache.waitForOpen(folder: fixture.path) }

        // MARK: Privacy

        @Test func foldersAndFilesArePrivate() throws {
            let store = try fixture.open()
            try Harness(store).storeBody(Harness.pattern(1, count: 20_000))
            _ = try store.summary()
            for name in ["", "/bodies", "/processes"] { #expect(try mode("cache" + name) == 0o700) }
            let processes = try FileManager.default.contentsOfDirectory(atPath: fixture.path + "/processes").map { "processes/" + $0 }
            #expect(processes.count == 1)
            for name in try ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] + fixture.bodyFiles + processes {
                #expect(try mode("cache/" + name) == 0o600, "\(name)")
            }
        }

        private func mode(_ name: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: fixture.temporary.path(of: name))[.posixPermissions] as? Int
        }

        /// `cp -r` gives a copy other permissions.
        @Test func folderOfACacheBecomesPrivate() throws {
            try fixture.fill([Harness.url: Harness.pattern(1, count: 20_000)])
            try fixture.temporary.write([], to: "cache/processes/12")
            let folders = ["cache", "cache/bodies", "cache/processes"]
            for name in folders { try fixture.temporary.setPermissions(name, 0o755) }
            try fixture.open().waitForClose()
            #expect(try folders.map { try mode($0) } == [0o700, 0o700, 0o700])
        }

        @Test func emptyFolderBecomesPrivate() throws {
            try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
            try fixture.temporary.setPermissions("cache", 0o750)
            try fixture.open().waitForClose()
            #expect(try mode("cache") == 0o700)
        }

        /// Others may need to read what else is there.
        @Test func folderWithOtherFilesStaysAsItIs() throws {
            try fixture.temporary.write([], to: "cache/letter")
            try fixture.temporary.write([], to: "cache/bodies/17.body")
            for name in ["cache", "cache/bodies"] { try fixture.temporary.setPermissions(name, 0o755) }
            try fixture.open().waitForClose()
            #expect(try ["cache", "cache/bodies", "cache/processes"].map { try mode($0) } == [0o755, 0o755, 0o700])
            #expect(try mode("cache/index.sqlite") == 0o600)
        }

        @Test(arguments: ["cache", "cache/bodies", "cache/processes", "cache/index.sqlite"])
        func symbolicLinksAreRefused(name: String) throws {
            try fixture.fill([Harness.url: [1]])
            let path = fixture.temporary.path(of: name)
            try FileManager.default.moveItem(atPath: path, toPath: fixture.temporary.path(of: "moved"))
            try fixture.temporary.makeLink(name, to: fixture.temporary.path(of: "moved"))
            #expect(fixture.openingError()?.code == .notPrivate)
        }

        @Test(arguments: ["cache", "cache/bodies"]) func folderThatOthersCanChangeIsRefused(name: String) throws {
            try fixture.fill([:])
            try fixture.temporary.setPermissions(name, 0o770)
            #expect(fixture.openingError()?.code == .notPrivate)
        }

        @Test func bodyBehindALinkIsNotRead() async throws {
            let octets = Harness.pattern(1, count: 20_000)
            try fixture.fill([Harness.url: octets])
            let name = try #require(try fixture.bodyFiles.first)
            try fixture.temporary.write(octets, to: "other")
            try FileManager.default.removeItem(atPath: fixture.path + "/" + name)
            try fixture.temporary.makeLink("cache/" + name, to: fixture.temporary.path(of: "other"))
            let store = try fixture.open()
            let body = try await Harness(store).entry().body
            await #expect(throws: LoadError.self) { try await Harness.octets(of: body) }
        }

        /// The use of an entry changes with each hit, so its row has no checksum for it.
        @Test(
            arguments: ["use_count = 9223372036854775807", "use_count = -1", "used = 9223372036854775807", "used = -1"])
        func absurdUseIsDamage(change: String) async throws {
            try fixture.fill([Harness.url: [1]])
            try fixture.execute("UPDATE entry SET \(change)")
            #expect(try await Harness(try fixture.open()).entries().isEmpty)
        }

        // MARK: Other versions

        @Test(
            arguments: [
                ("PRAGMA user_version = 2", .newerVersion), ("PRAGMA application_id = 7", .foreignFile),
            ] as [(String, StoreError.Code)])
        func otherFormatIsAnError(sql: String, code: StoreError.Code) throws {
            try fixture.fill([Harness.url: [1]])
            try fixture.execute(sql)
            let error = try #require(fixture.openingError())
            #expect(error.code == code && error.message.contains("index.sqlite"))
            #expect(try fixture.number("SELECT count(*) FROM entry") == 1)
        }
    }
#endif
