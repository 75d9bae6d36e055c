// SPDX-License-Identifier: Apache-2.0

#if Redis
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanCoding
    import Synchronization

    /// Collects a body in memory, and sends the body to the server at the end.
    final class RedisCacheWriter: CacheWriter {
        private struct State {
            var octets: [UInt8] = []
            var isEnded = false
            /// The epochs and the mark of the last removal when the writer was opened; `nil` before the server has sent
            /// them. It sends them before the replies to later commands.
            var opened: (epochs: RedisEpochs, removalMark: [UInt8])?
        }

        private let store: RedisCacheStore
        private let opening: CacheOpening
        private let openTime = MonotonicTime.now
        private let state = Mutex(State())

        /// All writers of a store together hold at most the octets of this number of bodies of the largest size.
        private static let heldBodyLimit = 32

        init(_ store: RedisCacheStore, _ opening: CacheOpening) { (self.store, self.opening) = (store, opening) }

        deinit { discard() }

        var key: CacheKey { opening.key }
        var isEnded: Bool { state.withLock { $0.isEnded } }

        func didOpen(_ reply: RedisEntries?) {
            guard let reply else { return discard() }
            state.withLock { $0.opened = (reply.epochs, reply.removalMark) }
        }

        func write(_ bytes: borrowing RawSpan) -> Bool {
            let (count, limit) = (bytes.byteCount, store.configuration.responseLimit)
            let isAccepted = store.heldOctetCount.withLock { held in
                guard held + count <= Self.heldBodyLimit * limit else { return false }
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

        /// - Returns: the collected octets; `nil` if the writer has ended before.
        private func end() -> [UInt8]? {
            state.withLock { state in
                guard !state.isEnded else { return nil }
                state.isEnded = true
                defer { state.octets = [] }
                return state.octets
            }
        }

        private func release(_ count: Int) { store.heldOctetCount.withLock { $0 -= count } }

        // MARK: - The entry

        /// Returns the change that stores the new entry and deletes those that it replaces; `nil` to store nothing.
        private func change(
            _ found: RedisEntries, _ id: CacheEntry.ID, _ octets: [UInt8], _ stored: StoredResponse, _ trailers: HTTPFields?
        ) -> RedisChange? {
            guard let (epochs, removalMark) = state.withLock({ $0.opened }) else { return nil }
            let live = store.liveItems(found, of: opening.key)
            let extended = live.first { $0.id == opening.extended }
            guard (extended == nil) == (opening.extended == nil), let body = body(octets, extended), body.ranges == stored.content.ranges
            else { return nil }
            let others = live.filter { $0.id != opening.extended }
            let replaced =
                Variants.replaced(others.map(\.record.head.stored), byResponseTo: opening.request).map { others[$0] }
                + (extended.map { [$0] } ?? [])
            // The response to a later request is newer, even if it was complete earlier.
            guard !replaced.contains(where: { $0.record.head.stored.requestTime > stored.requestTime }) else { return nil }
            let (lifetime, expirationTime) = store.lifetime(of: stored)
            let bodyOctets = body.pieces.count == 1 ? body.pieces[0].octets : body.pieces.flatMap(\.octets)
            let head = CacheEntryHead(key: opening.key, stored: stored, attributes: opening.attributes, trailers: trailers)
            let record = RedisRecord(
                epochs: epochs, expirationTime: expirationTime, bodyLength: Int64(bodyOctets.count),
                bodyChecksum: unsafe CRC32.checksum(of: bodyOctets.span.bytes),
                head: head
            ).encoded
            guard record.count + bodyOctets.count <= store.configuration.responseLimit else { return nil }
            return RedisChange(
                epochs: epochs, removalMark: removalMark, version: found.version, lifetime: lifetime,
                deletedNames: found.damagedNames
                    + (replaced + store.invalidItems(found)).flatMap { item in
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
