// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCookies
    import PortolanCore
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    /// A damaged file is moved out of the way, and no file ends the program.
    @Suite(.blocking) struct DamagedFileTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        private static let cookieCount = 200

        /// The parts of the header that say whose file it is (<https://sqlite.org/fileformat.html> §1.3).
        private static let (version, application) = (60..<64, 68..<72)

        /// Opens the folder with a changed file, and writes to it. Either the file's cookies are read, or the file is
        /// moved out of the way unchanged. Only a header of another program or version makes the folder unusable.
        private func expectIsReadOrMoved(_ bytes: [UInt8], from original: [UInt8], _ comment: Comment) throws {
            let folder = try StateFixture()
            try folder.writeCookies(1)
            try folder.replace("cookies.sqlite", by: bytes)
            let state: StateFolder
            do throws(StoreError) {
                state = try folder.open()
            } catch {
                let range = error.code == .foreignFile ? Self.application : Self.version
                #expect([.foreignFile, .newerVersion].contains(error.code) && bytes[range] != original[range], "\(comment): \(error)")
                #expect(try folder.bytes(of: "cookies.sqlite") == bytes, comment)
                return
            }
            let isMoved = try folder.files.contains("cookies.sqlite.corrupt-1")
            if isMoved {
                #expect(state.cookies.cookies.isEmpty, comment)
                #expect(try folder.bytes(of: "cookies.sqlite.corrupt-1") == bytes, comment)
                #expect(folder.log.messages.contains { $0.contains("corrupt-1") }, comment)
            }
            try state.cookies.set(.test(-1))
            do throws(StoreError) { try state.waitForFlush() } catch { Issue.record("\(comment): \(error)") }
            state.waitForClose()
            #expect(try folder.cookieNames().contains("n-1"), comment)
        }

        /// A file with the log that a killed process leaves would have these bytes in the log.
        private func makeFile() throws -> [UInt8] {
            try fixture.writeCookies(Self.cookieCount)
            let bytes = try fixture.bytes(of: "cookies.sqlite")
            try #require(bytes.count > 4 * 4096)
            return bytes
        }

        /// A damaged bit is neither another program nor a version that nobody has written.
        @Test func bitOfTheKindOrTheVersionIsDamage() throws {
            try fixture.writeCookies(1)
            let original = try fixture.bytes(of: "cookies.sqlite")
            for position in Array(Self.version) + Array(Self.application) {
                for bit in 0..<8 {
                    var bytes = original
                    bytes[position] ^= 1 << bit
                    let folder = try StateFixture()
                    try folder.writeCookies(1)
                    try folder.replace("cookies.sqlite", by: bytes)
                    let version = bytes[Self.version].reduce(0) { $0 << 8 | Int($1) }
                    if Self.version.contains(position), (2...100).contains(version) {
                        #expect(folder.openingError()?.code == .newerVersion)
                    } else {
                        try folder.open().waitForClose()
                        #expect(try folder.files.contains("cookies.sqlite.corrupt-1"), "\(position) \(bit)")
                    }
                }
            }
        }

        @Test func truncatedFileIsReadOrMoved() throws {
            let bytes = try makeFile()
            let pages = stride(from: 4096, to: bytes.count, by: 4096).flatMap { [$0 - 1, $0, $0 + 1] }
            let lengths = [1, 15, 16, 50, 99, 100, 511, 512, 1000] + pages + Array(stride(from: 4096, to: bytes.count, by: 3777))
            for length in lengths { try expectIsReadOrMoved(Array(bytes[..<length]), from: bytes, "the first \(length) bytes") }
        }

        @Test(arguments: [0x01, 0x80, 0xFF] as [UInt8])
        func eachByteOfTheHeaderIsReadOrMoved(change: UInt8) throws {
            let bytes = try makeFile()
            for place in 0..<100 {
                var damaged = bytes
                damaged[place] ^= change
                try expectIsReadOrMoved(damaged, from: bytes, "byte \(place) is \(damaged[place])")
            }
        }

        @Test func randomBytesAreReadOrMoved() throws {
            let bytes = try makeFile()
            var generator = SeededGenerator(seed: 24)
            for round in 0..<90 {
                var damaged = bytes
                for _ in 0..<(round < 30 ? 1 : Int.random(in: 1...40, using: &generator)) {
                    let limit = round % 3 == 0 ? 4096 : damaged.count
                    damaged[Int.random(in: 0..<limit, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
                }
                try expectIsReadOrMoved(damaged, from: bytes, "round \(round)")
            }
            for round in 0..<10 {
                try expectIsReadOrMoved(
                    (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &generator) }, from: bytes, "random file \(round)")
            }
        }

        /// Another program, or a newer version, may make what this SQLite can't read.
        @Test(arguments: [("application_id", 7, StoreError.Code.foreignFile), ("user_version", 2, .newerVersion)])
        func damagedFileOfOthersIsLeftAlone(pragma: String, value: Int, code: StoreError.Code) throws {
            try fixture.writeCookies(1)
            try fixture.execute("PRAGMA \(pragma) = \(value)")
            var bytes = try fixture.bytes(of: "cookies.sqlite")
            for place in 200..<4096 { bytes[place] = 0xA5 }
            try fixture.replace("cookies.sqlite", by: bytes)
            #expect(fixture.openingError()?.code == code)
            #expect(try fixture.bytes(of: "cookies.sqlite") == bytes)
        }

        /// The file has the application ID and the version of a cookie file, but other tables.
        @Test(arguments: [
            "CREATE TABLE other (c)", "CREATE TABLE cookie (name, domain)",
            "CREATE TABLE cookie (number, name, domain, path, is_host_only, partition_scheme, partition_domain, value, expires, created, used, "
                + "is_secure, is_http_only, same_site)",
        ])
        func fileWithOtherTablesIsMoved(sql: String) throws {
            try makeFile("\(sql); PRAGMA application_id = \(CookieRecord.schema.format.applicationID); PRAGMA user_version = 1")
            #expect(try fixture.cookieNames() == [])
            #expect(try fixture.files.contains("cookies.sqlite.corrupt-1"))
        }

        /// SQLite would create a new database beside the write-ahead log, and delete the log.
        @Test func writeAheadLogOfAnEmptyOrMissingFileIsKept() throws {
            for isMissing in [false, true] {
                let folder = try StateFixture()
                let state = try folder.open()
                try state.cookies.set(.test(1))
                try state.waitForFlush()
                let writeAheadLog = try folder.bytes(of: "cookies.sqlite-wal")
                try #require(!writeAheadLog.isEmpty)
                let copy = try StateFixture()
                try copy.writeCookies(1)
                try copy.replace("cookies.sqlite-wal", by: writeAheadLog)
                try copy.replace("cookies.sqlite", by: [])
                if isMissing { try FileManager.default.removeItem(atPath: copy.cookieFile) }
                #expect(try copy.cookieNames() == [])
                #expect(try copy.bytes(of: "cookies.sqlite.corrupt-1-wal") == writeAheadLog)
            }
        }

        @Test func emptyFileIsTreatedAsANewFile() throws {
            try fixture.writeCookies(1)
            try fixture.replace("cookies.sqlite", by: [])
            #expect(try fixture.cookieNames() == [])
            #expect(try fixture.files == ["cookies.sqlite", "credentials.sqlite", "hsts.sqlite"])
        }

        @Test func eachDamagedFileHasItsOwnName() throws {
            for number in 1...3 {
                try fixture.writeCookies(1)
                try fixture.replace("cookies.sqlite", by: "no database \(number)".utf8)
                #expect(try fixture.cookieNames() == [])
                #expect(try fixture.bytes(of: "cookies.sqlite.corrupt-\(number)") == Array("no database \(number)".utf8))
            }
            #expect(fixture.log.messages.count == 3)
        }

        /// They can contain passwords. None disappears without a message.
        @Test func newestDamagedFilesAreKept() throws {
            try fixture.writeCookies(1)
            for name in ["corrupt-9223372036854775807", "corrupt-x"] { try fixture.replace("cookies.sqlite.\(name)", by: []) }
            for number in 1...5 {
                try fixture.replace("cookies.sqlite", by: "no database \(number)".utf8)
                #expect(try fixture.cookieNames() == [])
            }
            let kept = try fixture.files.filter { $0.hasPrefix("cookies.sqlite.corrupt") }
            #expect(
                kept == [
                    "cookies.sqlite.corrupt-3", "cookies.sqlite.corrupt-4", "cookies.sqlite.corrupt-5",
                    "cookies.sqlite.corrupt-9223372036854775807", "cookies.sqlite.corrupt-x",
                ])
            #expect(fixture.log.messages.filter { $0.contains("it can contain secrets") }.count == 5)
            for number in 1...2 {
                #expect(fixture.log.messages.contains { $0.contains("corrupt-\(number)' was removed") }, "\(fixture.log.messages)")
            }
        }

        @Test func companionsAreMovedAndRemovedWithTheirFile() throws {
            try fixture.writeCookies(1)
            let files = StateFiles(folder: fixture.path)
            for _ in 1...4 {
                for suffix in ["", "-wal", "-shm", "-journal"] { try fixture.replace("cookies.sqlite" + suffix, by: [1]) }
                _ = try files.setAside("cookies.sqlite")
            }
            let moved = try fixture.files.filter { $0.hasPrefix("cookies") }
            #expect(
                moved == (2...4).flatMap { number in ["", "-journal", "-shm", "-wal"].map { "cookies.sqlite.corrupt-\(number)\($0)" } })
        }

        /// SQLite would delete it.
        @Test func journalOfAnEmptyFileIsKept() throws {
            try fixture.writeCookies(1)
            try fixture.replace("cookies.sqlite", by: [])
            try fixture.replace("cookies.sqlite-journal", by: [1, 2, 3])
            #expect(try fixture.cookieNames() == [])
            #expect(try fixture.bytes(of: "cookies.sqlite.corrupt-1-journal") == [1, 2, 3])
        }

        /// All cookies in the memory of this process are written to a new file.
        @Test(arguments: [true, false])
        func noCookieIsLostIfTheOpenFileIsDamagedOrDeleted(isDeleted: Bool) throws {
            let state = try fixture.open()
            for number in 0..<50 { try state.cookies.set(.test(number)) }
            try state.waitForFlush()
            for suffix in ["", "-wal", "-shm"] where isDeleted { try FileManager.default.removeItem(atPath: fixture.cookieFile + suffix) }
            if !isDeleted { try fixture.temporary.replace("state/cookies.sqlite", by: [UInt8](repeating: 7, count: 8192)) }
            try state.cookies.set(.test(50))
            try state.waitForFlush()
            state.waitForClose()
            #expect(try fixture.cookieNames() == (0...50).map { "n\($0)" })
        }

        // MARK: Other versions and programs

        /// A file in the format of version 1.
        private static let version1 = """
            CREATE TABLE cookie (
                number INTEGER PRIMARY KEY,
                name BLOB NOT NULL, domain TEXT NOT NULL, path TEXT NOT NULL, is_host_only INTEGER NOT NULL,
                partition_scheme TEXT NOT NULL, partition_domain TEXT NOT NULL,
                value BLOB NOT NULL, expires INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL,
                is_secure INTEGER NOT NULL, is_http_only INTEGER NOT NULL, same_site TEXT,
                UNIQUE (name, domain, path, is_host_only, partition_scheme, partition_domain)
            ) STRICT;
            INSERT INTO cookie VALUES (1, x'6E', 'example.org', '/', 1, '', '', x'76', 4000000000000000, 1000000, 1000000, 0, 0, 'lax');
            PRAGMA application_id = 1349468977;
            PRAGMA user_version = 1;
            """

        /// Replaces the cookie file by a database that this SQL creates.
        private func makeFile(_ sql: String) throws {
            let files = StateFiles(folder: fixture.path)
            try files.prepareFolder()
            // `try?` because the file may not exist.
            try? FileManager.default.removeItem(atPath: fixture.cookieFile)
            try files.prepare("cookies.sqlite")
            let database = try Database(path: fixture.cookieFile, options: Database.Options())
            try database.transaction(isWrite: true) { try $0.executeAll(sql) }
            try database.close()
        }

        @Test func fileOfVersion1IsRead() throws {
            try makeFile(Self.version1)
            #expect(try fixture.cookieNames() == ["n"])
        }

        @Test func fileOfANewerVersionIsNotChanged() throws {
            try makeFile(Self.version1 + "PRAGMA user_version = 2;")
            let bytes = try fixture.bytes(of: "cookies.sqlite")
            let error = fixture.openingError()
            #expect(error?.code == .newerVersion && error?.message.contains("update Portolan") == true, "\(error?.message ?? "")")
            #expect(try fixture.bytes(of: "cookies.sqlite") == bytes)
        }

        @Test func fileOfAnotherProgramIsNotChanged() throws {
            for sql in ["CREATE TABLE t (c)", "PRAGMA application_id = 7", "CREATE TABLE cookie (c); PRAGMA user_version = 1"] {
                try makeFile(sql)
                let bytes = try fixture.bytes(of: "cookies.sqlite")
                #expect(fixture.openingError()?.code == .foreignFile)
                #expect(try fixture.bytes(of: "cookies.sqlite") == bytes)
            }
        }

        /// The newer schema has two migrations. The file starts with version 1, or does not exist.
        @Test func filesAreMigrated() throws {
            try makeFile(Self.version1)
            for startVersion in [1, 0] {
                if startVersion == 0 { try FileManager.default.removeItem(atPath: fixture.cookieFile) }
                let table = StoredTable<NewerCookieRecord>(
                    StateFiles(folder: fixture.path), log: .init(wake: {}), options: Database.Options(), logger: fixture.log.logger)
                #expect(try table.open().count == startVersion)
                table.close()
                let database = try Database(path: fixture.cookieFile, options: Database.Options())
                let (version, color) = try database.transaction(isWrite: false) { statements in
                    (try statements.number("PRAGMA user_version"), try statements.rows("SELECT color FROM cookie"))
                }
                #expect(version == 2 && color == (startVersion == 1 ? [[.text("blue")]] : []))
                try database.close()
            }
            // This version cannot open the file of the newer version.
            #expect(fixture.openingError()?.code == .newerVersion)
        }

        /// Rows that this version could not have written are skipped, and stay in the file.
        @Test func rowsThatAreNoCookiesStayInTheFile() throws {
            try makeFile(
                Self.version1
                    + """
                    INSERT INTO cookie VALUES (2, x'6E', 'UPPER.example', '/', 1, '', '', x'76', 4000000000000000, 0, 0, 0, 0, NULL);
                    INSERT INTO cookie VALUES (3, x'6E', 'example.org', 'x', 1, '', '', x'76', 4000000000000000, 0, 0, 0, 0, NULL);
                    INSERT INTO cookie VALUES (4, x'6E', 'a.example', '/', 1, '', '', x'76', 4000000000000000, 0, 0, 2, 0, NULL);
                    INSERT INTO cookie VALUES (5, x'6E', 'a.example', '/b', 1, '', '', x'76', 4000000000000000, 0, 0, 0, 0, 'new');
                    INSERT INTO cookie VALUES (6, x'6E', 'a.example', '/c', 1, '', '', x'76', 9223372036854775807, -9223372036854775808, 0, 0, 0, NULL);
                    """)
            let state = try fixture.open()
            #expect(state.cookies.cookies.map(\.path) == ["/", "/c"])
            #expect(fixture.log.messages.contains { $0.contains("4 of 6 rows") }, "\(fixture.log.messages)")
            state.waitForClose()
            let database = try Database(path: fixture.cookieFile, options: Database.Options())
            #expect(try database.transaction(isWrite: false) { try $0.number("SELECT count(*) FROM cookie") } == 6)
            try database.close()
        }
    }

    /// The cookies of an imaginary newer version, which has one more column.
    private struct NewerCookieRecord: StoredRecord {
        static let schema = {
            let schema = CookieRecord.schema
            return StoreSchema(
                file: schema.file,
                format: StoreFormat(
                    applicationID: schema.format.applicationID,
                    migrations: schema.format.migrations + ["ALTER TABLE cookie ADD COLUMN color TEXT NOT NULL DEFAULT 'blue';"]),
                table: schema.table,
                keys: schema.keys, values: schema.values, texts: schema.texts)
        }()

        let record: CookieRecord

        init(_ value: CookieRecord.Value) { record = CookieRecord(value) }
        init?(_ columns: [SQLValue]) {
            guard let record = CookieRecord(columns) else { return nil }
            self.record = record
        }

        var key: CookieRecord.Key { record.key }
        var value: CookieRecord.Value { record.value }
        var values: [SQLValue] { record.values }
        var expiry: Date? { record.expiry }
        static func columns(of key: CookieRecord.Key) -> [SQLValue] { CookieRecord.columns(of: key) }
    }
#endif
