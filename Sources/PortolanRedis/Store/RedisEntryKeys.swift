// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCache
    import PortolanCore
    import Synchronization

    /// Remembers the keys of entries that were looked up, because the server finds an entry only by its URL. A key is
    /// known while something refers to the body of its entry, and until 256 more bodies were released.
    final class RedisEntryKeys: Sendable {
        private struct State {
            var keys: [CacheEntry.ID: (key: CacheKey, count: Int)] = [:]
            /// The entries whose bodies were released last.
            var released: [CacheEntry.ID] = []
        }

        private static let releasedLimit = 256

        private let state = Mutex(State())

        func key(of id: CacheEntry.ID) -> CacheKey? { state.withLock { $0.keys[id]?.key } }

        /// Returns a body. The key of its entry is known while the body exists.
        func body(_ body: MemoryCacheBody, of id: CacheEntry.ID, _ key: CacheKey) -> RedisCacheBody {
            state.withLock { $0.keys[id, default: (key, 0)].count += 1 }
            return RedisCacheBody(body) { [weak self] in self?.release(id) }
        }

        private func release(_ id: CacheEntry.ID) {
            state.withLock { state in
                state.keys[id]?.count -= 1
                guard state.keys[id]?.count == 0 else { return }
                state.released.append(id)
                guard state.released.count > Self.releasedLimit else { return }
                let oldest = state.released.removeFirst()
                if state.keys[oldest]?.count == 0, !state.released.contains(oldest) { state.keys[oldest] = nil }
            }
        }
    }

    /// A body in memory that reports its release.
    final class RedisCacheBody: CacheBody {
        private let octets: MemoryCacheBody
        private let onRelease: @Sendable () -> Void

        init(_ octets: MemoryCacheBody, onRelease: @escaping @Sendable () -> Void) { (self.octets, self.onRelease) = (octets, onRelease) }

        deinit { onRelease() }

        var ranges: ByteRangeSet { octets.ranges }

        func makeReader(of range: Range<Int64>) -> any CacheBodyReader { octets.makeReader(of: range) }
    }
#endif
