// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Logging
    import PortolanCache
    import PortolanCore

    /// Writes the files and the index of a cache, on the thread for it.
    ///
    /// The limit holds at each instant, also if the process is killed: room is reserved in the index before a file
    /// grows, and a removed file counts until it is gone.
    final class CacheWorker {
        let core: DiskCacheCore
        private var index: CacheIndex?
        private var identity: StateFiles.Identity?
        private var process: ProcessLock?
        private var builders: [DiskCacheCore.WriterNumber: BodyBuilder] = [:]
        private var isReplacingIndex = false
        /// When a kind of problem was logged last.
        private var reports: [StoreError.Code: Duration] = [:]

        private enum RoomStep<Result> {
            case done(Result)
            /// These files must be removed before there is room.
            case files([Int64])
            case full
        }

        /// What an entry takes up besides its body and its record.
        static let overhead: Int64 = 512

        init(_ core: DiskCacheCore, _ index: CacheIndex) throws(StoreError) {
            (self.core, self.index) = (core, index)
            identity = core.folder.files.identity(of: CacheFolder.index)
            process = try ProcessLock(in: core.folder)
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
        private func transaction<Result>(_ body: (Database.Statements) throws -> Result) throws(StoreError) -> Result {
            try withIndex { (index) throws(Database.Failure) in try index.database.transaction(isWrite: true, body) }
        }

        private func openIndex() throws(StoreError) -> CacheIndex {
            if let index, let identity, core.folder.files.identity(of: CacheFolder.index) == identity { return index }
            // Another process has replaced the file, or someone has removed the folder.
            index?.close()
            index = nil
            let index = try CacheIndex.open(core.folder, byteLimit: core.byteLimit, logger: core.logger)
            process = try ProcessLock(in: core.folder)
            (self.index, identity) = (index, core.folder.files.identity(of: CacheFolder.index))
            // What is being written belongs to the old index.
            for number in builders.keys { core.cancel(number) }
            builders = [:]
            return index
        }

        func openIndexIfMissing() { attempt { () throws(StoreError) in _ = try openIndex() } }

        /// Removes a damaged index, unless another process has done it already. The bodies go with it.
        func removeDamagedIndex(_ problem: String) {
            guard index != nil, !isReplacingIndex else { return }
            isReplacingIndex = true
            defer { isReplacingIndex = false }
            index?.close()
            index = nil
            attempt { () throws(StoreError) in
                try core.folder.files.whileLocked { () throws(StoreError) in
                    guard core.folder.files.identity(of: CacheFolder.index) == identity else { return }
                    core.logger.error("\(problem): the cache is emptied")
                    try core.folder.removeIndex()
                }
                _ = try openIndex()
                try cleanUp()
            }
        }

        /// Runs `body`. A problem is logged once a minute, and not for each attempt.
        ///
        /// - Returns: whether it succeeded.
        @discardableResult
        private func attempt(_ body: () throws(StoreError) -> Void) -> Bool {
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
            attempt { () throws(StoreError) in try recordUsesOnce() }
            for number in Array(builders.keys) { discard(number) }
            index?.close()
            index = nil
            process = nil
        }

        // MARK: - Room

        /// Makes room for `count` octets, and then runs `use` in the same transaction.
        ///
        /// - Returns: `nil` if there is no room, because other writers have it.
        private func withRoom<Result>(_ count: Int64, _ use: (Database.Statements) throws -> Result) throws(StoreError) -> Result? {
            guard count <= core.byteLimit else { return nil }
            var (removed, hasCleaned) = ([Int64](), false)
            for _ in 0..<8 {
                let step: RoomStep<Result> = try transaction { statements in
                    for id in removed { try statements.execute("DELETE FROM garbage WHERE id = ?", [.integer(id)]) }
                    let total = try CacheIndex.byteCount(statements)
                    if total <= core.byteLimit - count { return .done(try use(statements)) }
                    try record(core.removeUses(), statements)
                    let known = try statements.number("SELECT COALESCE(sum(cost), 0) FROM garbage")
                    let isFull = try !evict(total - (core.byteLimit - count) - known, statements)
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
                case .files(let files):
                    for id in files { core.folder.removeBody(id) }
                    removed = files
                }
            }
            return nil
        }

        /// Removes entries that were not used for the longest time.
        ///
        /// - Returns: whether enough octets become free.
        private func evict(_ needed: Int64, _ statements: Database.Statements) throws -> Bool {
            var freed: Int64 = 0
            guard needed > 0 else { return true }
            // Some more, so that not each response makes room.
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

        /// Makes the rows of writers in ended processes garbage.
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
        private func collectGarbage() throws(StoreError) {
            let files = try transaction { try CacheIndex.garbage($0) }
            guard !files.isEmpty else { return }
            for id in files { core.folder.removeBody(id) }
            try transaction { statements in
                for id in files { try statements.execute("DELETE FROM garbage WHERE id = ?", [.integer(id)]) }
            }
        }

        /// Removes what ended processes, and an older index, have left.
        func cleanUp() throws(StoreError) {
            try collectDeadProcesses()
            ProcessLock.removeDead(in: core.folder)
            try collectGarbage()
            let files = core.folder.bodyIDs()
            let known = try transaction { statements in
                try statements.execute(
                    """
                    UPDATE total SET bytes = (SELECT COALESCE(sum(cost), 0) FROM entry) + (SELECT COALESCE(sum(cost), 0) FROM writing)
                    + (SELECT COALESCE(sum(cost), 0) FROM garbage)
                    """)
                let sql = "SELECT id FROM entry WHERE has_file <> 0 UNION SELECT id FROM writing UNION SELECT id FROM garbage"
                return Set(try statements.rows(sql).compactMap { $0[0].integer })
            }
            for id in files where !known.contains(id) { core.folder.removeBody(id) }
            _ = try withRoom(0) { _ in }
            try shrinkIndex()
        }

        func cleanUpOnce() { attempt { () throws(StoreError) in try cleanUp() } }

        /// Gives free pages of the index back to the file system, if there are many.
        private func shrinkIndex() throws(StoreError) {
            try withIndex { (index) throws(Database.Failure) in
                let free = try index.database.rows("PRAGMA freelist_count", []).first?.first?.integer ?? 0
                let kept = max(256, core.byteLimit / 4096 / 64)
                if free > 2 * kept { try index.database.set(pragma: "incremental_vacuum(\(free - kept))") }
            }
        }

        // MARK: - Uses

        func recordUses() { attempt { () throws(StoreError) in try recordUsesOnce() } }

        private func recordUsesOnce() throws(StoreError) {
            let uses = core.removeUses()
            if !uses.isEmpty { try transaction { try record(uses, $0) } }
        }

        private func record(_ uses: [Int64: CacheUse], _ statements: Database.Statements) throws {
            for (id, use) in uses {
                try statements.execute(
                    "UPDATE entry SET used = max(used, ?), use_count = use_count + ? WHERE id = ?",
                    [.integer(use.time), .integer(use.count), .integer(id)])
            }
        }

        // MARK: - Writing

        /// - Returns: `false` if the response can't be stored.
        func append(_ octets: [UInt8], _ number: DiskCacheCore.WriterNumber, _ opening: CacheOpening) -> Bool {
            var isAccepted = false
            attempt { () throws(StoreError) in
                isAccepted = try builder(number, opening)?.append(unsafe octets.span.bytes) ?? false
            }
            guard isAccepted else {
                discard(number)
                return false
            }
            return true
        }

        /// - Returns: `nil` if the entry that is extended can't be used.
        private func builder(_ number: DiskCacheCore.WriterNumber, _ opening: CacheOpening) throws(StoreError) -> BodyBuilder? {
            if let builder = builders[number] { return builder }
            let builder = BodyBuilder(self, opening)
            builders[number] = builder
            guard let extended = opening.extended else { return builder }
            guard let row = try row(extended.rawValue), row.record.key == opening.key,
                try copy(row, 0..<opening.position, to: builder)
            else {
                discard(number)
                return nil
            }
            return builder
        }

        private func row(_ id: Int64) throws(StoreError) -> CacheIndex.Row? {
            // `try?` because a damaged row is found by the next look-up.
            try transaction { try CacheIndex.row(id, $0) }.flatMap { try? $0.get() }
        }

        /// Appends the octets in a range that an entry has.
        ///
        /// - Returns: `false` if they are damaged, or there is no room.
        private func copy(_ row: CacheIndex.Row, _ range: Range<Int64>, to builder: BodyBuilder) throws(StoreError) -> Bool {
            for known in row.record.layout.ranges.ranges {
                let common = known.clamped(to: range)
                guard !common.isEmpty, let stored = row.record.layout.storedRange(of: common) else { continue }
                guard try copyStored(row, stored, to: builder) else { return false }
            }
            return true
        }

        private func copyStored(_ row: CacheIndex.Row, _ range: Range<Int64>, to builder: BodyBuilder) throws(StoreError) -> Bool {
            if let body = row.body {
                guard range.upperBound <= Int64(body.count) else { return false }
                return try builder.append(unsafe body.span.extracting(Int(range.lowerBound)..<Int(range.upperBound)).bytes)
            }
            let layout = row.record.layout
            // A file that is missing or damaged is no problem of the disk.
            guard let file = try? BodyFile.opened(core.folder.bodyPath(row.id)) else { return false }
            for index in BodyLayout.blockIndex(of: range.lowerBound)...BodyLayout.blockIndex(of: range.upperBound - 1) {
                let block = layout.block(index)
                guard let octets = try? file.read(block), unsafe layout.isIntact(octets.span.bytes, block: index, id: row.id) else {
                    return false
                }
                let common = block.clamped(to: range)
                let slice = Int(common.lowerBound - block.lowerBound)..<Int(common.upperBound - block.lowerBound)
                guard try builder.append(unsafe octets.span.extracting(slice).bytes) else { return false }
            }
            return true
        }

        /// Reserves room for a file.
        ///
        /// - Parameter id: the identifier of a file for which there is less room; 0 for a new one.
        /// - Returns: the identifier; `nil` if there is no room.
        func reserve(_ count: Int64, for id: Int64) throws(StoreError) -> Int64? {
            let number = process?.number ?? 0
            guard id != 0 else {
                return try withRoom(count) { statements in
                    let id = try CacheIndex.newID(statements)
                    try statements.execute(
                        "INSERT INTO writing (id, process, cost) VALUES (?, ?, ?)", [.integer(id), .integer(number), .integer(count)])
                    return id
                }
            }
            guard
                let reserved = try transaction({ try $0.rows("SELECT cost FROM writing WHERE id = ?", [.integer(id)]) }).first?.first?
                    .integer
            else { return nil }
            return try withRoom(count - reserved) { statements in
                try statements.execute("UPDATE writing SET cost = ? WHERE id = ?", [.integer(count), .integer(id)])
                return id
            }
        }

        /// Removes what a writer has written.
        func discard(_ number: DiskCacheCore.WriterNumber) {
            guard let builder = builders.removeValue(forKey: number), builder.id != 0 else { return }
            core.folder.removeBody(builder.id)
            attempt { () throws(StoreError) in
                _ = try transaction { try $0.execute("DELETE FROM writing WHERE id = ?", [.integer(builder.id)]) }
            }
        }

        // MARK: - Finishing

        func finish(_ finished: FinishedBody, _ number: DiskCacheCore.WriterNumber) {
            attempt { () throws(StoreError) in
                guard let builder = try completed(finished, number), try insert(finished, builder) else { return }
                // The file belongs to the entry now.
                builders[number] = nil
            }
            discard(number)
        }

        /// The builder with all octets; `nil` if they are not what the response says.
        private func completed(_ finished: FinishedBody, _ number: DiskCacheCore.WriterNumber) throws(StoreError) -> BodyBuilder? {
            let opening = finished.opening
            guard let builder = try builder(number, opening), try builder.append(unsafe finished.octets.span.bytes) else { return nil }
            var ranges = ByteRangeSet(opening.position..<opening.position + finished.count)
            if let extended = opening.extended {
                guard let row = try row(extended.rawValue),
                    try copy(row, opening.position + finished.count..<Int64.max, to: builder)
                else { return nil }
                ranges = row.record.layout.ranges.union(ranges)
            }
            guard ranges == finished.stored.content.ranges, ranges.count == builder.length, try builder.finish() else { return nil }
            return builder
        }

        /// Makes the entry visible, and removes those that it replaces.
        ///
        /// - Returns: `false` if it is not stored.
        private func insert(_ finished: FinishedBody, _ builder: BodyBuilder) throws(StoreError) -> Bool {
            let hasFile = builder.hasFile
            func makeRecord(_ checksums: [UInt64]) -> CacheRecord? {
                BodyLayout(finished.stored.content.ranges, checksums).map {
                    CacheRecord(
                        key: finished.opening.key, stored: finished.stored, attributes: finished.opening.attributes,
                        trailers: finished.trailers, layout: $0)
                }
            }
            func checksums(_ id: Int64) -> [UInt64] {
                let octets = builder.buffer
                return unsafe hasFile || octets.isEmpty
                    ? builder.checksums : [Checksum.of(octets.span.bytes, seed: BodyLayout.seed(id, 0))]
            }
            guard let draft = makeRecord(checksums(0)) else { return false }
            let cost = BodyBuilder.cost(builder.length, hasFile: hasFile) + Int64(draft.octets.count) + Self.overhead
            guard cost <= core.entryLimit else { return false }
            if hasFile, try !builder.reserve(cost) { return false }
            let time = core.useTime()
            let outcome: Insertion? = try withRoom(hasFile ? 0 : cost) { statements in
                let known = [SQLValue.integer(builder.id)]
                if hasFile, try statements.number("SELECT count(*) FROM writing WHERE id = ?", known) == 0 { return .refused }
                guard let replaced = try replaced(by: finished, statements) else { return .refused }
                let id = hasFile ? builder.id : try CacheIndex.newID(statements)
                guard let record = makeRecord(checksums(id)) else { return .refused }
                for row in replaced { try CacheIndex.remove(row.id, statements) }
                if hasFile { try statements.execute("DELETE FROM writing WHERE id = ?", known) }
                try CacheIndex.insert(
                    id, record, record.octets, body: hasFile ? nil : builder.buffer, cost: cost, time: time, statements)
                return .stored(replacesFiles: replaced.contains { $0.hasFile })
            }
            guard case .stored(let replacesFiles) = outcome else { return false }
            if replacesFiles { try collectGarbage() }
            return true
        }

        private enum Insertion {
            case refused
            case stored(replacesFiles: Bool)
        }

        /// The entries that go when the response is stored; `nil` if it must not be stored.
        private func replaced(by finished: FinishedBody, _ statements: Database.Statements) throws -> [(id: Int64, hasFile: Bool)]? {
            let (opening, key) = (finished.opening, finished.opening.key)
            if try CacheIndex.hasRemoved(key, since: finished.openingTime, statements) { return nil }
            var (candidates, damaged): ([CacheIndex.Row], [Int64]) = ([], [])
            for row in try CacheIndex.rows(for: key, statements) {
                switch row {
                case .success(let row): if row.record.key == key { candidates.append(row) }
                case .failure(let row): damaged.append(row.id)
                }
            }
            let extended = candidates.filter { $0.id == opening.extended?.rawValue }
            if opening.extended != nil, extended.isEmpty { return nil }
            let others = candidates.filter { $0.id != opening.extended?.rawValue }
            let indices = Variants.replaced(others.map(\.record.stored), byResponseTo: opening.request)
            let replaced = extended + indices.map { others[$0] }
            // A response to a later request is newer, although it ended before this one.
            if replaced.contains(where: { $0.record.stored.requestTime > finished.stored.requestTime }) { return nil }
            return replaced.map { ($0.id, $0.body == nil) } + damaged.map { ($0, true) }
        }

        // MARK: - Changing

        func update(_ id: Int64, to stored: StoredResponse) {
            attempt { () throws(StoreError) in
                guard let row = try row(id), row.record.layout.ranges == stored.content.ranges else { return }
                var record = row.record
                record.stored = stored
                let octets = record.octets
                let cost = BodyBuilder.cost(record.layout.length, hasFile: row.body == nil) + Int64(octets.count) + Self.overhead
                let time = core.useTime()
                let isUpdated: Void? =
                    try cost > core.entryLimit
                    ? nil
                    : withRoom(max(0, cost - row.cost)) { statements in
                        try self.record([id: CacheUse(time: time, count: 0)], statements)
                        try CacheIndex.update(id, octets, received: stored.responseTime, cost: cost, statements)
                    }
                if isUpdated == nil { try removeOnce(.entry(CacheEntry.ID(id)), time: nil) }
            }
        }

        /// - Returns: whether it succeeded.
        func remove(_ selection: CacheSelection, time: Int64) -> Bool {
            attempt { () throws(StoreError) in try removeOnce(selection, time: time) }
        }

        func removeDamaged(_ id: Int64) {
            attempt { () throws(StoreError) in try removeOnce(.entry(CacheEntry.ID(id)), time: nil) }
        }

        private func removeOnce(_ selection: CacheSelection, time: Int64?) throws(StoreError) {
            let (condition, values) = CacheIndex.condition(of: selection)
            try transaction { statements in
                try CacheIndex.remove(where: condition, values, statements)
                if let time { try CacheIndex.insert(selection, time: time, statements) }
            }
            try collectGarbage()
            if case .entry = selection { return }
            try shrinkIndex()
        }
    }
#endif
