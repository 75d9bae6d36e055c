// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import GRDB

    /// An open SQLite file. Everything that uses GRDB is here.
    ///
    /// All functions block, and belong to the store's thread.
    struct Database {
        /// Why SQLite refused something.
        struct Failure: Error, Equatable {
            /// The extended result code (<https://sqlite.org/rescode.html>).
            let code: Int32
            let text: String

            /// The primary result code.
            var primary: Int32 { code & 0xFF }
            /// SQLITE_CORRUPT, SQLITE_NOTADB
            var isCorrupt: Bool { primary == 11 || primary == 26 }

            static func corrupt(_ text: String) -> Self { Self(code: 11, text: text) }
        }

        private let queue: DatabaseQueue

        static let longestWait = Duration.seconds(5)

        /// Opens a file that exists, without changing it.
        init(path: String, options: Options) throws(Failure) {
            var configuration = Configuration()
            configuration.busyMode = .timeout(options.busyTimeout / .seconds(1))
            configuration.prepareDatabase { database in
                // Deleted rows leave no secrets in the file. Damaged and hostile files are read carefully.
                for pragma in ["secure_delete = ON", "cell_size_check = ON", "trusted_schema = OFF", "synchronous = NORMAL"] {
                    try database.execute(sql: "PRAGMA \(pragma)")
                }
            }
            queue = try Self.explaining { try DatabaseQueue(path: path, configuration: configuration) }
        }

        struct Options: Sendable {
            /// How long a statement waits for the lock of another process.
            var busyTimeout = longestWait
            /// Runs when a file is open, for tests.
            var pragmas: [String] = []
        }

        /// Checks all of the file.
        func checkIntegrity() throws(Failure) {
            let problem = try use { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") }
            if let problem, problem != "ok" { throw .corrupt(problem) }
        }

        /// Checks that the file has the tables and columns that the statements need.
        func check(_ statements: [String]) throws(Failure) {
            do throws(Failure) {
                try use { database in for sql in statements { _ = try database.makeStatement(sql: sql) } }
            } catch  where error.primary == 1 {  // SQLITE_ERROR
                throw .corrupt(error.text)
            }
        }

        /// Makes the file use a write-ahead log, if it does not yet.
        func useWriteAheadLog() throws(Failure) {
            let mode = try use { try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") }
            guard mode == "wal" else { throw Failure(code: 8, text: "the file system allows no write-ahead log") }
        }

        func set(pragma: String) throws(Failure) { try use { try $0.execute(sql: "PRAGMA \(pragma)") } }

        // MARK: Statements

        /// Runs `body` in one transaction.
        ///
        /// - Parameter isWrite: whether it gets the only permission to write at its beginning.
        func transaction<Result>(isWrite: Bool, _ body: (Statements) throws -> Result) throws(Failure) -> Result {
            try use { database in
                var result: Result?
                try database.inTransaction(isWrite ? .immediate : .deferred) {
                    result = try body(Statements(database: database))
                    return .commit
                }
                guard let result else { throw Failure(code: 4, text: "the transaction has no result") }
                return result
            }
        }

        /// Changes if another connection has changed the file.
        func dataVersion() throws(Failure) -> Int64 {
            try use { try Statements(database: $0).number("PRAGMA data_version") }
        }

        func close() throws(Failure) { try Self.explaining { try queue.close() } }

        /// Statements inside a transaction.
        struct Statements {
            fileprivate let database: GRDB.Database

            func execute(_ sql: String, _ values: [SQLValue] = []) throws {
                let statement = try database.cachedStatement(sql: sql)
                try statement.execute(arguments: StatementArguments(values.map(\.databaseValue)))
            }

            /// Runs several statements without values.
            func executeAll(_ sql: String) throws { try database.execute(sql: sql) }

            func number(_ sql: String) throws -> Int64 {
                try Row.fetchOne(database, sql: sql).flatMap { SQLValue($0[0]).integer } ?? 0
            }

            func rows(_ sql: String) throws -> [[SQLValue]] {
                var rows: [[SQLValue]] = []
                let cursor = try Row.fetchCursor(database, sql: sql)
                while let row = try cursor.next() {
                    rows.append((0..<row.count).map { SQLValue(row[$0]) })
                }
                return rows
            }
        }

        // MARK: Errors

        private func use<Result>(_ body: (GRDB.Database) throws -> Result) throws(Failure) -> Result {
            try Self.explaining { try queue.writeWithoutTransaction(body) }
        }

        private static func explaining<Result>(_ body: () throws -> Result) throws(Failure) -> Result {
            do {
                return try body()
            } catch let error as Failure {
                throw error
            } catch let error as DatabaseError {
                throw Failure(code: error.extendedResultCode.rawValue, text: error.message ?? "no text")
            } catch {
                throw Failure(code: 1, text: "\(error)")
            }
        }
    }

    extension SQLValue {
        fileprivate init(_ value: DatabaseValue) {
            switch value.storage {
            case .null: self = .null
            case .int64(let number): self = .integer(number)
            // No column has such numbers: the row is not one of ours.
            case .double: self = .null
            case .string(let text): self = .text(text)
            case .blob(let data): self = .blob(Array(data))
            }
        }

        fileprivate var databaseValue: DatabaseValue {
            switch self {
            case .null: .null
            case .integer(let number): number.databaseValue
            case .text(let text): text.databaseValue
            case .blob(let bytes): Data(bytes).databaseValue
            }
        }
    }
#endif
