// SPDX-License-Identifier: Apache-2.0

#if Redis
    import FoundationEssentials
    import HTTPTypes
    package import PortolanCache
    import PortolanCore
    import PortolanURL
    import Synchronization

    /// Stored responses on a server that many machines share. Can be used on any thread.
    ///
    /// A lookup that the server does not answer in time finds nothing. Changes are sent in the background: while the
    /// server is not reachable, nothing is stored, and removals wait until it is.
    package final class RedisCacheStore: CacheStore {
        let configuration: RedisCacheConfiguration
        let client: RedisClient
        let keys: RedisKeys
        let entryKeys = RedisEntryKeys()
        let operations = KeyedOperations()
        let identifiers = Mutex(RedisIdentifiers())
        /// The number of octets that the writers hold in memory.
        let heldOctetCount = Mutex(0)
        /// The writers that were opened and still exist. Some of them may have ended.
        private let writers = Mutex<[WeakWriter]>([])
        private let removals: RedisRemovals
        let sweeps = Mutex<[RedisSweep]>([])
        /// Seconds since 1970.
        let now: @Sendable () -> Int64

        /// How long the server remembers the removal of a URL. A writer that takes nearly as long stores nothing.
        static let removalTime = Duration.seconds(3600)
        /// The largest number of attempts at a change, if other machines change the same URL at the same time.
        static let attemptLimit = 16

        /// - Parameter now: the time in seconds since 1970.
        package init(
            _ configuration: RedisCacheConfiguration, now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
        ) {
            let configuration = configuration.limited
            (self.configuration, self.now) = (configuration, now)
            let keys = RedisKeys(configuration)
            let removals = RedisRemovals(removeAll: RedisCommand(["DEL", RedisCommand.Word(keys.all)]))
            (self.keys, self.removals) = (keys, removals)
            client = RedisClient(configuration) { client in removals.takeUnconfirmed(for: client) }
        }

        deinit { client.close() }

        // MARK: - Reading

        package func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) {
            let name = keys.entries(of: key.url)
            guard operations.isBusy(name) else {
                return read(key.url, bodies: true, isUrgent: true) { [self] in completion(entries(key, $0)) }
            }
            // The lookup must find what this process is storing now.
            let completion = OnceOnly(completion)
            let isAccepted = operations.run(name) { [self] done in
                read(key.url, bodies: true, isUrgent: true) { [self] found in
                    completion.call(entries(key, found))
                    done()
                }
            }
            if isAccepted { client.after(configuration.timeout) { completion.call([]) } } else { completion.call([]) }
        }

        /// Reads the entries of a URL.
        func read(
            _ url: URLRecord, bodies: Bool, isUrgent: Bool = false, _ completion: @escaping @Sendable (RedisEntries?) -> Void
        ) {
            let arguments = [RedisCommand.Word(Int64(configuration.readLimit)), bodies ? "1" : "0"]
            client.send(RedisScripts.command(RedisScripts.read, keys: keys.scriptKeys(for: url), arguments), isUrgent: isUrgent) {
                completion(RedisEntries($0))
            }
        }

        private func entries(_ key: CacheKey, _ found: RedisEntries?) -> [CacheEntry] {
            guard let found else { return [] }
            let items = liveItems(found, of: key).sorted { $0.record.head.stored.responseTime > $1.record.head.stored.responseTime }
            return items.prefix(Variants.limit).compactMap { item in
                guard let octets = item.body, let body = item.record.body(octets) else { return nil }
                return item.record.head.entry(item.id, entryKeys.body(body, of: item.id, key))
            }
        }

        /// The valid entries for a key: those that have not expired and were not removed.
        func liveItems(_ found: RedisEntries, of key: CacheKey) -> [RedisEntries.Item] {
            let (sweeps, now) = (sweeps.withLock { $0 }, now())
            return found.items.filter { item in
                isLive(item.record, found.epochs, now) && item.record.head.key == key && !sweeps.contains { $0.removes(item.record) }
            }
        }

        func isLive(_ record: RedisRecord, _ epochs: RedisEpochs, _ now: Int64) -> Bool {
            epochs.allows(record.epochs) && record.expirationTime > now
        }

        // MARK: - Writing

        package func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? {
            guard opening.policy == .allowed, opening.position >= 0, opening.expectedLength ?? 0 <= Int64(configuration.responseLimit),
                opening.extended.map({ entryKeys.key(of: $0) == opening.key }) ?? true, client.hasRoom(for: configuration.responseLimit)
            else { return nil }
            let writer = RedisCacheWriter(self, opening)
            let arguments = [RedisCommand.Word(RedisMark.random()), RedisCommand.Word(epochTime.milliseconds)]
            client.send(RedisScripts.command(RedisScripts.open, keys: keys.scriptKeys(for: opening.key.url), arguments)) {
                writer.didOpen(RedisEntries($0))
            }
            guard !writer.isEnded else { return nil }
            writers.withLock { writers in
                writers.removeAll { $0.writer == nil }
                writers.append(WeakWriter(writer: writer))
            }
            return writer
        }

        /// How long the server keeps an epoch: longer than the entries that were stored with it.
        var epochTime: Duration { configuration.longestTime + Self.removalTime }

        /// How long the server keeps a response, and the end of that time in seconds since 1970.
        func lifetime(of stored: StoredResponse) -> (lifetime: Duration, expirationTime: Int64) {
            let now = now()
            let freshTime = Duration.seconds(max(0, -Freshness(of: stored, now: now).staleness))
            let lifetime = min(freshTime + configuration.staleTime, configuration.longestTime)
            return (lifetime, now + max(1, lifetime.components.seconds))
        }

        package func update(_ id: CacheEntry.ID, to stored: StoredResponse) {
            guard let key = entryKeys.key(of: id) else { return }
            change(key.url) { [self] found in
                guard let item = found.items.first(where: { $0.id == id }), isLive(item.record, found.epochs, now()),
                    item.record.head.stored.content.ranges == stored.content.ranges
                else { return nil }
                let (lifetime, expirationTime) = lifetime(of: stored)
                let record = RedisRecord(
                    epochs: item.record.epochs, expirationTime: expirationTime, bodyLength: item.record.bodyLength,
                    bodyChecksum: item.record.bodyChecksum, head: item.record.head.updated(stored))
                return RedisChange(
                    epochs: found.epochs, removalMark: found.removalMark, version: found.version, lifetime: lifetime,
                    values: [(RedisEntries.recordName(id), record.encoded)])
            }
        }

        /// Changes the entries of a URL, after the earlier changes of this process.
        ///
        /// - Parameters:
        ///   - makeChange: returns the change for the entries that the server has; `nil` for no change. Called again if
        ///     another machine has changed them in the meantime.
        ///   - completion: called once, also if nothing was changed.
        func change(
            _ url: URLRecord, bodies: Bool = false, _ makeChange: @escaping @Sendable (RedisEntries) -> RedisChange?,
            then completion: @escaping @Sendable () -> Void = {}
        ) {
            let isAccepted = operations.run(keys.entries(of: url)) { [self] done in
                attempt(Self.attemptLimit, url, bodies: bodies, makeChange) {
                    done()
                    completion()
                }
            }
            if !isAccepted { completion() }
        }

        private func attempt(
            _ attemptsLeft: Int, _ url: URLRecord, bodies: Bool, _ makeChange: @escaping @Sendable (RedisEntries) -> RedisChange?,
            _ completion: @escaping @Sendable () -> Void
        ) {
            read(url, bodies: bodies) { [self] found in
                guard attemptsLeft > 0, let found, let change = makeChange(found) else { return completion() }
                let arguments = change.arguments(newVersion: RedisMark.random(), epochTime: epochTime)
                client.send(RedisScripts.command(RedisScripts.write, keys: keys.scriptKeys(for: url), arguments)) { [self] reply in
                    guard reply?.text == "conflict" else { return completion() }
                    attempt(attemptsLeft - 1, url, bodies: bodies, makeChange, completion)
                }
            }
        }

        // MARK: - Removing

        package func remove(_ selection: CacheSelection) {
            // Writers of other machines notice the removal when they finish.
            for writer in writers.withLock({ $0.compactMap(\.writer) }) where selection.contains(nil, writer.key, responseTime: .max) {
                writer.discard()
            }
            switch selection {
            case .entry(let id):
                guard let key = entryKeys.key(of: id) else { return }
                let names = [RedisEntries.recordName(id), RedisEntries.bodyName(id), RedisMark.random()].map { RedisCommand.Word($0) }
                let command = RedisScripts.command(RedisScripts.removeEntry, keys: [keys.entries(of: key.url)], names)
                let isAccepted = operations.run(keys.entries(of: key.url)) { [self] done in
                    removals.send(command, to: client, then: done)
                }
                if !isAccepted { removals.send(command, to: client) }
            case .url(let url):
                let arguments = [RedisCommand.Word(RedisMark.random()), RedisCommand.Word(Self.removalTime.milliseconds)]
                let key = keys.entries(of: CacheKey(url).url)
                removals.send(RedisScripts.command(RedisScripts.removeURL, keys: [key], arguments), to: client)
            case .origin(let url):
                // A URL without an origin shares its origin with no other URL.
                if url.hasSameOrigin(as: url) { removeEpoch(keys.origin(of: url)) }
            case .host(let host): removeEpoch(keys.host(host))
            case .all: removeEpoch(keys.all)
            case .since(let time):
                let mark = RedisMark.random()
                let command = RedisCommand([
                    "SET", RedisCommand.Word(keys.writers), RedisCommand.Word(mark), "PX", RedisCommand.Word(epochTime.milliseconds),
                ])
                removals.send(command, to: client)
                sweep(RedisSweep(since: RedisSweep.Limit(time: time, epoch: Array(mark.utf8))))
            }
        }

        /// Makes the entries with the epoch invalid, and deletes them in the background.
        private func removeEpoch(_ key: String) {
            removals.send(RedisCommand(["DEL", RedisCommand.Word(key)]), to: client)
            sweep(RedisSweep())
        }
    }

    private struct WeakWriter: Sendable {
        weak let writer: RedisCacheWriter?
    }

    /// What a change deletes and writes, and the epochs, mark and version that the server must still have.
    struct RedisChange: Sendable {
        let epochs: RedisEpochs
        let removalMark: [UInt8]
        let version: [UInt8]
        /// How long the server keeps the hash at least.
        var lifetime = Duration.zero
        var deletedNames: [String] = []
        var values: [(name: String, octets: [UInt8])] = []

        /// The arguments of ``RedisScripts/write``.
        func arguments(newVersion: String, epochTime: Duration) -> [RedisCommand.Word] {
            var words = epochs.words + [RedisCommand.Word(removalMark), RedisCommand.Word(version), RedisCommand.Word(newVersion)]
            words += [lifetime.milliseconds, epochTime.milliseconds, Int64(deletedNames.count)].map { RedisCommand.Word($0) }
            words += deletedNames.map { RedisCommand.Word($0) }
            for (name, octets) in values { words += [RedisCommand.Word(name), RedisCommand.Word(octets)] }
            return words
        }
    }

    /// A completion that several events may call. Only the first call has an effect.
    private final class OnceOnly: Sendable {
        private let completion: Mutex<(@Sendable ([CacheEntry]) -> Void)?>

        init(_ completion: @escaping @Sendable ([CacheEntry]) -> Void) { self.completion = Mutex(completion) }

        func call(_ entries: [CacheEntry]) { completion.withLock { $0.take() }?(entries) }
    }

    extension Duration {
        var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
    }
#endif
