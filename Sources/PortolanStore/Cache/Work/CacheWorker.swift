// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Logging
    import PortolanCache
    import PortolanCore

    /// Writes the files and the index of a cache. Only the writing thread uses it.
    ///
    /// The limit holds at each instant, also if the process is killed: room is reserved in the index before a file
    /// grows, and a removed file counts until it is gone.
    final class CacheWorker {
        let core: DiskCacheCore
        private var index: CacheIndex?
        private var identity: StateFiles.Identity?
        private(set) var process: ProcessLock?
        var builders: [DiskCacheCore.WriterNumber: BodyBuilder] = [:]
        private var isReplacingIndex = false
        /// When an error with each code was logged last.
        private var reports: [StoreError.Code: Duration] = [:]

        private enum RoomStep<Result> {
            case done(Result)
            /// These files must be removed before there is room.
            case files([Int64])
            case full
        }

        /// The number of octets that an entry takes up besides its body and its record.
        static let overhead: Int64 = 512

        init(_ core: DiskCacheCore) { self.core = core }

        /// Opens the index.
        ///
        /// - Parameter needsRoom: whether a full disk is an error. Otherwise nothing is stored until there is room.
        func open(needsRoom: Bool) throws(StoreError) {
            do throws(StoreError) {
                _ = try openIndex()
            } catch  where error.code == .full && !needsRoom {
                reports[.full] = core.clock.now
                core.logger.warning("\(error.message); until then, responses are neither stored nor found")
            }
        }

        // MARK: - The index

        /// Runs `body` with the index. A damaged or missing index is replaced by an empty one.
        private func withIndex<Result>(_ body: (CacheIndex) throws(Database.Failure) -> Result) throws(StoreError) -> Result {
            let index = try openIndex()
            do throws(Database.Failure) {
                return try body(index)
            } catch {
                let error = StoreError(index: error, at: core.folder.indexPath)
                if error.code == .corrupt { removeDamagedIndex(error.message) }
                throw error
            }
        }

        @discardableResult
        func transaction<Result>(_ body: (Database.Statements) throws -> Result) throws(StoreError) -> Result {
            try withIndex { (index) throws(Database.Failure) in try index.database.transaction(isWrite: true, body) }
        }

        private func openIndex() throws(StoreError) -> CacheIndex {
            if let index, let identity, core.folder.indexIdentity == identity { return index }
            // Another process has replaced the file, or someone has removed the folder.
            index?.close()
            index = nil
            let index = try CacheIndex.open(core.folder, byteLimit: core.wantedByteLimit, logger: core.logger)
            do throws(StoreError) {
                process = try ProcessLock(in: core.folder)
            } catch {
                index.close()
                throw error
            }
            core.didOpenIndex(byteLimit: index.byteLimit)
            (self.index, identity) = (index, core.folder.indexIdentity)
            // The responses that are being written belong to the old index.
            for number in builders.keys { core.cancel(number) }
            builders = [:]
            return index
        }

        func openIndexIfMissing() { attempt { () throws(StoreError) in _ = try openIndex() } }

        /// Removes a damaged index, unless another process has done it already. Then removes the bodies.
        func removeDamagedIndex(_ problem: String) {
            guard index != nil, !isReplacingIndex, core.folder.repairsIndex else { return }
            isReplacingIndex = true
            defer { isReplacingIndex = false }
            index?.close()
            index = nil
            attempt { () throws(StoreError) in
                try core.folder.files.whileLocked { () throws(StoreError) in
                    guard core.folder.indexIdentity == identity else { return }
                    try core.folder.removeIndex(applicationID: CacheIndex.format.applicationID)
                    core.logger.error("\(problem): the cache is emptied")
                }
                _ = try openIndex()
                try cleanUpOrThrow()
            }
        }

        /// Runs `body`, and logs its error. Logs errors with the same code at most once a minute.
        ///
        /// - Returns: whether `body` succeeded.
        @discardableResult
        func attempt(_ body: () throws(StoreError) -> Void) -> Bool {
            do throws(StoreError) {
                try body()
                return true
            } catch {
                let now = core.clock.now
                if now - (reports[error.code] ?? now - .seconds(60)) >= .seconds(60) {
                    reports[error.code] = now
                    core.logger.warning("a change of the cache failed: \(error.message)")
                }
                return false
            }
        }

        func close() {
            attempt { () throws(StoreError) in try recordUsesOrThrow() }
            for number in Array(builders.keys) { discard(number) }
            index?.close()
            index = nil
            process = nil
        }

        // MARK: - Room

        /// Makes room for `count` octets, and then runs `use` in the same transaction.
        ///
        /// - Returns: `nil` if there is not enough room, for example because other writers have reserved it.
        func withRoom<Result>(_ count: Int64, _ use: (Database.Statements) throws -> Result) throws(StoreError) -> Result? {
            guard count <= core.byteLimit else { return nil }
            var (removed, hasCleaned) = ([Int64](), false)
            for _ in 0..<8 {
                let step: RoomStep<Result> = try transaction { statements in
                    for id in removed { try statements.execute("DELETE FROM garbage WHERE id = ?", [.integer(id)]) }
                    let total = try CacheIndex.byteCount(statements)
                    if total <= core.byteLimit - count { return .done(try use(statements)) }
                    try record(core.removeUses(), statements)
                    let garbageByteCount = try statements.number("SELECT COALESCE(sum(cost), 0) FROM garbage")
                    let isFull = try !evict(total - (core.byteLimit - count) - garbageByteCount, statements)
                    let files = try CacheIndex.garbage(statements)
                    return isFull && files.isEmpty ? .full : .files(files)
                }
                switch step {
                case .done(let result): return result
                case .full where hasCleaned: return nil
                case .full:
                    // Processes that have ended can have reserved the room.
                    hasCleaned = true
                    removed = []
                    try collectDeadProcesses()
                    try transaction { try CacheIndex.recount($0) }
                case .files(let files):
                    for id in files { core.folder.removeBody(id) }
                    removed = files
                }
            }
            return nil
        }

        /// Removes the least recently used entries.
        ///
        /// - Returns: whether enough octets become free.
        private func evict(_ needed: Int64, _ statements: Database.Statements) throws -> Bool {
            var freed: Int64 = 0
            guard needed > 0 else { return true }
            // Frees more than is needed, so that not each response must make room.
            let wanted = needed + core.byteLimit / 64
            while freed < wanted {
                let entries = try CacheIndex.leastRecentlyUsed(statements, atMost: 64)
                if entries.isEmpty { return freed >= needed }
                for entry in entries where freed < wanted {
                    try CacheIndex.remove(entry.id, statements)
                    freed += max(entry.cost, 1)
                }
            }
            return true
        }

        /// Moves the rows of processes that have ended from the table `writing` to the table `garbage`.
        private func collectDeadProcesses() throws(StoreError) {
            let own = process?.number ?? 0
            try transaction { statements in
                for row in try statements.rows("SELECT DISTINCT process FROM writing WHERE process <> ?", [.integer(own)]) {
                    guard let number = row[0].integer, ProcessLock.isDead(number, in: core.folder) else { continue }
                    let process = [SQLValue.integer(number)]
                    try statements.execute("INSERT INTO garbage (id, cost) SELECT id, cost FROM writing WHERE process = ?", process)
                    try statements.execute("DELETE FROM writing WHERE process = ?", process)
                }
            }
        }

        /// Removes the files of removed entries.
        func collectGarbage() throws(StoreError) {
            let files = try transaction { try CacheIndex.garbage($0) }
            guard !files.isEmpty else { return }
            for id in files { core.folder.removeBody(id) }
            try transaction { statements in
                for id in files { try statements.execute("DELETE FROM garbage WHERE id = ?", [.integer(id)]) }
            }
        }

        /// Removes what ended processes, and an older index, have left.
        func cleanUpOrThrow() throws(StoreError) {
            try collectDeadProcesses()
            ProcessLock.removeDead(in: core.folder)
            try collectGarbage()
            let files = core.folder.bodyIDs()
            let known = try transaction { statements in
                try CacheIndex.recount(statements)
                let sql = "SELECT id FROM entry WHERE has_file <> 0 UNION SELECT id FROM writing UNION SELECT id FROM garbage"
                return Set(try statements.rows(sql).compactMap { $0[0].integer })
            }
            for id in files where !known.contains(id) { core.folder.removeBody(id) }
            _ = try withRoom(0) { _ in }
            try shrinkIndex()
        }

        /// Removes what ended processes, and an older index, have left, unless there is no index.
        func cleanUp() {
            if index != nil { attempt { () throws(StoreError) in try cleanUpOrThrow() } }
        }

        /// Gives free pages of the index back to the file system, if there are many.
        func shrinkIndex() throws(StoreError) {
            try withIndex { (index) throws(Database.Failure) in
                let free = try index.database.rows("PRAGMA freelist_count", []).first?.first?.integer ?? 0
                let kept = max(256, core.byteLimit / 4096 / 64)
                if free > 2 * kept { try index.database.set(pragma: "incremental_vacuum(\(free - kept))") }
            }
        }

        // MARK: - Uses

        func recordUses() { attempt { () throws(StoreError) in try recordUsesOrThrow() } }

        private func recordUsesOrThrow() throws(StoreError) {
            let uses = core.removeUses()
            if !uses.isEmpty { try transaction { try record(uses, $0) } }
        }

        func record(_ uses: [Int64: CacheUse], _ statements: Database.Statements) throws {
            for (id, use) in uses {
                try statements.execute(
                    "UPDATE entry SET used = max(used, ?), use_count = use_count + ? WHERE id = ?",
                    [.integer(use.time), .integer(use.count), .integer(id)])
            }
        }
    }
#endif
