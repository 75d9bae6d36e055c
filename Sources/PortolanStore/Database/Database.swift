// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux
    import FoundationEssentials
    import GRDB

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// An open SQLite file. GRDB opens it, prepares and keeps its statements, and begins and ends its transactions. No
    /// other file of this module imports GRDB. ``PreparedStatement`` imports only the SQLite of GRDB.
    ///
    /// All functions block. One thread uses a database at a time.
    struct Database {
        /// An error of SQLite.
        struct Failure: Error, Equatable {
            /// The extended result code (<https://sqlite.org/rescode.html>).
            let code: Int32
            let text: String

            /// The primary result code.
            var primaryCode: Int32 { code & 0xFF }
            /// SQLITE_CORRUPT, SQLITE_NOTADB
            var isCorrupt: Bool { primaryCode == 11 || primaryCode == 26 }

            /// Whether a file can't be opened because of its contents, and not because of the system, other processes
            /// or permissions. For a damaged header, SQLite can report many different codes.
            var isCausedByContents: Bool {
                switch primaryCode {
                // BUSY, LOCKED, PERM, NOMEM, INTERRUPT, FULL, CANTOPEN, PROTOCOL, NOLFS, AUTH
                case 5, 6, 3, 7, 9, 13, 14, 15, 22, 23: false
                case 10: code == 522  // SQLITE_IOERR_SHORT_READ
                default: true
                }
            }

            static func corrupt(_ text: String) -> Self { Self(code: 11, text: text) }
        }

        /// The numbers in a file's header that tell which program wrote it. They are read before the tables.
        struct Header: Sendable {
            let applicationID: Int64
            let version: Int64
        }

        enum Access: Sendable {
            case readWrite
            case readOnly
            /// Only reads, and takes no locks, because locks need files beside the database.
            case readOnlyWithoutLocks
        }

        private let queue: DatabaseQueue
        private let wakesOthers: Bool

        static let longestWait = Duration.seconds(5)

        /// Opens a file that exists, without changing it.
        ///
        /// - Parameters:
        ///   - pragmas: executed after `check`, before all other statements.
        ///   - wakesOthers: whether each change wakes processes that watch the folder.
        ///   - check: throws if the file is not to be used.
        init(
            path: String, options: Options, access: Access = .readWrite,
            pragmas: [String] = ["secure_delete = ON", "synchronous = NORMAL"],
            wakesOthers: Bool = true, check: @escaping @Sendable (Header) throws(StoreError) -> Void = { _ in }
        ) throws(StoreError) {
            var configuration = Configuration()
            configuration.readonly = access != .readWrite
            configuration.busyMode = .timeout(options.busyTimeout / .seconds(1))
            configuration.prepareDatabase { database in
                let statements = Statements(database: database)
                try check(
                    Header(
                        applicationID: try statements.number("PRAGMA application_id"), version: try statements.number("PRAGMA user_version")
                    ))
                // The last two pragmas are for damaged and hostile files.
                for pragma in pragmas + ["cell_size_check = ON", "trusted_schema = OFF"] {
                    try database.execute(sql: "PRAGMA \(pragma)")
                }
            }
            self.wakesOthers = wakesOthers
            var name = path
            if access == .readOnlyWithoutLocks {
                // https://sqlite.org/uri.html#uriimmutable
                let path = path.utf8.map { byte in
                    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || byte == UInt8(ascii: "/")
                        ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }
                name = "file:\(path.joined())?immutable=1"
            }
            do {
                queue = try DatabaseQueue(path: name, configuration: configuration)
            } catch let error as StoreError {
                throw error
            } catch {
                throw StoreError(opening: Failure(error), at: path)
            }
        }

        struct Options: Sendable {
            /// How long a statement waits for the lock of another process.
            var busyTimeout = longestWait
            /// Executed after a file was opened. For tests.
            var pragmas: [String] = []
            /// The folder for copies of files that can't be read at their place.
            var temporaryFolder = unsafe secure_getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        }

        /// Checks the whole file.
        func checkIntegrity() throws(Failure) {
            let problem = try withConnection { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") }
            if let problem, problem != "ok" { throw .corrupt(problem) }
        }

        /// Checks that the file has the tables and columns that the statements need.
        func check(_ statements: [String]) throws(Failure) {
            do throws(Failure) {
                try withConnection { database in for sql in statements { _ = try database.makeStatement(sql: sql) } }
            } catch  where error.primaryCode == 1 {  // SQLITE_ERROR
                throw .corrupt(error.text)
            }
        }

        /// Makes the file use a write-ahead log, if it does not yet.
        func useWriteAheadLog() throws(Failure) {
            let mode = try withConnection { try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") }
            // SQLITE_NOLFS
            guard mode == "wal" else { throw Failure(code: 22, text: "the file system allows no write-ahead log") }
        }

        /// Checks that the header of the file allows writing. A lock of another process is no error.
        func checkWriting(_ options: Options) throws(Failure) {
            try set(pragma: "busy_timeout = 0")
            do throws(Failure) {
                try withConnection { database in
                    try database.inTransaction(.immediate) {
                        let version = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                        try database.execute(sql: "PRAGMA user_version = \(version)")
                        return .rollback
                    }
                }
            } catch  where error.primaryCode != 5 {  // SQLITE_BUSY
                throw error
            } catch {
                // Another process writes.
            }
            try set(pragma: "busy_timeout = \(Int(options.busyTimeout / .milliseconds(1)))")
        }

        func set(pragma: String) throws(Failure) { try withConnection { try $0.execute(sql: "PRAGMA \(pragma)") } }

        // MARK: Statements

        /// Runs `body` in one transaction.
        ///
        /// - Parameter isWrite: whether the transaction acquires the write lock at its beginning.
        func transaction<Result>(isWrite: Bool, _ body: (Statements) throws -> Result) throws(Failure) -> Result {
            let result = try withConnection { database in
                var result: Result?
                try database.inTransaction(isWrite ? .immediate : .deferred) {
                    result = try body(Statements(database: database))
                    return .commit
                }
                guard let result else { throw Failure(code: 4, text: "the transaction has no result") }
                return result
            }
            // SQLite writes the log before its index, which is in shared memory. A process that the write has woken
            // (`inotify(7)`) can still read the old state. The new modification time of the file wakes that process
            // again.
            if isWrite, wakesOthers { _ = unsafe utimensat(AT_FDCWD, queue.path, nil, 0) }
            return result
        }

        /// Runs one statement that reads.
        func rows(_ sql: String, _ values: [SQLValue]) throws(Failure) -> [[SQLValue]] {
            try withConnection { try Statements(database: $0).rows(sql, values) }
        }

        /// Returns a number that changes whenever another connection changes the file.
        func dataVersion() throws(Failure) -> Int64 {
            try withConnection { try Statements(database: $0).number("PRAGMA data_version") }
        }

        func close() throws(Failure) { try Self.mappingErrors { try queue.close() } }

        /// Statements inside a transaction.
        struct Statements {
            fileprivate let database: GRDB.Database

            /// - Returns: the number of changed rows.
            @discardableResult
            func execute(_ sql: String, _ values: [SQLValue] = []) throws -> Int {
                _ = try rows(sql, values)
                return database.changesCount
            }

            /// Runs several statements without values.
            func executeAll(_ sql: String) throws { try database.execute(sql: sql) }

            /// The first column of the first row; 0 if it is no integer.
            func number(_ sql: String, _ values: [SQLValue] = []) throws -> Int64 { try rows(sql, values).first?.first?.integer ?? 0 }

            func rows(_ sql: String, _ values: [SQLValue] = []) throws -> [[SQLValue]] {
                let statement = try database.cachedStatement(sql: sql)
                return try withExtendedLifetime(statement) { try unsafe PreparedStatement(statement.sqliteStatement).rows(values) }
            }
        }

        // MARK: Errors

        private func withConnection<Result>(_ body: (GRDB.Database) throws -> Result) throws(Failure) -> Result {
            try Self.mappingErrors { try queue.writeWithoutTransaction(body) }
        }

        private static func mappingErrors<Result>(_ body: () throws -> Result) throws(Failure) -> Result {
            do { return try body() } catch { throw Failure(error) }
        }
    }

    extension Database.Failure {
        fileprivate init(_ error: any Error) {
            switch error {
            case let error as Self: self = error
            case let error as DatabaseError: self.init(code: error.extendedResultCode.rawValue, text: error.message ?? "no text")
            default: self.init(code: 1, text: "\(error)")
            }
        }
    }
#endif
