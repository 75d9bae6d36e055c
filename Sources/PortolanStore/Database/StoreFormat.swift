// SPDX-License-Identifier: Apache-2.0

#if Persistence
    /// The kind and the version of a store's file.
    struct StoreFormat: Sendable {
        /// Marks the file as one of this kind (`PRAGMA application_id`).
        let applicationID: Int32
        /// The statements that lead from each version to the next. The first element makes version 1 in an empty file.
        /// An element never changes after it was published.
        let migrations: [String]

        /// The newest version of the layout. A file has its version in `PRAGMA user_version`.
        var version: Int32 { Int32(migrations.count) }

        /// No version of Portolan has more migrations than this, so a header with a greater version is damaged.
        private static let greatestVersion: Int64 = 100

        /// Throws if a newer version or another program wrote the file, or if its header is damaged.
        func check(_ header: Database.Header, of path: String) throws(StoreError) {
            // A new file, or one of another program without these numbers.
            if header.applicationID == 0, header.version == 0 { return }
            // An ID with one wrong bit is a damaged ID, and not that of another program.
            let difference = UInt32(truncatingIfNeeded: header.applicationID) ^ UInt32(bitPattern: applicationID)
            guard difference.nonzeroBitCount <= 1 else { throw Self.foreignFile(path) }
            guard difference == 0, header.version <= Self.greatestVersion else {
                throw StoreError(.corrupt("its header is damaged"), at: path)
            }
            guard header.version <= Int64(version) else {
                throw StoreError(
                    .newerVersion,
                    "a newer version of Portolan wrote '\(path)' (format \(header.version), and this version knows \(version)); update Portolan, or choose another folder"
                )
            }
        }

        /// The version of the file; 0 for a new one.
        func version(of database: Database, at path: String) throws(StoreError) -> Int32 {
            let (application, version, count): (Int64, Int64, Int64)
            do throws(Database.Failure) {
                (application, version, count) = try database.transaction(isWrite: false) { statements in
                    (
                        try statements.number("PRAGMA application_id"), try statements.number("PRAGMA user_version"),
                        try statements.number("SELECT count(*) FROM sqlite_schema")
                    )
                }
            } catch {
                throw StoreError(opening: error, at: path)
            }
            if application == 0, version == 0, count == 0 { return 0 }
            guard application != 0 else { throw Self.foreignFile(path) }
            guard version > 0 else { throw StoreError(.corrupt("it has no version"), at: path) }
            return Int32(clamping: version)
        }

        /// Brings the file to the newest version. Another process may have done it in the meantime.
        func migrate(_ database: Database) throws(Database.Failure) {
            try database.transaction(isWrite: true) { statements in
                let version = Int(try statements.number("PRAGMA user_version"))
                guard version >= 0, version < migrations.count else { return }
                for migration in migrations[version...] { try statements.executeAll(migration) }
                try statements.executeAll("PRAGMA application_id = \(applicationID)")
                try statements.executeAll("PRAGMA user_version = \(self.version)")
            }
        }

        private static func foreignFile(_ path: String) -> StoreError {
            StoreError(.foreignFile, "'\(path)' is a database of another program; move it away, or choose another folder")
        }
    }
#endif
