// SPDX-License-Identifier: Apache-2.0

#if Redis
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanCoding
    import Synchronization

    /// Collects a body, and sends it at the end.
    final class RedisCacheWriter: CacheWriter {
        private struct State {
            var octets: [UInt8] = []
            var isEnded = false
            /// The epochs and the mark of the last removal, when the writer was opened. The server sends them before it
            /// answers a later command.
            var opened: (epochs: RedisEpochs, removal: [UInt8])?
        }

        private let store: RedisCacheStore
        private let opening: CacheOpening
        private let openTime = MonotonicTime.now
        private let state = Mutex(State())

        /// The largest number of octets that all writers of a store hold, in bodies of the largest size.
        private static let heldLimit = 32

        init(_ store: RedisCacheStore, _ opening: CacheOpening) { (self.store, self.opening) = (store, opening) }

        deinit { discard() }

        var key: CacheKey { opening.key }
        var isEnded: Bool { state.withLock { $0.isEnded } }

        func didOpen(_ reply: RedisEntries?) {
            guard let reply else { return discard() }
            state.withLock { $0.opened = (reply.epochs, reply.removal) }
        }

        func write(_ bytes: borrowing RawSpan) -> Bool {
            let (count, limit) = (bytes.byteCount, store.configuration.responseLimit)
            let isAccepted = store.heldCount.withLock { held in
                guard held + count <= Self.heldLimit * limit else { return false }
                held += count
                return true
            }
            guard isAccepted else {
                discard()
                return false
            }
            let isWritten = unsafe bytes.withUnsafeBytes { octets in
                state.withLock { state in
                    guard !state.isEnded, state.octets.count + count <= limit else { return false }
                    unsafe state.octets.append(contentsOf: octets)
                    return true
                }
            }
            if !isWritten {
                release(count)
                discard()
            }
            return isWritten
        }

        func finish(_ stored: StoredResponse, trailers: HTTPFields?) {
            guard let octets = end() else { return }
            guard MonotonicTime.now - openTime < RedisCacheStore.removalTime * 0.8 else { return release(octets.count) }
            let id = store.identifiers.withLock { $0.next() }
            store.change(opening.key.url, bodies: opening.extended != nil) { [self] found in
                change(found, id, octets, stored, trailers)
            } then: { [self] in
                release(octets.count)
            }
        }

        func discard() {
            if let octets = end() { release(octets.count) }
        }

        /// - Returns: `nil` if the writer has ended before.
        private func end() -> [UInt8]? {
            state.withLock { state in
                guard !state.isEnded else { return nil }
                state.isEnded = true
                defer { state.octets = [] }
                return state.octets
            }
        }

        private func release(_ count: Int) { store.heldCount.withLock { $0 -= count } }

        // MARK: - The entry

        /// The new entry in place of those that it replaces; `nil` if nothing is stored.
        private func change(
            _ found: RedisEntries, _ id: CacheEntry.ID, _ octets: [UInt8], _ stored: StoredResponse, _ trailers: HTTPFields?
        ) -> RedisChange? {
            guard let (epochs, removal) = state.withLock({ $0.opened }) else { return nil }
            let live = store.liveItems(found, of: opening.key)
            let extended = live.first { $0.id == opening.extended }
            guard (extended == nil) == (opening.extended == nil), let body = body(octets, extended), body.ranges == stored.content.ranges
            else { return nil }
            let others = live.filter { $0.id != opening.extended }
            let replaced =
                Variants.replaced(others.map(\.record.head.stored), byResponseTo: opening.request).map { others[$0] }
                + (extended.map { [$0] } ?? [])
            // A response to a later request is newer, although it ended before this one.
            guard !replaced.contains(where: { $0.record.head.stored.requestTime > stored.requestTime }) else { return nil }
            let (time, end) = store.time(of: stored)
            let bodyOctets = body.pieces.count == 1 ? body.pieces[0].octets : body.pieces.flatMap(\.octets)
            let head = CacheEntryHead(key: opening.key, stored: stored, attributes: opening.attributes, trailers: trailers)
            let record = RedisRecord(
                epochs: epochs, end: end, bodyCount: Int64(bodyOctets.count),
                bodyChecksum: unsafe CRC32.checksum(of: bodyOctets.span.bytes),
                head: head
            ).encoded
            guard record.count + bodyOctets.count <= store.configuration.responseLimit else { return nil }
            return RedisChange(
                epochs: epochs, removal: removal, version: found.version, time: time,
                deletedNames: found.damagedNames
                    + (replaced + store.deadItems(found)).flatMap { item in
                        [RedisEntries.recordName(item.id), RedisEntries.bodyName(item.id)]
                    },
                values: [(RedisEntries.recordName(id), record), (RedisEntries.bodyName(id), bodyOctets)])
        }

        private func body(_ octets: [UInt8], _ extended: RedisEntries.Item?) -> MemoryCacheBody? {
            let pieces = octets.isEmpty ? [] : [MemoryCacheBody.Piece(start: opening.position, octets: octets)]
            guard let extended else { return MemoryCacheBody(pieces) }
            return extended.body.flatMap { extended.record.body($0) }?.extended(by: pieces)
        }
    }
#endif
