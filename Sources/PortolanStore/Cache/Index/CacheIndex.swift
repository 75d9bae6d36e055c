// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache
    import PortolanCore
    import PortolanURL

    /// The index of a cache on disk: which responses there are, and how much room they take.
    ///
    /// All functions block. Changes are made in a transaction of the caller. A row can be damaged, so each record has a
    /// checksum.
    struct CacheIndex {
        let database: Database
        /// The limit in the index, in bytes; 0 if it was not read.
        var byteLimit: Int64 = 0

        /// A row with the record of an entry.
        struct Row {
            let id: Int64
            let record: CacheRecord
            /// The number of octets with which the entry counts against the limit.
            let cost: Int64
            /// The octets of a small body; `nil` if they are in a file.
            let body: [UInt8]?
            /// The time of the last use, in microseconds since 1970.
            let useTime: Int64
            let useCount: Int64
        }

        /// A row that can't be used.
        struct DamagedRow: Error {
            let id: Int64
            let reason: String
        }

        // MARK: Reading

        private static let select = """
            SELECT entry.id, content.record, content.checksum, content.body, entry.cost, entry.has_file, entry.used, entry.use_count
            FROM entry LEFT JOIN content ON content.id = entry.id
            """

        /// The entries for a URL in all partitions, the oldest first.
        func rows(for key: CacheKey) throws(Database.Failure) -> [Result<Row, DamagedRow>] {
            let sql = Self.select + " WHERE entry.url = ? ORDER BY entry.id"
            return try database.rows(sql, [.integer(Self.number(of: key.url))]).map { Self.row($0, key) }
        }

        /// The entries with identifiers after `id`, the oldest first.
        func rows(after id: Int64, atMost limit: Int) throws(Database.Failure) -> [Result<Row, DamagedRow>] {
            let sql = Self.select + " WHERE entry.id > ? ORDER BY entry.id LIMIT ?"
            return try database.rows(sql, [.integer(id), .integer(Int64(limit))]).map { Self.row($0, nil) }
        }

        static func rows(for key: CacheKey, _ statements: Database.Statements) throws -> [Result<Row, DamagedRow>] {
            let sql = select + " WHERE entry.url = ? ORDER BY entry.id"
            return try statements.rows(sql, [.integer(number(of: key.url))]).map { row($0, key) }
        }

        static func row(_ id: Int64, _ statements: Database.Statements) throws -> Result<Row, DamagedRow>? {
            try statements.rows(select + " WHERE entry.id = ?", [.integer(id)]).first.map { row($0, nil) }
        }

        static func row(_ columns: [SQLValue], _ key: CacheKey?) -> Result<Row, DamagedRow> {
            guard columns.count == 8, let id = columns[0].integer else { return .failure(DamagedRow(id: 0, reason: "no identifier")) }
            func damaged(_ reason: String) -> Result<Row, DamagedRow> { .failure(DamagedRow(id: id, reason: reason)) }
            guard let octets = columns[1].blob, let checksum = columns[2].integer, let cost = columns[4].integer,
                let hasFile = columns[5].bool, let useTime = columns[6].integer, let useCount = columns[7].integer
            else { return damaged("its row is incomplete") }
            guard Self.checksum(of: octets, id) == checksum else { return damaged("the checksum of its row is wrong") }
            // The checksum does not include the use, which changes with each hit.
            guard validUses.contains(useTime), validUses.contains(useCount), let record = CacheRecord(decoding: octets, key: key) else {
                return damaged("its row is malformed")
            }
            if hasFile { return .success(Row(id: id, record: record, cost: cost, body: nil, useTime: useTime, useCount: useCount)) }
            let body = columns[3].blob ?? []
            guard Int64(body.count) == record.layout.length, body.count <= BodyLayout.blockSize,
                unsafe body.isEmpty || record.layout.isIntact(body.span.bytes, block: 0, id: id)
            else { return damaged("the checksum of its body is wrong") }
            return .success(Row(id: id, record: record, cost: cost, body: body, useTime: useTime, useCount: useCount))
        }

        /// The valid times of uses, in microseconds since 1970 (until the year 2255), and the valid numbers of uses.
        private static let validUses: ClosedRange<Int64> = 0...(1 << 53)

        static func checksum(of record: [UInt8], _ id: Int64) -> Int64 {
            unsafe Int64(bitPattern: Checksum.of(record.span.bytes, seed: id))
        }

        static func number(of url: URLRecord) -> Int64 { Checksum.of(url.string) }
        static func number(ofOrigin url: URLRecord) -> Int64 { Checksum.of(url.schemeAndAuthority) }
        static func number(ofHost host: Substring?) -> Int64 { Checksum.of(host ?? "") }

        // MARK: Room

        /// The number of octets that count against the limit.
        static func byteCount(_ statements: Database.Statements) throws -> Int64 { try statements.number("SELECT bytes FROM total") }

        /// Computes the result of ``byteCount(_:)`` again from all rows.
        static func recount(_ statements: Database.Statements) throws {
            let sums = ["entry", "writing", "garbage"].map { "(SELECT COALESCE(sum(cost), 0) FROM \($0))" }
            try statements.execute("UPDATE total SET bytes = \(sums.joined(separator: " + "))")
        }

        /// Makes an identifier that was not used before. A new index starts at a random number, so that it does not use
        /// the identifiers of an earlier index.
        static func newID(_ statements: Database.Statements) throws -> Int64 {
            try statements.execute("UPDATE total SET last_id = last_id + 1")
            return try statements.number("SELECT last_id FROM total")
        }

        /// The entries that were used least recently.
        static func leastRecentlyUsed(_ statements: Database.Statements, atMost limit: Int) throws -> [(
            id: Int64, cost: Int64, hasFile: Bool
        )] {
            try statements.rows("SELECT id, cost, has_file FROM entry ORDER BY used LIMIT ?", [.integer(Int64(limit))]).map { row in
                (row[0].integer ?? 0, row[1].integer ?? 0, row[2].bool ?? true)
            }
        }

        // MARK: Changes

        /// Inserts an entry.
        ///
        /// - Parameter time: the time of its last use, in microseconds since 1970.
        static func insert(
            _ id: Int64, _ record: CacheRecord, _ octets: [UInt8], body: [UInt8]?, cost: Int64, time: Int64,
            _ statements: Database.Statements
        ) throws {
            let url = record.key.url
            try statements.execute(
                "INSERT INTO entry (id, url, origin, host, received, cost, has_file, used, use_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
                [
                    .integer(id), .integer(number(of: url)), .integer(number(ofOrigin: url)), .integer(number(ofHost: url.host)),
                    .integer(record.stored.responseTime), .integer(cost), .bool(body == nil), .integer(time),
                ])
            try statements.execute(
                "INSERT INTO content (id, record, checksum, body) VALUES (?, ?, ?, ?)",
                [.integer(id), .blob(octets), .integer(checksum(of: octets, id)), body.map { .blob($0) } ?? .null])
        }

        /// Replaces the record of an entry.
        ///
        /// - Parameter received: when the response was received or validated, in seconds since 1970.
        static func update(_ id: Int64, _ octets: [UInt8], received: Int64, cost: Int64, _ statements: Database.Statements) throws {
            try statements.execute(
                "UPDATE entry SET received = ?, cost = ? WHERE id = ?", [.integer(received), .integer(cost), .integer(id)])
            try statements.execute(
                "UPDATE content SET record = ?, checksum = ? WHERE id = ?",
                [.blob(octets), .integer(checksum(of: octets, id)), .integer(id)])
        }

        /// Removes entries. Their files become garbage, and count against the limit until they are removed.
        ///
        /// - Parameter condition: an SQL condition on the table `entry`.
        static func remove(where condition: String, _ values: [SQLValue], _ statements: Database.Statements) throws {
            try statements.execute(
                "INSERT INTO garbage (id, cost) SELECT id, cost FROM entry WHERE has_file <> 0 AND (\(condition))", values)
            try statements.execute("DELETE FROM content WHERE id IN (SELECT id FROM entry WHERE \(condition))", values)
            try statements.execute("DELETE FROM entry WHERE \(condition)", values)
        }

        static func remove(_ id: Int64, _ statements: Database.Statements) throws {
            try remove(where: "id = ?", [.integer(id)], statements)
        }

        /// The identifiers of files to remove.
        static func garbage(_ statements: Database.Statements) throws -> [Int64] {
            try statements.rows("SELECT id FROM garbage").compactMap { $0[0].integer }
        }

        // MARK: Removals

        /// How long a removal is remembered, in nanoseconds. A response that takes longer to arrive is stored
        /// in spite of the removal.
        static let removalLifetime: Int64 = 3_600_000_000_000

        /// Remembers a removal, so that no process stores what was requested before it.
        ///
        /// - Parameter time: the time of the monotonic clock in nanoseconds. All processes share this clock.
        static func insert(_ removal: CacheSelection, time: Int64, _ statements: Database.Statements) throws {
            let (kind, value): (String, Int64)
            switch removal {
            // Responses that are being written become other entries. One that extends this entry is not stored, because
            // the entry is missing then.
            case .entry: return
            case .url(let url): (kind, value) = ("url", number(of: CacheKey(url).url))
            case .origin(let url): (kind, value) = ("origin", number(ofOrigin: url))
            case .host(let host): (kind, value) = ("host", number(ofHost: host[...]))
            case .since, .all: (kind, value) = ("all", 0)
            }
            try statements.execute(
                "DELETE FROM removal WHERE time < ? OR time > ?", [.integer(time - removalLifetime), .integer(time)])
            try statements.execute(
                "INSERT INTO removal (time, kind, value) VALUES (?, CAST(? AS TEXT), ?)", [.integer(time), .text(kind), .integer(value)])
        }

        /// Whether entries for a key were removed since a time of the monotonic clock in nanoseconds. Ignores removals
        /// with later times than now: they are from before the last start of the system.
        static func hasRemoved(_ key: CacheKey, since time: Int64, _ statements: Database.Statements) throws -> Bool {
            try statements.number(
                """
                SELECT count(*) FROM removal WHERE time BETWEEN ? AND ? AND (kind = 'all' OR (kind = 'url' AND value = ?)
                OR (kind = 'origin' AND value = ?) OR (kind = 'host' AND value = ?))
                """,
                [
                    .integer(time), .integer(MonotonicTime.nanoseconds), .integer(number(of: key.url)), .integer(number(ofOrigin: key.url)),
                    .integer(number(ofHost: key.url.host)),
                ]
            ) > 0
        }

        /// The SQL condition for a selection, and its values.
        static func condition(of selection: CacheSelection) -> (sql: String, values: [SQLValue]) {
            switch selection {
            case .entry(let id): ("id = ?", [.integer(id.rawValue)])
            case .url(let url): ("url = ?", [.integer(number(of: CacheKey(url).url))])
            case .origin(let url): ("origin = ?", [.integer(number(ofOrigin: url))])
            case .host(let host): ("host = ?", [.integer(number(ofHost: host[...]))])
            case .since(let time): ("received >= ?", [.integer(time)])
            case .all: ("true", [])
            }
        }
    }
#endif
