// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import Foundation
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    private typealias Harness = CacheStoreHarness

    /// What is damaged is not found. It is never delivered, and never an error of a load.
    @Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct DiskCacheDamageTests {
        private let fixture: CacheFixture
        private static let small = Harness.pattern(1, count: 900)
        private static let large = Harness.pattern(2, count: 300_000)
        private static let fields = "ETag: \"tag\" | Content-Type: text/plain"

        init() throws {
            fixture = try CacheFixture()
            try fixture.fill(["https://example.org/s": Self.small, "https://example.org/l": Self.large], Self.fields)
        }

        /// Opens the cache, and checks that each response is right or missing.
        ///
        /// - Returns: how many responses are there.
        private func check(_ comment: String) async throws -> Int {
            let store = try fixture.open()
            var count = 0
            for (name, octets) in [("s", Self.small), ("l", Self.large)] {
                for entry in try await Harness(store).entries("https://example.org/\(name)") {
                    do {
                        let body = try await Harness.octets(of: entry.body)
                        let stored = entry.stored
                        #expect(try body == octets && stored.fields == Harness.fields(Self.fields) && stored.status == .ok, "\(comment)")
                        #expect(stored.requestTime == Harness.referenceTime && stored.responseTime == Harness.referenceTime, "\(comment)")
                        count += 1
                    } catch is LoadError {
                        // The load begins again without the entry.
                    }
                }
            }
            close(store)
            return count
        }

        private func close(_ store: DiskCacheStore) { store.waitForClose() }

        /// A copy of the folder, to damage it again and again.
        private func contents() throws -> [String: [UInt8]] {
            let names = try ["index.sqlite"] + fixture.bodyFiles
            return Dictionary(uniqueKeysWithValues: try names.map { ($0, try fixture.bytes(of: $0)) })
        }

        private func restore(_ contents: [String: [UInt8]]) throws {
            for name in try FileManager.default.contentsOfDirectory(atPath: fixture.path) where name.hasPrefix("index.sqlite-") {
                try FileManager.default.removeItem(atPath: fixture.path + "/" + name)
            }
            for (name, bytes) in contents { try fixture.replace(name, by: bytes) }
        }

        @Test func flippedBitOfABodyIsAMiss() async throws {
            let contents = try contents()
            let name = try #require(try fixture.bodyFiles.first)
            let bytes = try #require(contents[name])
            for position in [0, 1, 1000, 262_143, 262_144, 299_999] {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8(position % 8)
                try restore(contents)
                try fixture.replace(name, by: damaged)
                #expect(try await check("\(position)") == 1)
                // It is gone, and not tried again.
                #expect(try fixture.number("SELECT count(*) FROM entry") == 1)
            }
            #expect(fixture.log.messages.allSatisfy { $0.contains("is damaged, and is removed") })
        }

        /// Each octet of the rows of both responses, and of the body in the index.
        @Test func flippedBitOfARowIsAMiss() async throws {
            let contents = try contents()
            let bytes = try #require(contents["index.sqlite"])
            // A checksum of the body is before the URL.
            for url in ["https://example.org/s", "https://example.org/l"] {
                let start = try #require(Self.position(of: [1, UInt8(url.utf8.count), 0, 0, 0] + Array(url.utf8), in: bytes)) - 8
                for position in stride(from: start, to: start + 260, by: 3) {
                    var damaged = bytes
                    damaged[position] ^= 1 << UInt8(position % 8)
                    try restore(contents)
                    try fixture.replace("index.sqlite", by: damaged)
                    #expect(try await check("\(url) \(position - start)") <= 2)
                    if position < start + 150 {
                        #expect(try fixture.number("SELECT count(*) FROM entry") < 2, "\(url) \(position - start)")
                    }
                }
            }
            let body = try #require(Self.position(of: Array(Self.small[100..<200]), in: bytes))
            for position in stride(from: body - 90, to: body + 700, by: 31) {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8(position % 8)
                try restore(contents)
                try fixture.replace("index.sqlite", by: damaged)
                #expect(try await check("body \(position - body)") == 1)
            }
        }

        private static func position(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
            bytes.indices.dropLast(pattern.count).first { bytes[$0] == pattern[0] && bytes[$0..<$0 + pattern.count] == pattern[...] }
        }

        /// Anywhere in the index: in the header of the file, in the pages of the schema, and in free space.
        @Test func flippedBitOfTheIndexIsNeverAWrongResponse() async throws {
            let contents = try contents()
            let bytes = try #require(contents["index.sqlite"])
            var random = SeededGenerator(seed: 4)
            let header = Array(0..<110)
            let others = (0..<250).map { _ in Int.random(in: 0..<bytes.count, using: &random) }
            for position in header + others {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try restore(contents)
                try fixture.replace("index.sqlite", by: damaged)
                do {
                    _ = try await check("\(position)")
                } catch let error as StoreError {
                    // A bit of the version or the kind makes it a file of a newer version or of another program.
                    #expect([.newerVersion, .foreignFile].contains(error.code), "\(position): \(error)")
                }
            }
        }

        @Test(arguments: [0, 1, 100, 4096, 10_000]) func cutIndexIsEmptied(length: Int) async throws {
            let bytes = try fixture.bytes(of: "index.sqlite")
            try fixture.replace("index.sqlite", by: bytes.prefix(length))
            #expect(try await check("\(length)") == 0)
            // The bodies go with it.
            #expect(try fixture.bodyFiles == [])
            try fixture.fill([Harness.url: [1]])
            let store = try fixture.open()
            #expect(try await Harness(store).bodies() == [[1]])
        }

        @Test(arguments: [nil, 0, 1, 262_144, 299_999]) func cutBodyIsAMiss(length: Int?) async throws {
            let name = try #require(try fixture.bodyFiles.first)
            if let length {
                try fixture.temporary.resize("cache/" + name, to: length)
            } else {
                try FileManager.default.removeItem(atPath: fixture.path + "/" + name)
            }
            let store = try fixture.open()
            #expect(try store.verify(removing: false).damagedResponses.map(\.url) == ["https://example.org/l"])
            #expect(try await Harness(store).entries("https://example.org/l").count == 1)
            let verification = try store.verify(removing: true)
            #expect(verification.damagedResponses.count == 1 && verification.summary.entryCount == 1 && verification.intactCount == 1)
            #expect(try await Harness(store).entries("https://example.org/l").isEmpty && fixture.bodyFiles == [])
        }

        @Test func verificationFindsABodyThatIsTooLong() throws {
            let name = try #require(try fixture.bodyFiles.first)
            try fixture.replace(name, by: try fixture.bytes(of: name) + [0])
            let verification = try fixture.open().verify(removing: false)
            #expect(verification.damagedResponses.map(\.url) == ["https://example.org/l"] && verification.intactCount == 1)
        }

        /// A new checksum would hide the damage.
        @Test(arguments: [0, 262_143, 262_144, 299_999]) func damagedPartIsNotExtended(position: Int) async throws {
            let store = try fixture.open()
            var opening = try Harness.makeOpening("https://example.org/part")
            let first = try #require(store.openWriter(opening))
            #expect(Harness.write(Self.large, to: first))
            let content = Harness.makeContent(0..<300_000, completeLength: 300_003)
            let part = try Harness.makeStoredResponse("ETag: \"a\"", "https://example.org/part", content: content)
            first.finish(part, trailers: nil)
            let entry = try await Harness(store).entry("https://example.org/part")
            let name = String(entry.id.rawValue, radix: 16)
            let file = try #require(try fixture.bodyFiles.first { $0.hasSuffix(name + ".body") })
            var damaged = try fixture.bytes(of: file)
            damaged[position] ^= 1
            try fixture.replace(file, by: damaged)
            (opening.position, opening.extended) = (300_000, entry.id)
            let second = try #require(store.openWriter(opening))
            _ = Harness.write([1, 2, 3], to: second)
            second.finish(
                try Harness.makeStoredResponse("ETag: \"a\"", "https://example.org/part", content: .complete(length: 300_003)),
                trailers: nil)
            for entry in try await Harness(store).entries("https://example.org/part") { #expect(!entry.stored.content.isComplete) }
        }

        /// The open of a FIFO waits for a writer, unless it says that it does not.
        @Test func fifoInPlaceOfABodyIsAMiss() async throws {
            let name = try #require(try fixture.bodyFiles.first)
            try FileManager.default.removeItem(atPath: fixture.path + "/" + name)
            #expect(unsafe mkfifo(fixture.path + "/" + name, 0o600) == 0)
            #expect(try await check("FIFO") == 1)
        }

        @Test func verificationFindsDamagedRowsAndOrphans() throws {
            try fixture.execute("UPDATE content SET checksum = checksum + 1 WHERE body IS NOT NULL")
            let store = try fixture.open()
            // Not at the opening, which removes such files.
            _ = try store.summary()
            try fixture.replace("bodies/0000000000000123.body", by: [1])
            let found = try store.verify(removing: false)
            #expect(
                found.damagedResponses.count == 1 && found.damagedResponses[0].url == nil && found.orphanCount == 1
                    && found.intactCount == 1)
            #expect(try store.verify(removing: true).summary.entryCount == 1)
            let clean = try store.verify(removing: true)
            #expect(clean.damagedResponses == [] && clean.orphanCount == 0)
        }

        /// A folder is not removed as a file is, so it does not count as removed.
        @Test func verificationCountsOnlyWhatItRemoves() throws {
            let store = try fixture.open()
            _ = try store.summary()
            let path = fixture.path + "/bodies/0000000000000123.body"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try store.verify(removing: false).orphanCount == 1)
            #expect(try store.verify(removing: true).orphanCount == 0)
        }

        /// A full disk leaves an index without tables.
        @Test func emptyIndexOfAReadOnlyFolderIsNotDamaged() throws {
            try fixture.replace("index.sqlite", by: [])
            let error = try #require(throws: StoreError.self) { try DiskCacheStore.waitForOpenToRead(fixture.path) }
            #expect(error.code == .full && error.message.contains("is empty"), "\(error.message)")
        }

        /// What is in the folder of another program stays, whatever its name is.
        @Test(arguments: ["2024", "cafe", "123", "0000000000000123", "000000000000012G.body", "0000000000000ABC.body"])
        func filesOfOthersStay(name: String) throws {
            try fixture.replace("bodies/" + name, by: [1])
            let store = try fixture.open()
            _ = try store.verify(removing: true)
            #expect(try fixture.bodyFiles.contains("bodies/" + name))
        }

        /// As after a crash of the machine.
        @Test func indexOfZerosIsEmptied() async throws {
            try fixture.replace("index.sqlite", by: [UInt8](repeating: 0, count: 8192))
            #expect(try await check("zeros") == 0)
        }

        @Test func fileThatWasNeverAnIndexStays() throws {
            let text = Array("my precious notes, which are longer than the header of a database, and have nothing to do with a cache".utf8)
            try fixture.replace("index.sqlite", by: text)
            let error = try #require(throws: StoreError.self) { try fixture.open() }
            #expect(error.code == .foreignFile)
            #expect(try fixture.bytes(of: "index.sqlite") == text)
        }

        /// A command that only shows the cache does not empty it.
        @Test func damagedIndexIsAnErrorForThoseWhoDoNotRepairIt() throws {
            var damaged = try fixture.bytes(of: "index.sqlite")
            damaged[100] ^= 0xFF
            try fixture.replace("index.sqlite", by: damaged)
            let error = try #require(throws: StoreError.self) { try fixture.open(repairsIndex: false) }
            #expect(error.code == .corrupt)
            #expect(try fixture.bytes(of: "index.sqlite") == damaged && fixture.bodyFiles.count == 1)
        }

        // MARK: While the cache is open

        @Test func indexThatDisappearsIsMadeAgain() async throws {
            let store = try fixture.open()
            let harness = Harness(store)
            #expect(try await harness.entries("https://example.org/s").count == 1)
            // In one step, because the store makes files again while a folder is removed file by file.
            let goneFolder = fixture.path + ".gone"
            try FileManager.default.moveItem(atPath: fixture.path, toPath: goneFolder)
            try FileManager.default.removeItem(atPath: goneFolder)
            #expect(try await harness.entries("https://example.org/s").isEmpty)
            try harness.storeBody(Self.large)
            #expect(try await harness.bodies() == [Self.large])
            #expect(try store.summary().entryCount == 1)
        }

        @Test func indexThatIsDamagedWhileItIsOpenIsEmptied() async throws {
            let store = try fixture.open()
            let harness = Harness(store)
            #expect(try store.summary().entryCount == 2)
            let database = try Database(path: fixture.folder.indexPath, options: Database.Options())
            try database.set(pragma: "wal_checkpoint(TRUNCATE)")
            try database.close()
            let descriptor = unsafe Glibc.open(fixture.folder.indexPath, O_WRONLY)
            let noise = [UInt8](repeating: 0xA5, count: 4096)
            for page in 1..<20 { _ = unsafe pwrite(descriptor, noise, noise.count, page * 4096) }
            Glibc.close(descriptor)
            _ = try await harness.entries("https://example.org/s")
            try harness.storeBody([1])
            _ = try? store.summary()
            try harness.storeBody([2])
            #expect(try await harness.bodies() == [[2]])
            #expect(fixture.log.messages.contains { $0.contains("the cache is emptied") })
        }
    }
#endif
