// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCache
    import PortolanURL
    import Synchronization

    /// A deletion of entries of many URLs. It scans the keys a few at a time, so that the server is never blocked.
    struct RedisSweep: Sendable {
        struct Limit: Sendable {
            /// The time of ``CacheSelection/since(_:)``, in seconds since 1970.
            let time: Int64
            /// The epoch of the writers that were opened after the removal.
            let epoch: [UInt8]
        }

        /// `nil` for a sweep that deletes only entries that are invalid already.
        var since: Limit?
        var number = 0

        /// Whether the sweep removes an entry, although its epochs are valid.
        func removes(_ record: RedisRecord) -> Bool {
            guard let since else { return false }
            return record.head.stored.responseTime >= since.time && record.epochs.writers != since.epoch
        }
    }

    extension RedisCacheStore {
        private static let sweepStep: Int64 = 100
        /// The time after which a sweep begins again if the server did not answer.
        private static let sweepPause = Duration.seconds(1)
        /// While this number of sweeps runs, no other sweep is started that deletes only invalid entries. Those entries
        /// expire later.
        private static let sweepLimit = 2

        /// The entries that are not valid any more.
        func invalidItems(_ found: RedisEntries) -> [RedisEntries.Item] {
            let (sweeps, now) = (sweeps.withLock { $0 }, now())
            return found.items.filter { item in !isLive(item.record, found.epochs, now) || sweeps.contains { $0.removes(item.record) } }
        }

        func sweep(_ sweep: RedisSweep) {
            var sweep = sweep
            let isAccepted = sweeps.withLock { sweeps in
                guard sweep.since != nil || sweeps.count < Self.sweepLimit else { return false }
                sweep.number = (sweeps.last?.number ?? 0) + 1
                sweeps.append(sweep)
                return true
            }
            if isAccepted { scan(sweep, "0") }
        }

        private func scan(_ sweep: RedisSweep, _ cursor: RedisCommand.Word) {
            let words: [RedisCommand.Word] = [
                "SCAN", cursor, "MATCH", RedisCommand.Word(keys.entriesPattern), "COUNT", RedisCommand.Word(Self.sweepStep),
            ]
            client.send(RedisCommand(words)) { [weak self] reply in
                guard let parts = reply?.elements, parts.count == 2, let next = parts[0].octets, let found = parts[1].elements else {
                    self?.pause(sweep)
                    return
                }
                let urls = found.compactMap(\.octets).compactMap { self?.keys.url(ofKey: $0) }
                self?.clean(urls[...], sweep) { [weak self] in
                    if next == Array("0".utf8) { self?.end(sweep) } else { self?.scan(sweep, RedisCommand.Word(next)) }
                }
            }
        }

        /// Begins the sweep again later, unless it deletes only entries that are invalid already.
        private func pause(_ sweep: RedisSweep) {
            guard sweep.since != nil else { return end(sweep) }
            client.after(Self.sweepPause) { [weak self] in self?.scan(sweep, "0") }
        }

        private func end(_ sweep: RedisSweep) { sweeps.withLock { $0.removeAll { $0.number == sweep.number } } }

        private func clean(_ urls: ArraySlice<URLRecord>, _ sweep: RedisSweep, _ completion: @escaping @Sendable () -> Void) {
            guard let url = urls.first else { return completion() }
            change(url) { [weak self] found in
                guard let self else { return nil }
                let dead = invalidItems(found)
                if dead.isEmpty { return nil }
                let names = dead.flatMap { [RedisEntries.recordName($0.id), RedisEntries.bodyName($0.id)] }
                return RedisChange(epochs: found.epochs, removalMark: found.removalMark, version: found.version, deletedNames: names)
            } then: { [weak self] in
                self?.clean(urls.dropFirst(), sweep, completion)
            }
        }
    }
#endif
