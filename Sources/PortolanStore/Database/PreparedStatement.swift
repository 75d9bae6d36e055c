// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import GRDBSQLite

    /// A statement that GRDB has prepared. SQLite's own functions execute it: with those of GRDB, a small row takes ten
    /// times as long.
    ///
    /// <https://sqlite.org/c3ref/stmt.html>
    @safe
    struct PreparedStatement {  // … because its user keeps the statement alive, and executes it on one thread
        private let statement: OpaquePointer

        init(_ statement: OpaquePointer) { unsafe self.statement = statement }

        /// Executes the statement, and returns its rows.
        func rows(_ values: [SQLValue]) throws(Database.Failure) -> [[SQLValue]] {
            defer {
                // The error of the execution was reported already.
                _ = unsafe sqlite3_reset(statement)
                _ = unsafe sqlite3_clear_bindings(statement)
            }
            guard unsafe values.count == sqlite3_bind_parameter_count(statement) else {
                throw Database.Failure(code: SQLITE_MISUSE, text: "the statement does not have \(values.count) parameters")
            }
            for (index, value) in values.enumerated() {
                guard bind(value, CInt(index) + 1) == SQLITE_OK else { throw failure() }
            }
            var rows: [[SQLValue]] = []
            while true {
                switch unsafe sqlite3_step(statement) {
                case SQLITE_ROW: rows.append((0..<(unsafe sqlite3_column_count(statement))).map(value))
                case SQLITE_DONE: return rows
                default: throw failure()
                }
            }
        }

        /// - Returns: the result code.
        private func bind(_ value: SQLValue, _ index: CInt) -> CInt {
            switch value {
            case .null: unsafe sqlite3_bind_null(statement, index)
            case .integer(let number): unsafe sqlite3_bind_int64(statement, index, number)
            // A text would end at a NUL in some functions of SQL. The statements cast the bytes to TEXT.
            case .text(let text): bind(Array(text.utf8), index)
            case .blob(let bytes): bind(bytes, index)
            }
        }

        private func bind(_ bytes: [UInt8], _ index: CInt) -> CInt {
            // A blob without a pointer would be NULL.
            if bytes.isEmpty { return unsafe sqlite3_bind_zeroblob(statement, index, 0) }
            return unsafe bytes.withUnsafeBytes { buffer in
                // SQLITE_TRANSIENT: SQLite copies the bytes.
                let copies = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type?.self)
                return unsafe sqlite3_bind_blob64(statement, index, buffer.baseAddress, UInt64(buffer.count), copies)
            }
        }

        /// A column of the current row.
        private func value(_ column: CInt) -> SQLValue {
            switch unsafe sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(statement, column))
            // This program stores no text that is not UTF-8.
            case SQLITE_TEXT: String(validating: bytes(column), as: UTF8.self).map { .text($0) } ?? .null
            case SQLITE_BLOB: .blob(bytes(column))
            // NULL, or a floating-point number, which only another program writes to a store.
            default: .null
            }
        }

        private func bytes(_ column: CInt) -> [UInt8] {
            // `sqlite3_column_blob` comes first, so that the count is that of its bytes.
            guard let start = unsafe sqlite3_column_blob(statement, column) else { return [] }
            return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }

        private func failure() -> Database.Failure {
            let connection = unsafe sqlite3_db_handle(statement)
            let text = unsafe sqlite3_errmsg(connection).map { unsafe String(cString: $0) }
            return Database.Failure(code: unsafe sqlite3_extended_errcode(connection), text: text ?? "no text")
        }
    }
#endif
