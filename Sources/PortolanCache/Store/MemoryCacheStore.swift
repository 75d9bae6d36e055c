// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import PortolanCore
import Synchronization

/// Stored responses in memory. The least recently used ones make room for new ones.
///
/// The limit counts bodies, fields and the bodies that are being written. It holds at any time. What a load still reads
/// of a removed entry is not counted. Can be used on any thread.
package final class MemoryCacheStore: CacheStore {
    package enum Change: Sendable {
        case stored(CacheEntry)
        /// A validation has changed the fields of the entry.
        case updated(CacheEntry)
        case removed(CacheEntry, Reason)

        package enum Reason: Hashable, Sendable {
            /// There was not enough room.
            case evicted
            /// A newer response answers the same requests.
            case replaced
            case requested
        }
    }

    private struct State {
        var cache: MemoryCacheState
        var observers: [Int: @Sendable ([Change]) -> Void] = [:]
        var lastObserverNumber = 0
    }

    private let state: Mutex<State>

    /// - Parameter byteLimit: the limit in bytes. A response that is larger than an eighth of it is not stored.
    package init(byteLimit: Int = 16 << 20) { state = Mutex(State(cache: MemoryCacheState(limit: byteLimit))) }

    package func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) {
        completion(entries(for: key))
    }

    /// Does what ``lookUp(_:_:)`` does, for a caller that knows the type of its store.
    package func entries(for key: CacheKey) -> [CacheEntry] { state.withLock { $0.cache.lookUp(key) } }

    package func immediateEntries(for key: CacheKey) -> [CacheEntry]? { entries(for: key) }

    package func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? {
        if opening.policy == .notAllowed { return nil }
        return state.withLock { $0.cache.open(opening) }.map { MemoryCacheWriter(self, $0, opening) }
    }

    package func update(_ id: CacheEntry.ID, to stored: StoredResponse) {
        change { cache, changes in cache.update(id, to: stored, &changes) }
    }

    package func remove(_ selection: CacheSelection) { change { cache, changes in cache.remove(selection, &changes) } }

    // MARK: - Contents

    /// The number of octets that count against the limit.
    package var byteCount: Int { state.withLock { $0.cache.byteCount } }
    /// All entries, the most recently used first.
    package var entries: [CacheEntry] { state.withLock { $0.cache.entries } }

    /// Calls `observer` after each change, on the thread that made the change, without a lock held.
    ///
    /// - Returns: an observation. The calls end when the observation is released.
    package func observe(_ observer: @escaping @Sendable ([Change]) -> Void) -> StorageObservation {
        let number = state.withLock { state in
            state.lastObserverNumber += 1
            state.observers[state.lastObserverNumber] = observer
            return state.lastObserverNumber
        }
        return StorageObservation { [weak self] in self?.state.withLock { _ = $0.observers.removeValue(forKey: number) } }
    }

    // MARK: - Writers

    func reserve(_ count: Int, for id: MemoryCacheState.WriterID) -> Bool {
        change { cache, changes in cache.reserve(count, for: id, &changes) }
    }

    func finish(
        _ id: MemoryCacheState.WriterID, _ pieces: [MemoryCacheBody.Piece], _ stored: StoredResponse, trailers: HTTPFields?
    ) {
        change { cache, changes in cache.finish(id, pieces, stored, trailers: trailers, &changes) }
    }

    func discard(_ id: MemoryCacheState.WriterID) { state.withLock { $0.cache.discard(id) } }

    /// Changes the state, and calls the observers without the lock. Removed bodies are released after the lock, too.
    private func change<Result: Sendable>(_ body: (inout MemoryCacheState, inout [Change]) -> Result) -> Result {
        var changes: [Change] = []
        let (result, observers) = state.withLock { state in
            let result = body(&state.cache, &changes)
            return (result, changes.isEmpty ? [] : Array(state.observers.values))
        }
        for observer in observers { observer(changes) }
        return result
    }
}
