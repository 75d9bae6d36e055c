// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache
    import PortolanCore

    /// Writes bodies while they are received, and makes entries of them.
    extension CacheWorker {
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

        /// - Returns: `nil` if the response extends an entry, and the octets of that entry can't be copied.
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

        func row(_ id: Int64) throws(StoreError) -> CacheIndex.Row? {
            // `try?` because a damaged row is found by the next look-up.
            try transaction { try CacheIndex.row(id, $0) }.flatMap { try? $0.get() }
        }

        /// Appends the octets of a range, as far as an entry has them.
        ///
        /// - Returns: `false` if the octets are damaged, or there is no room.
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
            // `try?` because a missing or damaged file only means that nothing is stored.
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
        /// - Parameters:
        ///   - count: the number of octets that the file needs in total.
        ///   - id: the identifier of the file for which more room is reserved; 0 for a new file.
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

        // MARK: Finishing

        func finish(_ finished: FinishedBody, _ number: DiskCacheCore.WriterNumber) {
            attempt { () throws(StoreError) in
                guard let builder = try completed(finished, number), try insert(finished, builder) else { return }
                // The file belongs to the entry now.
                builders[number] = nil
            }
            discard(number)
        }

        /// Returns the builder after all octets were appended; `nil` if the octets do not match the ranges of the
        /// response, or there is no room.
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

        /// Inserts the entry in the index, and removes the entries that it replaces.
        ///
        /// - Returns: `false` if the entry is not stored.
        private func insert(_ finished: FinishedBody, _ builder: BodyBuilder) throws(StoreError) -> Bool {
            let hasFile = builder.hasFile
            let head = CacheEntryHead(
                key: finished.opening.key, stored: finished.stored, attributes: finished.opening.attributes, trailers: finished.trailers)
            func makeRecord(_ checksums: [UInt64]) -> CacheRecord? {
                BodyLayout(finished.stored.content.ranges, checksums).map { CacheRecord(head, $0) }
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
                let values = [SQLValue.integer(builder.id)]
                if hasFile, try statements.number("SELECT count(*) FROM writing WHERE id = ?", values) == 0 { return .refused }
                guard let replaced = try replaced(by: finished, statements) else { return .refused }
                let id = hasFile ? builder.id : try CacheIndex.newID(statements)
                guard let record = makeRecord(checksums(id)) else { return .refused }
                for row in replaced { try CacheIndex.remove(row.id, statements) }
                if hasFile { try statements.execute("DELETE FROM writing WHERE id = ?", values) }
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

        /// The entries to remove when the response is stored; `nil` if it must not be stored.
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
            // The response to a later request is newer, even if it was complete earlier.
            if replaced.contains(where: { $0.record.stored.requestTime > finished.stored.requestTime }) { return nil }
            return replaced.map { ($0.id, $0.body == nil) } + damaged.map { ($0, true) }
        }
    }
#endif
