// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache

    /// Changes of entries that are in the index.
    extension CacheWorker {
        func update(_ id: Int64, to stored: StoredResponse) {
            attempt { () throws(StoreError) in
                guard let row = try row(id), row.record.layout.ranges == stored.content.ranges else { return }
                let octets = CacheRecord(row.record.head.updated(stored), row.record.layout).octets
                let cost = BodyBuilder.cost(row.record.layout.length, hasFile: row.body == nil) + Int64(octets.count) + Self.overhead
                let time = core.useTime()
                // `nil` if there is no room for the new record.
                let updateResult: Void? =
                    try cost > core.entryLimit
                    ? nil
                    : withRoom(max(0, cost - row.cost)) { statements in
                        try self.record([id: CacheUse(time: time, count: 0)], statements)
                        try CacheIndex.update(id, octets, received: stored.responseTime, cost: cost, statements)
                    }
                if updateResult == nil { try removeOrThrow(.entry(CacheEntry.ID(id)), removalTime: nil) }
            }
        }

        /// - Parameter removalTime: the time of the monotonic clock in nanoseconds.
        /// - Returns: whether the removal succeeded.
        func remove(_ selection: CacheSelection, removalTime: Int64) -> Bool {
            attempt { () throws(StoreError) in try removeOrThrow(selection, removalTime: removalTime) }
        }

        func removeDamaged(_ id: Int64) {
            attempt { () throws(StoreError) in try removeOrThrow(.entry(CacheEntry.ID(id)), removalTime: nil) }
        }

        /// - Parameter removalTime: the time of the monotonic clock in nanoseconds; `nil` to keep no record of the
        ///   removal.
        private func removeOrThrow(_ selection: CacheSelection, removalTime: Int64?) throws(StoreError) {
            let (condition, values) = CacheIndex.condition(of: selection)
            try transaction { statements in
                try CacheIndex.remove(where: condition, values, statements)
                if let removalTime { try CacheIndex.insert(selection, time: removalTime, statements) }
            }
            try collectGarbage()
            if case .entry = selection { return }
            try shrinkIndex()
        }
    }
#endif
