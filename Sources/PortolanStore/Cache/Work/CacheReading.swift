// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Logging
    import PortolanCache

    /// Looks up entries in the index. Only the reading thread uses it.
    final class CacheReading {
        private var index: CacheIndex?
        private var identity: StateFiles.Identity?

        /// Returns the entries for a look-up. Leaves out damaged entries, and removes them.
        func entries(for lookup: DiskCacheCore.Lookup, _ core: DiskCacheCore) -> [CacheEntry] {
            do throws(StoreError) {
                let index = try openIndex(core)
                do throws(Database.Failure) {
                    return try index.rows(for: lookup.key).compactMap { entry($0, lookup, core) }
                } catch {
                    throw StoreError(index: error, at: core.folder.indexPath)
                }
            } catch {
                close()
                core.logger.debug("\(error.message)")
                if error.code == .corrupt { core.writing.submit { $0.removeDamagedIndex(error.message) } }
                return []
            }
        }

        private func openIndex(_ core: DiskCacheCore) throws(StoreError) -> CacheIndex {
            let current = core.folder.indexIdentity
            if let index, current == identity { return index }
            close()
            // The writing thread makes a new index.
            guard current != nil else {
                core.writing.submit { $0.openIndexIfMissing() }
                throw StoreError(.ioFailed, "'\(core.folder.indexPath)' is missing")
            }
            let index = try CacheIndex.openToRead(core.folder)
            (self.index, identity) = (index, current)
            return index
        }

        private func entry(
            _ row: Result<CacheIndex.Row, CacheIndex.DamagedRow>, _ lookup: DiskCacheCore.Lookup, _ core: DiskCacheCore
        ) -> CacheEntry? {
            switch row {
            case .failure(let damaged):
                core.removeDamaged(damaged.id, because: damaged.reason)
                return nil
            case .success(let row):
                let (id, record) = (CacheEntry.ID(row.id), row.record)
                guard record.key == lookup.key,
                    !lookup.removals.contains(where: { $0.contains(id, record.key, responseTime: record.stored.responseTime) })
                else { return nil }
                let use = CacheEntry.Use(time: Double(row.useTime) / 1e6, count: row.useCount)
                let entry = record.head.entry(id, DiskCacheBody(id, record.layout, row.body, core), use: use)
                guard let update = lookup.updates[id], update.content.ranges == record.layout.ranges else { return entry }
                return entry.updated(update)
            }
        }

        func close() {
            index?.close()
            index = nil
        }
    }
#endif
