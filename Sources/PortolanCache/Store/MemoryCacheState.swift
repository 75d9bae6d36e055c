// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanURL

/// The entries of a memory store. Decides which of them are removed when there is not enough room. Does no input or
/// output.
///
/// ``byteCount`` never exceeds ``limit``: entries are removed before anything is added.
struct MemoryCacheState {
    struct WriterID: Hashable, Sendable { let rawValue: Int64 }

    private struct Record {
        let entry: CacheEntry
        /// The number of octets of the body, and an estimate for the rest of the entry.
        let cost: Int
        /// The number of the last use. Later uses of any entry have larger numbers.
        var stamp: Int64
    }

    private struct Writing {
        let opening: CacheOpening
        /// The number of octets in the body of the extended entry.
        let extendedCount: Int
        /// The number of octets that the writer holds.
        var reserved = 0
        var isCancelled = false
    }

    let limit: Int
    /// The largest cost of an entry.
    var entryLimit: Int { limit / 8 }
    /// The cost of all entries, and the octets that writers hold.
    private(set) var byteCount = 0
    private var records: [CacheEntry.ID: Record] = [:]
    private var ids: [CacheKey: [CacheEntry.ID]] = [:]
    private var writings: [WriterID: Writing] = [:]
    private var lastNumber: Int64 = 0
    /// The least recently used entries first. An element counts only if the entry still has its stamp.
    private var queue: [(id: CacheEntry.ID, stamp: Int64)] = []
    private var queueStart = 0

    init(limit: Int) { self.limit = max(0, limit) }

    var count: Int { records.count }
    /// The most recently used first.
    var entries: [CacheEntry] { records.values.sorted { $0.stamp > $1.stamp }.map(\.entry) }

    // MARK: - Reading

    mutating func lookUp(_ key: CacheKey) -> [CacheEntry] {
        guard let ids = ids[key] else { return [] }
        return ids.compactMap { id in
            touch(id)
            return records[id]?.entry
        }
    }

    private mutating func touch(_ id: CacheEntry.ID) {
        lastNumber += 1
        records[id]?.stamp = lastNumber
        queue.append((id, lastNumber))
        guard queue.count - queueStart > records.count * 2 + 64 else { return }
        queue = queue[queueStart...].filter { records[$0.id]?.stamp == $0.stamp }
        queueStart = 0
    }

    // MARK: - Writing

    /// - Returns: `nil` if the response is too large, or if the entry to extend does not exist.
    mutating func open(_ opening: CacheOpening) -> WriterID? {
        var extendedCount = 0
        if let extended = opening.extended {
            guard let record = records[extended], record.entry.key == opening.key, let body = record.entry.body as? MemoryCacheBody else {
                return nil
            }
            touch(extended)
            extendedCount = body.byteCount
        }
        guard opening.position >= 0, opening.expectedLength ?? 0 <= Int64(entryLimit - extendedCount) else { return nil }
        lastNumber += 1
        let id = WriterID(rawValue: lastNumber)
        writings[id] = Writing(opening: opening, extendedCount: extendedCount)
        return id
    }

    /// Makes room for octets of a body.
    ///
    /// - Parameter changes: receives the entries that were removed.
    /// - Returns: whether there is room.
    mutating func reserve(_ count: Int, for id: WriterID, _ changes: inout [MemoryCacheStore.Change]) -> Bool {
        guard let writing = writings[id], !writing.isCancelled, count <= entryLimit - writing.extendedCount - writing.reserved,
            makeRoom(count, &changes)
        else { return false }
        writings[id]?.reserved += count
        byteCount += count
        return true
    }

    /// Makes the entry of a writer visible. Removes the entries that it replaces.
    mutating func finish(
        _ id: WriterID, _ pieces: [MemoryCacheBody.Piece], _ stored: StoredResponse, trailers: HTTPFields?,
        _ changes: inout [MemoryCacheStore.Change]
    ) {
        guard let writing = writings[id] else { return }
        discard(id)
        let opening = writing.opening
        guard !writing.isCancelled, let body = body(pieces, opening), body.ranges == stored.content.ranges else { return }
        let number = lastNumber + 1
        let entry = CacheEntry(
            id: CacheEntry.ID(number), key: opening.key, stored: stored, attributes: opening.attributes, trailers: trailers, body: body)
        let cost = Self.cost(of: entry)
        guard cost <= entryLimit else { return }
        let replaced = replaced(by: opening)
        // The response to a later request is newer, even if it was complete earlier.
        guard !replaced.contains(where: { (records[$0]?.entry.stored.requestTime ?? .min) > stored.requestTime }) else { return }
        lastNumber = number
        for id in replaced { remove(id, .replaced, &changes) }
        // This fails only if other writers hold too much of the memory.
        guard makeRoom(cost, &changes) else { return }
        insert(entry, cost)
        changes.append(.stored(entry))
    }

    private func body(_ pieces: [MemoryCacheBody.Piece], _ opening: CacheOpening) -> MemoryCacheBody? {
        guard let extended = opening.extended else { return MemoryCacheBody(pieces) }
        return (records[extended]?.entry.body as? MemoryCacheBody)?.extended(by: pieces)
    }

    private func replaced(by opening: CacheOpening) -> [CacheEntry.ID] {
        let others = (ids[opening.key] ?? []).filter { $0 != opening.extended }
        let responses = others.compactMap { records[$0]?.entry.stored }
        return (opening.extended.map { [$0] } ?? []) + Variants.replaced(responses, byResponseTo: opening.request).map { others[$0] }
    }

    /// Releases what a writer holds.
    mutating func discard(_ id: WriterID) {
        guard let writing = writings.removeValue(forKey: id) else { return }
        byteCount -= writing.reserved
    }

    private mutating func insert(_ entry: CacheEntry, _ cost: Int) {
        records[entry.id] = Record(entry: entry, cost: cost, stamp: 0)
        ids[entry.key, default: []].append(entry.id)
        byteCount += cost
        touch(entry.id)
    }

    // MARK: - Changing

    mutating func update(_ id: CacheEntry.ID, to stored: StoredResponse, _ changes: inout [MemoryCacheStore.Change]) {
        guard let record = records[id], record.entry.body.ranges == stored.content.ranges else { return }
        let entry = record.entry.updated(stored)
        let cost = Self.cost(of: entry)
        touch(id)
        guard cost <= entryLimit, cost <= record.cost || makeRoom(cost - record.cost, sparing: id, &changes) else {
            remove(id, .evicted, &changes)
            return
        }
        byteCount += cost - record.cost
        records[id] = Record(entry: entry, cost: cost, stamp: lastNumber)
        changes.append(.updated(entry))
    }

    mutating func remove(_ selection: CacheSelection, _ changes: inout [MemoryCacheStore.Change]) {
        switch selection {
        case .entry(let id): remove(id, .requested, &changes)
        case .url, .origin, .host, .since, .all:
            let selected = records.values.map(\.entry).filter { selection.contains($0.id, $0.key, responseTime: $0.stored.responseTime) }
            for entry in selected { remove(entry.id, .requested, &changes) }
        }
        for (id, writing) in writings where selection.contains(nil, writing.opening.key, responseTime: .max) {
            writings[id]?.isCancelled = true
        }
    }

    private mutating func remove(
        _ id: CacheEntry.ID, _ reason: MemoryCacheStore.Change.Reason, _ changes: inout [MemoryCacheStore.Change]
    ) {
        guard let record = records.removeValue(forKey: id) else { return }
        byteCount -= record.cost
        let key = record.entry.key
        ids[key]?.removeAll { $0 == id }
        if ids[key]?.isEmpty ?? false { ids[key] = nil }
        changes.append(.removed(record.entry, reason))
    }

    // MARK: - Room

    /// Removes the least recently used entries until there is room.
    ///
    /// - Parameter spared: an entry that stays.
    /// - Returns: whether there is room.
    private mutating func makeRoom(
        _ count: Int, sparing spared: CacheEntry.ID? = nil, _ changes: inout [MemoryCacheStore.Change]
    ) -> Bool {
        while byteCount > limit - count {
            guard let id = leastRecentlyUsed(), id != spared else { return false }
            remove(id, .evicted, &changes)
        }
        return true
    }

    /// Finds the least recently used entry. A spared entry was used last, so it is found last.
    private mutating func leastRecentlyUsed() -> CacheEntry.ID? {
        while queueStart < queue.count {
            let (id, stamp) = queue[queueStart]
            if records[id]?.stamp == stamp { return id }
            queueStart += 1
        }
        return nil
    }

    /// The cost of an entry besides its body and its texts.
    static let overhead = 512

    static func cost(of entry: CacheEntry) -> Int {
        let fields = [entry.stored.fields, entry.trailers ?? HTTPFields()].joined()
        let text = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 32 }
        let selectors = entry.stored.selectingFields.selectors.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) + 32 }
        let userInfo = entry.attributes.userInfo.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 32 }
        let body = entry.body.ranges.count
        return Int(body) + overhead + 2 * entry.key.url.string.utf8.count + (entry.key.partition?.utf8.count ?? 0) + text + selectors
            + userInfo
    }
}
