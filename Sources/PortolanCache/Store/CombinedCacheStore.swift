// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// A store in memory in front of another store, whose contents outlive the process. A response is stored in memory if
/// its policy allows nothing else, or if it extends a response in memory. Otherwise it is stored in the other store.
package final class CombinedCacheStore: CacheStore {
    private let memory: any CacheStore
    private let persistent: any CacheStore

    package init(memory: any CacheStore, persistent: any CacheStore) { (self.memory, self.persistent) = (memory, persistent) }

    /// The responses of both stores. At most one store has a response to a request, the newer one.
    package func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) {
        memory.lookUp(key) { [persistent] inMemory in
            let entries = inMemory.map { $0.numbered(by: .memory) }
            persistent.lookUp(key) { completion(entries + $0.map { $0.numbered(by: .persistent) }) }
        }
    }

    package func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? {
        let place: Place
        var own = opening
        switch opening.policy {
        case .notAllowed: return nil
        case .allowedInMemoryOnly: place = .memory
        case .allowed: place = opening.extended.map(Place.init) ?? .persistent
        }
        if let extended = opening.extended {
            // Octets that only the memory may have can't be added to the other store.
            guard Place(extended) == place else { return nil }
            own.extended = Place.original(of: extended)
        }
        guard let writer = store(place).openWriter(own) else { return nil }
        return CombinedWriter(writer, removingFrom: store(place == .memory ? .persistent : .memory), opening)
    }

    package func update(_ id: CacheEntry.ID, to stored: StoredResponse) {
        store(Place(id)).update(Place.original(of: id), to: stored)
    }

    package func remove(_ selection: CacheSelection) {
        if case .entry(let id) = selection {
            store(Place(id)).remove(.entry(Place.original(of: id)))
        } else {
            memory.remove(selection)
            persistent.remove(selection)
        }
    }

    package func claim(_ key: CacheKey, _ completion: @escaping @Sendable (CacheClaim) -> Void) { persistent.claim(key, completion) }

    package func flush(_ completion: @escaping @Sendable () -> Void) { persistent.flush(completion) }

    private func store(_ place: Place) -> any CacheStore { place == .memory ? memory : persistent }
}

/// The store that has an entry. The lowest bit of the entry's identifier names the store.
private enum Place: Int64 {
    case memory = 0
    case persistent = 1

    init(_ id: CacheEntry.ID) { self = id.rawValue & 1 == 0 ? .memory : .persistent }

    static func original(of id: CacheEntry.ID) -> CacheEntry.ID { CacheEntry.ID(id.rawValue >> 1) }
}

extension CacheEntry {
    fileprivate func numbered(by place: Place) -> CacheEntry {
        CacheEntry(
            id: ID(id.rawValue << 1 | place.rawValue), key: key, stored: stored, attributes: attributes, trailers: trailers, body: body,
            use: use)
    }
}

/// A writer of one store. At its end, it removes the responses of the other store that the new one replaces.
private final class CombinedWriter: CacheWriter {
    private let writer: any CacheWriter
    private let other: any CacheStore
    private let opening: CacheOpening

    init(_ writer: any CacheWriter, removingFrom other: any CacheStore, _ opening: CacheOpening) {
        (self.writer, self.other, self.opening) = (writer, other, opening)
    }

    func write(_ bytes: borrowing RawSpan) -> Bool { writer.write(bytes) }

    func finish(_ stored: StoredResponse, trailers: HTTPFields?) {
        writer.finish(stored, trailers: trailers)
        other.lookUp(opening.key) { [other, opening] entries in
            let older = entries.filter { $0.stored.requestTime <= stored.requestTime }
            for index in Variants.replaced(older.map(\.stored), byResponseTo: opening.request) { other.remove(.entry(older[index].id)) }
        }
    }

    func discard() { writer.discard() }
}
