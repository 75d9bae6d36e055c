// SPDX-License-Identifier: Apache-2.0

#if Persistence
    package import FoundationEssentials
    package import PortolanCache
    import PortolanCore

    /// Lists and verifies the contents of the folder. All functions block.
    extension DiskCacheStore {
        package struct Summary: Hashable, Sendable {
            /// The absolute path of the folder.
            package let path: String
            package let entryCount: Int
            /// The number of octets that count against the limit.
            package let byteCount: Int64
            package let byteLimit: Int64
        }

        /// One stored response.
        package struct Item: Sendable {
            package let id: CacheEntry.ID
            package let key: CacheKey
            package let stored: StoredResponse
            package let attributes: CacheAttributes
            /// The number of octets of the body.
            package let bodyLength: Int64
            /// The number of octets of this response that count against the limit.
            package let byteCount: Int64
            /// When a load last used or stored the response.
            package let lastUse: Date
            /// How often loads used the response.
            package let useCount: Int64
        }

        /// The result of ``verify(removing:)``.
        package struct Verification: Sendable {
            package struct Damage: Hashable, Sendable {
                /// `nil` if the URL can't be read.
                package let url: String?
                package let reason: String
            }

            package var intactCount = 0
            package var damagedResponses: [Damage] = []
            /// The number of files that belong to no response. With `removing`, only those that were removed.
            package var orphanCount = 0
            package var summary: Summary
        }

        package func summary() throws(StoreError) -> Summary {
            try waitForWrites()
            return try reading { (index) throws(Database.Failure) in try summary(index) }
        }

        private func summary(_ index: CacheIndex) throws(Database.Failure) -> Summary {
            let row = try index.database.rows("SELECT (SELECT count(*) FROM entry), bytes FROM total", []).first ?? []
            let numbers = row.map { $0.integer ?? 0 } + [0, 0]
            return Summary(path: path, entryCount: Int(numbers[0]), byteCount: numbers[1], byteLimit: byteLimit)
        }

        /// Calls `body` with each response, the oldest first, until it returns `false`. Leaves out rows that can't be
        /// decoded.
        package func forEachItem(_ body: (Item) -> Bool) throws(StoreError) {
            try waitForWrites()
            try reading { (index) throws(Database.Failure) in
                var last = Int64.min
                while true {
                    let rows = try index.rows(after: last, atMost: 64)
                    if rows.isEmpty { return }
                    for row in rows {
                        switch row {
                        case .failure(let row): last = row.id
                        case .success(let row):
                            last = row.id
                            if !body(Item(row)) { return }
                        }
                    }
                }
            }
        }

        /// All responses, the oldest first.
        package func items() throws(StoreError) -> [Item] {
            var items: [Item] = []
            try forEachItem { item in
                items.append(item)
                return true
            }
            return items
        }

        /// Waits until all changes that were made before the call are on disk, or could not be written.
        package func waitForWrites() throws(StoreError) {
            if core.folder.isReadOnly { return }
            guard !core.isClosed else { throw StoreError(.closed, "the cache '\(path)' is closed") }
            let isDone = ConditionLock(false)
            core.flush { isDone.withLockBroadcasting { $0 = true } }
            isDone.wait { $0 ? () : nil }
        }

        private func reading<Result>(_ body: (CacheIndex) throws(Database.Failure) -> Result) throws(StoreError) -> Result {
            let index = try CacheIndex.openToRead(core.folder)
            defer { index.close() }
            do throws(Database.Failure) {
                return try body(index)
            } catch {
                throw StoreError(index: error, at: core.folder.indexPath)
            }
        }

        // MARK: Verification

        /// Reads everything, and compares it with its checksums.
        ///
        /// - Parameter removing: whether damaged responses, and files that belong to no response, are removed. A
        ///   damaged index is then replaced by an empty one.
        package func verify(removing: Bool) throws(StoreError) -> Verification {
            try waitForWrites()
            // The files are listed before the index is read. Otherwise a file that is created in between would have no
            // row.
            let files = core.folder.bodyIDs()
            var verification = Verification(summary: Summary(path: path, entryCount: 0, byteCount: 0, byteLimit: byteLimit))
            var damagedIDs: [Int64] = []
            do throws(StoreError) {
                let known = try reading { (index) throws(Database.Failure) in try verify(index, &verification, &damagedIDs) }
                let orphans = files.filter { !known.contains($0) }
                verification.orphanCount = orphans.count
                guard removing else { return verification }
                for id in damagedIDs { core.writing.submit { $0.removeDamaged(id) } }
                verification.orphanCount = orphans.count { core.folder.removeBody($0) }
            } catch  where error.code == .corrupt {
                verification.damagedResponses.append(Verification.Damage(url: nil, reason: error.message))
                guard removing else { return verification }
                core.writing.submit { $0.removeDamagedIndex(error.message) }
            }
            verification.summary = try summary()
            return verification
        }

        /// - Returns: the identifiers of the files that the index knows.
        private func verify(
            _ index: CacheIndex, _ verification: inout Verification, _ damagedIDs: inout [Int64]
        ) throws(Database.Failure) -> Set<Int64> {
            try index.database.checkIntegrity()
            var last = Int64.min
            while case let rows = try index.rows(after: last, atMost: 64), !rows.isEmpty {
                for row in rows {
                    let (id, damage) = damage(of: row)
                    last = id
                    guard let damage else {
                        verification.intactCount += 1
                        continue
                    }
                    // Another process can have removed the response in the meantime.
                    guard try index.hasEntry(id) else { continue }
                    verification.damagedResponses.append(damage)
                    damagedIDs.append(id)
                }
            }
            verification.summary = try summary(index)
            return try index.bodyIDs()
        }

        private func damage(of row: Result<CacheIndex.Row, CacheIndex.DamagedRow>) -> (id: Int64, damage: Verification.Damage?) {
            switch row {
            case .failure(let row): (row.id, Verification.Damage(url: nil, reason: row.reason))
            case .success(let row):
                (row.id, problem(of: row).map { Verification.Damage(url: row.record.key.url.string, reason: $0) })
            }
        }

        /// Why a response is damaged; `nil` if it is intact.
        private func problem(of row: CacheIndex.Row) -> String? {
            if row.body != nil { return nil }
            do throws(StoreError) {
                let file = try BodyFile.opened(core.folder.bodyPath(row.id))
                let layout = row.record.layout
                let size = try file.size()
                guard size == layout.length else { return "'\(file.path)' has \(size) bytes instead of \(layout.length)" }
                var buffer: [UInt8] = []
                for block in layout.checksums.indices {
                    let range = layout.block(block)
                    try file.read(range, into: &buffer)
                    guard unsafe layout.isIntact(buffer.span.extracting(..<range.count).bytes, block: block, id: row.id) else {
                        return "the checksum of '\(file.path)' is wrong in block \(block)"
                    }
                }
                return nil
            } catch {
                return error.message
            }
        }
    }

    extension DiskCacheStore.Item {
        fileprivate init(_ row: CacheIndex.Row) {
            (id, key, stored, attributes) = (CacheEntry.ID(row.id), row.record.key, row.record.stored, row.record.head.attributes)
            (bodyLength, byteCount, useCount) = (row.record.layout.length, row.cost, row.useCount)
            lastUse = Date(microseconds: row.useTime)
        }
    }

    extension CacheIndex {
        /// The identifiers of the files that the index knows.
        fileprivate func bodyIDs() throws(Database.Failure) -> Set<Int64> {
            let sql = "SELECT id FROM entry WHERE has_file <> 0 UNION SELECT id FROM writing UNION SELECT id FROM garbage"
            return Set(try database.rows(sql, []).compactMap { $0[0].integer })
        }

        fileprivate func hasEntry(_ id: Int64) throws(Database.Failure) -> Bool {
            try !database.rows("SELECT 1 FROM entry WHERE id = ?", [.integer(id)]).isEmpty
        }
    }
#endif
