// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCore
    import Synchronization

    /// The journal of background transfers: one row for each transfer, in `transfers.sqlite` of a private folder.
    ///
    /// The journal does not interpret the contents of its rows. All functions block until the change is in the file.
    /// After a crash of the machine, the newest changes can be missing. Can be used on any thread.
    package final class TransferJournal: Sendable {
        /// A transfer in the journal.
        package struct Entry: Hashable, Sendable {
            /// Numbers are never used again, even after a damaged file was replaced.
            package let number: Int64
            package let session: String
            /// What to transfer, as JSON. Never changes, except by ``TransferJournal/update(_:task:status:)``.
            package var task: [UInt8]
            /// How far the transfer is, as JSON.
            package var status: [UInt8]
        }

        private static let file = "transfers.sqlite"
        private static let format = StoreFormat(
            applicationID: 0x506F_5431,  // "PoT1"
            migrations: [
                """
                CREATE TABLE transfer (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    key TEXT NOT NULL UNIQUE, session TEXT NOT NULL, task BLOB NOT NULL, status BLOB NOT NULL
                ) STRICT;
                """
            ])

        private let files: StateFiles
        private let database: Mutex<Database>
        /// What was wrong with a damaged file, and its new path; `nil` if the file was sound.
        package let damage: String?

        private var path: String { files.path(of: Self.file) }

        /// Opens the journal, and creates it if it is missing. A damaged file is renamed, as those of a `StateFolder`.
        package init(folder: String) throws(StoreError) {
            let files = try StateFiles(path: folder)
            try files.prepareFolder()
            self.files = files
            let (database, damage) = try files.whileLocked { () throws(StoreError) in
                try files.prepare(Self.file)
                do throws(StoreError) {
                    return (try Self.open(files), String?.none)
                } catch  where error.code == .corrupt {
                    let (new, _) = try files.setAside(Self.file)
                    try files.prepare(Self.file)
                    let database = try Self.open(files)
                    do throws(Database.Failure) {
                        try Self.skipUsedNumbers(database)
                    } catch {
                        throw StoreError(error, at: files.path(of: Self.file))
                    }
                    return (database, "\(error.message); it is now '\(new)'")
                }
            }
            self.database = Mutex(database)
            self.damage = damage
        }

        private static func open(_ files: StateFiles) throws(StoreError) -> Database {
            let (path, options) = (files.path(of: file), Database.Options())
            let database = try Database(path: path, options: options, wakesOthers: false) { (header) throws(StoreError) in
                try format.check(header, of: path)
            }
            do throws(StoreError) {
                let version = try format.version(of: database, at: path)
                do throws(Database.Failure) {
                    try database.checkIntegrity()
                    try database.useWriteAheadLog()
                    if version < format.version { try format.migrate(database) }
                    try database.check([select])
                } catch {
                    throw StoreError(opening: error, at: path)
                }
            } catch {
                // `try?` because the first error is reported.
                try? database.close()
                throw error
            }
            return database
        }

        /// Makes the numbers of a new file begin at the current time in seconds since 1970, because the numbers in the
        /// damaged file can't be read.
        private static func skipUsedNumbers(_ database: Database) throws(Database.Failure) {
            let time = Int64(Date().timeIntervalSince1970)
            _ = try database.transaction(isWrite: true) { statements in
                try statements.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('transfer', ?)", [.integer(time)])
            }
        }

        private static let select = "SELECT number, session, task, status FROM transfer ORDER BY number"

        /// All transfers, the oldest first. Rows that this version does not understand are left out.
        package func entries() throws(StoreError) -> [Entry] {
            try withDatabase { (database) throws(Database.Failure) in try database.rows(Self.select, []) }.compactMap(Self.entry)
        }

        private static func entry(_ row: [SQLValue]) -> Entry? {
            guard row.count == 4, let number = row[0].integer, let session = row[1].text, let task = row[2].blob, let status = row[3].blob
            else { return nil }
            return Entry(number: number, session: session, task: task, status: status)
        }

        /// Adds a transfer, unless there is one with the same key.
        ///
        /// - Returns: the number of the new or the existing transfer.
        package func add(key: String, session: String, task: [UInt8], status: [UInt8]) throws(StoreError) -> (number: Int64, isNew: Bool) {
            try write { statements in
                let key = SQLValue.text(key)
                let count = try statements.execute(
                    "INSERT INTO transfer (key, session, task, status) VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?) "
                        + "ON CONFLICT (key) DO NOTHING",
                    [key, .text(session), .blob(task), .blob(status)])
                return (try statements.number("SELECT number FROM transfer WHERE key = CAST(? AS TEXT)", [key]), count > 0)
            }
        }

        package func update(_ number: Int64, status: [UInt8]) throws(StoreError) {
            _ = try write { statements in
                try statements.execute("UPDATE transfer SET status = ? WHERE number = ?", [.blob(status), .integer(number)])
            }
        }

        package func update(_ number: Int64, task: [UInt8], status: [UInt8]) throws(StoreError) {
            _ = try write { statements in
                try statements.execute(
                    "UPDATE transfer SET task = ?, status = ? WHERE number = ?", [.blob(task), .blob(status), .integer(number)])
            }
        }

        /// - Parameter hasSecrets: whether the transfer contains secrets, so that no part of it may stay in the log of
        ///   the file. The removal then takes longer.
        package func remove(_ number: Int64, hasSecrets: Bool) throws(StoreError) {
            _ = try write { statements in try statements.execute("DELETE FROM transfer WHERE number = ?", [.integer(number)]) }
            // `try?` because closing the journal also empties the log.
            if hasSecrets { database.withLock { try? $0.set(pragma: "wal_checkpoint(TRUNCATE)") } }
        }

        package func close() {
            // `try?` because each change is in the file.
            database.withLock { try? $0.close() }
        }

        private func write<Result>(_ body: (Database.Statements) throws -> Result) throws(StoreError) -> Result {
            try withDatabase { (database) throws(Database.Failure) in try database.transaction(isWrite: true, body) }
        }

        private func withDatabase<Result>(_ body: (Database) throws(Database.Failure) -> Result) throws(StoreError) -> Result {
            let result: Swift.Result<Result, Database.Failure> = database.withLock { database in
                do throws(Database.Failure) { return .success(try body(database)) } catch { return .failure(error) }
            }
            switch result {
            case .success(let value): return value
            case .failure(let failure): throw StoreError(failure, at: path)
            }
        }
    }
#endif
