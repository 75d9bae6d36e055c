// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Logging

    extension CacheIndex {
        static let format = StoreFormat(
            applicationID: 0x506F_5231,  // "PoR1"
            migrations: [
                """
                CREATE TABLE entry (
                    id INTEGER PRIMARY KEY,
                    url INTEGER NOT NULL, origin INTEGER NOT NULL, host INTEGER NOT NULL, received INTEGER NOT NULL,
                    cost INTEGER NOT NULL, has_file INTEGER NOT NULL, used INTEGER NOT NULL, use_count INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX entry_url ON entry (url);
                CREATE INDEX entry_used ON entry (used);
                CREATE TABLE content (id INTEGER PRIMARY KEY, record BLOB NOT NULL, checksum INTEGER NOT NULL, body BLOB) STRICT;
                CREATE TABLE writing (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, cost INTEGER NOT NULL) STRICT;
                CREATE TABLE garbage (id INTEGER PRIMARY KEY, cost INTEGER NOT NULL) STRICT;
                CREATE TABLE removal (time INTEGER NOT NULL, kind TEXT NOT NULL, value INTEGER NOT NULL) STRICT;
                CREATE TABLE total (
                    number INTEGER PRIMARY KEY CHECK (number = 1), bytes INTEGER NOT NULL, last_id INTEGER NOT NULL, byte_limit INTEGER
                ) STRICT;
                INSERT INTO total (number, bytes, last_id) VALUES (1, 0, abs(random() / 4));
                """ + ["entry", "writing", "garbage"].map(counting).joined()
            ])

        /// Triggers that count the costs of a table's rows in the total.
        private static func counting(_ table: String) -> String {
            """

            CREATE TRIGGER \(table)_inserted AFTER INSERT ON \(table) BEGIN UPDATE total SET bytes = bytes + NEW.cost; END;
            CREATE TRIGGER \(table)_deleted AFTER DELETE ON \(table) BEGIN UPDATE total SET bytes = bytes - OLD.cost; END;
            CREATE TRIGGER \(table)_changed AFTER UPDATE OF cost ON \(table)
                BEGIN UPDATE total SET bytes = bytes + NEW.cost - OLD.cost; END;
            """
        }

        /// Opens the index of a folder to write, and creates it if it is missing. A damaged index is removed, because
        /// everything in it can be loaded again.
        static func open(_ folder: CacheFolder, byteLimit: Int64?, logger: Logger) throws(StoreError) -> CacheIndex {
            try folder.prepare()
            return try folder.files.whileLocked { () throws(StoreError) in
                do throws(StoreError) {
                    return try openOnce(folder, byteLimit)
                } catch  where error.code == .corrupt && folder.repairsIndex {
                    try folder.removeIndex(applicationID: format.applicationID)
                    logger.error("\(error.message): the cache is emptied")
                    return try openOnce(folder, byteLimit)
                }
            }
        }

        private static func openOnce(_ folder: CacheFolder, _ byteLimit: Int64?) throws(StoreError) -> CacheIndex {
            try folder.files.prepare(CacheFolder.index)
            let path = folder.indexPath
            // `synchronous = OFF`, because checksums detect what a power failure damages.
            let database = try Database(
                path: path, options: Database.Options(),
                pragmas: ["secure_delete = FAST", "synchronous = OFF", "auto_vacuum = INCREMENTAL", "journal_size_limit = 4194304"],
                wakesOthers: false
            ) { (header) throws(StoreError) in try format.check(header, of: path) }
            do throws(StoreError) {
                let version = try format.version(of: database, at: path)
                do throws(Database.Failure) {
                    try database.useWriteAheadLog()
                    if version < format.version { try format.migrate(database) }
                    try database.check([columnsOfAllTables])
                    return CacheIndex(database: database, byteLimit: try Self.byteLimit(of: database, setTo: byteLimit))
                } catch {
                    throw StoreError(opening: error, at: path)
                }
            } catch {
                // `try?` because the first error is reported.
                try? database.close()
                throw error
            }
        }

        /// A statement that SQLite can't prepare if a table or a column is missing.
        private static let columnsOfAllTables = """
            SELECT entry.id, url, origin, host, received, entry.cost, has_file, used, use_count, content.id, record, checksum, body,
            writing.id, process, writing.cost, garbage.id, garbage.cost, time, kind, value, bytes, last_id, byte_limit
            FROM entry, content, writing, garbage, removal, total
            """

        /// Opens the index of a folder to read it.
        static func openToRead(_ folder: CacheFolder) throws(StoreError) -> CacheIndex {
            if folder.isReadOnly { return try openUnwritable(folder, Database.Options()) }
            try folder.files.prepare(CacheFolder.index)
            return try openDatabase(at: folder.indexPath, .readOnly)
        }

        private static func openDatabase(at path: String, _ access: Database.Access) throws(StoreError) -> CacheIndex {
            let database = try Database(
                path: path, options: Database.Options(), access: access, pragmas: [], wakesOthers: false
            ) { (header) throws(StoreError) in try format.check(header, of: path) }
            return CacheIndex(database: database)
        }

        /// Opens the index of a folder that can't be written. To read a log, SQLite needs another file beside the
        /// index, and can't create it in this folder. So if a killed process has left a log, a copy of the index and
        /// its logs is opened.
        private static func openUnwritable(_ folder: CacheFolder, _ options: Database.Options) throws(StoreError) -> CacheIndex {
            let (files, name, path) = (folder.files, CacheFolder.index, folder.indexPath)
            let index: CacheIndex
            do throws(StoreError) {
                index = try openDatabase(at: path, .readOnly)
            } catch {
                if [.busy, .foreignFile, .newerVersion, .accessDenied].contains(error.code) { throw error }
                var log: String?
                for suffix in StateFiles.logs where try (files.size(of: name + suffix) ?? 0) > 0 { log = path + suffix }
                if let log {
                    do throws(StoreError) {
                        index = try files.withCopy(of: name, in: options.temporaryFolder) { (copies) throws(StoreError) in
                            try openDatabase(at: copies.path(of: name), .readWrite)
                        }
                    } catch {
                        throw StoreError(
                            error.code,
                            "the newest changes, in '\(log)', can't be read, because the folder can't be written, or its disk is full, and a copy can't be used: \(error.message); make the folder writable, or set TMPDIR to a folder with room"
                        )
                    }
                } else {
                    index = try openDatabase(at: path, .readOnlyWithoutLocks)
                }
            }
            do throws(StoreError) {
                guard try format.version(of: index.database, at: path) > 0 else {
                    throw StoreError(
                        .full, "'\(path)' is empty, because the cache could not be written; free some space, or make the folder writable")
                }
                do throws(Database.Failure) {
                    return CacheIndex(database: index.database, byteLimit: try byteLimit(of: index.database))
                } catch {
                    throw StoreError(index: error, at: path)
                }
            } catch {
                index.close()
                throw error
            }
        }

        /// The limit of a new index in bytes, if the caller has none.
        static let standardByteLimit: Int64 = 256 << 20

        private static func byteLimit(of database: Database) throws(Database.Failure) -> Int64 {
            try database.rows("SELECT byte_limit FROM total", []).first?.first?.integer ?? standardByteLimit
        }

        /// Stores the limit, if the caller has one, and returns the limit that applies.
        private static func byteLimit(of database: Database, setTo limit: Int64?) throws(Database.Failure) -> Int64 {
            try database.transaction(isWrite: true) { statements in
                if let limit { try statements.execute("UPDATE total SET byte_limit = ?", [.integer(limit)]) }
                let rows = try statements.rows("SELECT byte_limit FROM total")
                guard let row = rows.first, rows.count == 1 else {
                    throw Database.Failure.corrupt("the table 'total' has \(rows.count) rows instead of 1")
                }
                return row.first?.integer ?? Self.standardByteLimit
            }
        }

        func close() {
            // `try?` because all responses of a cache can be loaded again.
            try? database.close()
        }
    }

    extension StoreError {
        /// Returns the error for a statement of the index. The statements are correct, so an error in a statement means
        /// that the index is damaged.
        init(index failure: Database.Failure, at path: String) {
            // SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH
            let isDamaged = [1, 19, 20].contains(failure.primaryCode)
            self.init(isDamaged ? .corrupt("\(failure.text) (SQLite \(failure.code))") : failure, at: path)
        }
    }
#endif
