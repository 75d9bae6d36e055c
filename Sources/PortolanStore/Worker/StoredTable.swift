// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import Logging
    import PortolanCore

    /// The file of one storage, and its rows as this process last read or wrote them. Only the worker's thread uses it.
    final class StoredTable<Record: StoredRecord> {
        private struct OpenFile {
            let database: Database
            let identity: StateFiles.Identity?
            /// The data version of the file when its rows were last read.
            var dataVersion: Int64
        }

        let log: ChangeLog<Record.Key, Record.Value>
        /// Passes the changes of other processes to the storage in memory.
        var apply: (_ set: [Record.Value], _ removed: Set<Record.Key>) -> Void = { _, _ in }
        private let files: StateFiles
        private let options: Database.Options
        private let logger: Logger
        private var file: OpenFile?
        /// Whether the file, or its folder, can't be written. Changes then stay in memory.
        private(set) var isReadOnly = false
        /// The problems of a read-only file that were logged.
        private var reported: Set<String> = []
        /// The rows of the file, as this process has last read or written them, with their order.
        private var knownRows: [Record.Key: (record: Record, place: Int)] = [:]
        private var nextPlace = 0

        private static var schema: StoreSchema { Record.schema }
        var path: String { files.path(of: Self.schema.file) }

        init(_ files: StateFiles, log: ChangeLog<Record.Key, Record.Value>, options: Database.Options, logger: Logger) {
            (self.files, self.log, self.options, self.logger) = (files, log, options, logger)
        }

        // MARK: Reading and writing

        /// Opens the file, and returns the values that have not expired, the oldest first.
        func open() throws(StoreError) -> [Record.Value] {
            let records = try readNewFile()
            setKnownRows(records)
            let now = Date()
            if !isReadOnly { log.recordOlder(records.filter { $0.hasExpired(at: now) }.map { (key: $0.key, change: .removed) }) }
            return records.filter { !$0.hasExpired(at: now) }.map(\.value)
        }

        /// Reads what other processes have changed, and writes the recorded changes.
        func synchronize() throws(StoreError) {
            do throws(StoreError) {
                try synchronizeOnce()
            } catch  where error.code == .corrupt {
                logger.warning("\(error.message)")
                closeFile()
                // Opening moves the damaged file out of the way. The known rows are then written to the new file.
                try synchronizeOnce()
            }
        }

        private func synchronizeOnce() throws(StoreError) {
            if file != nil, file?.identity != files.identity(of: Self.schema.file) { closeFile() }
            if isReadOnly, files.canWrite(Self.schema.file) { closeFile() }
            if file == nil {
                try reopen()
            } else {
                try refresh()
            }
            try write()
        }

        /// Opens the file after it was lost or replaced, and records the known rows that are missing, to write them
        /// again.
        private func reopen() throws(StoreError) {
            let records = try readNewFile()
            let readKeys = Set(records.map(\.key))
            let missingRows = knownRows.values.filter { !readKeys.contains($0.record.key) }.sorted { $0.place < $1.place }
            log.recordOlder(missingRows.map { (key: $0.record.key, change: .set($0.record.value)) })
            merge(records, isWhole: false)
        }

        private func readNewFile() throws(StoreError) -> [Record] {
            guard var file = try openFile() else { return [] }
            let records = try read(&file)
            self.file = file
            return records
        }

        private func refresh() throws(StoreError) {
            guard var file else { return }
            let version = try mappingErrors { () throws(Database.Failure) in try file.database.dataVersion() }
            guard version != file.dataVersion else { return }
            let records = try read(&file)
            self.file = file
            merge(records, isWhole: true)
        }

        /// Replaces the known rows, and passes the differences to the storage.
        ///
        /// - Parameter isWhole: whether a known record that is not in `records` was removed by another process.
        private func merge(_ records: [Record], isWhole: Bool) {
            let old = knownRows
            setKnownRows(records)
            let changed = records.filter { old[$0.key]?.record != $0 }
            let removed = isWhole ? Set(old.keys.filter { knownRows[$0] == nil }) : []
            guard !changed.isEmpty || !removed.isEmpty else { return }
            apply(changed.map(\.value), removed)
        }

        private func setKnownRows(_ records: [Record]) {
            knownRows = Dictionary(records.enumerated().map { ($1.key, (record: $1, place: $0)) }) { $1 }
            nextPlace = records.count
        }

        private func read(_ file: inout OpenFile) throws(StoreError) -> [Record] {
            let database = file.database
            let (rows, version) = try mappingErrors { () throws(Database.Failure) in
                try database.transaction(isWrite: false) { statements in
                    (try statements.rows(Self.schema.select), try statements.number("PRAGMA data_version"))
                }
            }
            file.dataVersion = version
            let records = rows.compactMap(Record.init)
            if records.count < rows.count {
                logger.warning("'\(path)': \(rows.count - records.count) of \(rows.count) rows can't be read; they stay unchanged")
            }
            return records
        }

        private func write() throws(StoreError) {
            guard !log.isEmpty else { return }
            guard !isReadOnly, let database = file?.database else {
                throw StoreError(
                    .readOnly, "'\(path)' can't be written: it, its folder or its file system is read-only; changes stay in memory")
            }
            let changes = log.removeChanges()
            var isReplaced = false
            do throws(StoreError) {
                isReplaced = try mappingErrors { () throws(Database.Failure) in
                    try database.transaction(isWrite: true) { statements in
                        var isReplaced = false
                        for (key, change) in changes where try !write(change, for: key, statements) { isReplaced = true }
                        return isReplaced
                    }
                }
            } catch {
                log.recordOlder(changes)
                throw error
            }
            for (key, change) in changes {
                switch change {
                case .set(let value):
                    knownRows[key] = (Record(value), knownRows[key]?.place ?? nextPlace)
                    nextPlace += 1
                case .removed, .removedIfUnchanged: knownRows[key] = nil
                }
            }
            // The storage has removed values that another process has replaced. Now it gets the new values.
            if isReplaced, var file {
                let records = try read(&file)
                self.file = file
                merge(records, isWhole: true)
            }
        }

        /// - Returns: `false` if the row stays, because another process has replaced it.
        private func write(_ change: ChangeLog<Record.Key, Record.Value>.Change, for key: Record.Key, _ statements: Database.Statements)
            throws -> Bool
        {
            switch change {
            case .removed: try statements.execute(Self.schema.delete, Record.columns(of: key))
            case .removedIfUnchanged(let value):
                let columns = Record.columns(of: key) + Record(value).values.prefix(1)
                return try statements.execute(Self.schema.deleteUnchanged, columns) > 0
            case .set(let value):
                let record = Record(value)
                if knownRows[key]?.record != record { try statements.execute(Self.schema.upsert, Record.columns(of: key) + record.values) }
            }
            return true
        }

        func close() {
            closeFile()
            knownRows = [:]
        }

        private func closeFile() {
            // `try?` because each change has been written, or will be written to the next file.
            try? file?.database.close()
            file = nil
        }

        /// The record for a key, as this process has last read or written it.
        subscript(key: Record.Key) -> Record? { knownRows[key]?.record }

        // MARK: Opening

        /// - Returns: `nil` if there is no file, and none can be made.
        private func openFile() throws(StoreError) -> OpenFile? {
            try files.prepareFolder()
            isReadOnly = !files.canWrite(Self.schema.file)
            return try files.whileLocked { () throws(StoreError) in
                if isReadOnly { return try openUnwritableFile() }
                try files.prepare(Self.schema.file)
                if try files.size(of: Self.schema.file) == 0 {
                    for log in StateFiles.logs where try (files.size(of: Self.schema.file + log) ?? 0) > 0 {
                        // SQLite would delete the log.
                        try setAside(because: "is empty, and has a log of changes")
                    }
                }
                do throws(StoreError) {
                    return try openDatabase()
                } catch  where error.code == .corrupt {
                    try setAside(because: "is damaged (\(error.message))")
                    return try openDatabase()
                }
            }
        }

        private func setAside(because problem: String) throws(StoreError) {
            let (new, removed) = try files.setAside(Self.schema.file)
            logger.error(
                "'\(path)' \(problem); it is now '\(new)', and a new file takes its place. Delete the old one when you do not need it: it can contain secrets"
            )
            for old in removed {
                logger.warning("'\(old)' was removed, because \(StateFiles.damagedFileLimit) newer damaged files are kept")
            }
            try files.prepare(Self.schema.file)
        }

        private func openUnwritableFile() throws(StoreError) -> OpenFile? {
            guard try files.size(of: Self.schema.file) ?? 0 > 0 else { return nil }
            try files.prepare(Self.schema.file)
            do throws(StoreError) {
                return try openDatabase(.readOnly)
            } catch  where [.busy, .foreignFile, .newerVersion, .accessDenied].contains(error.code) {
                throw error
            } catch {
                return try openWithoutLocks()
            }
        }

        /// Opens a file in a folder where SQLite can't create the index of a log. If there is a log, opens a copy of
        /// both.
        private func openWithoutLocks() throws(StoreError) -> OpenFile? {
            do throws(StoreError) {
                guard let log = try usedLog() else {
                    return try openDatabase(.readOnlyWithoutLocks)
                }
                do throws(StoreError) {
                    return try openCopy()
                } catch {
                    let file = try openDatabase(.readOnlyWithoutLocks)
                    reportIfNew(
                        "the newest changes, in '\(path)\(log)', can't be read, because the folder or its file system is read-only, and a copy can't be used: \(error.message)"
                    )
                    return file
                }
            } catch  where error.code == .corrupt {
                reportIfNew("\(error.message); it can't be replaced, because the folder or its file system is read-only")
                return nil
            }
        }

        private func usedLog() throws(StoreError) -> String? {
            for log in StateFiles.logs where try (files.size(of: Self.schema.file + log) ?? 0) > 0 { return log }
            return nil
        }

        /// Opens a copy of the file and its log. The copy is removed as soon as it is open.
        private func openCopy() throws(StoreError) -> OpenFile {
            try files.withCopy(of: Self.schema.file, in: options.temporaryFolder) { (copies) throws(StoreError) in
                try openDatabase(at: copies.path(of: Self.schema.file))
            }
        }

        private func reportIfNew(_ problem: String) {
            if reported.insert(problem).inserted { logger.error("\(problem)") }
        }

        private func openDatabase(_ access: Database.Access = .readWrite, at path: String? = nil) throws(StoreError) -> OpenFile {
            let path = path ?? self.path
            let database = try Database(path: path, options: options, access: access) { (header) throws(StoreError) in
                try Self.schema.format.check(header, of: path)
            }
            do throws(StoreError) {
                let version = try Self.schema.format.version(of: database, at: path)
                try mappingErrors(StoreError.init(opening:at:)) { () throws(Database.Failure) in
                    try database.checkIntegrity()
                    if access == .readWrite {
                        try database.useWriteAheadLog()
                        try database.checkWriting(options)
                        if version < Self.schema.format.version { try Self.schema.format.migrate(database) }
                        try database.check([Self.schema.upsert, Self.schema.delete])
                        for pragma in options.pragmas { try database.set(pragma: pragma) }
                    }
                    try database.check([Self.schema.select])
                }
            } catch {
                // `try?` because the first error is reported.
                try? database.close()
                throw error
            }
            return OpenFile(database: database, identity: files.identity(of: Self.schema.file), dataVersion: 0)
        }

        private func mappingErrors<Result>(
            _ makeError: (Database.Failure, String) -> StoreError = StoreError.init(_:at:), _ body: () throws(Database.Failure) -> Result
        ) throws(StoreError) -> Result {
            do throws(Database.Failure) { return try body() } catch { throw makeError(error, path) }
        }
    }

    extension StoredRecord {
        fileprivate func hasExpired(at now: Date) -> Bool { expiry.map { $0 <= now } ?? false }
    }
#endif
