// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import Logging
    import PortolanCache
    import PortolanCore
    import Synchronization

    /// What the threads of an open cache share: the calls that wait for them, and the changes that are not in the index
    /// yet. Those changes already count for each look-up of this process.
    final class DiskCacheCore: Sendable {
        typealias WriterNumber = Int64

        /// A look-up that has not completed.
        struct Lookup: Sendable {
            let key: CacheKey
            let start: Duration
            /// The removals that are not in the index yet.
            var removals: [CacheSelection]
            /// The updates that are not in the index yet.
            var updates: [CacheEntry.ID: StoredResponse]
            let completion: @Sendable ([CacheEntry]) -> Void
        }

        private struct Writing {
            let key: CacheKey
            /// The number of octets that wait for the writing thread.
            var waitingCount = 0
            var isCancelled = false
        }

        private struct State {
            var lastNumber: Int64 = 0
            var lookups: [Int64: Lookup] = [:]
            /// The numbers of look-ups that wait until the finished responses for their key are in the index.
            var deferredLookups: [CacheKey: [Int64]] = [:]
            var hasTimer = false
            /// Whether the reading thread has not answered in time.
            var isSlow = false
            var writings: [WriterNumber: Writing] = [:]
            /// The number of octets of all writers that wait for the writing thread.
            var waitingCount = 0
            /// The number of finished responses for a key that are not in the index yet.
            var unindexedCounts: [CacheKey: Int] = [:]
            var removals: [(number: Int64, selection: CacheSelection)] = []
            var updates: [CacheEntry.ID: (number: Int64, stored: StoredResponse)] = [:]
            /// The uses that are not in the index yet, for each entry.
            var uses: [Int64: CacheUse] = [:]
            /// The last result of ``useTime()``.
            var lastUseTime: Int64 = 0
            var hasUseTimer = false
            var isClosed = false

            mutating func newNumber() -> Int64 {
                lastNumber += 1
                return lastNumber
            }

            mutating func useTime() -> Int64 {
                lastUseTime = max(lastUseTime + 1, Date().microseconds)
                return lastUseTime
            }

            mutating func use(_ id: Int64) {
                let time = useTime()
                uses[id, default: CacheUse(time: time, count: 0)].count += 1
                uses[id]?.time = time
            }
        }

        let folder: CacheFolder
        /// The limit of the caller or the index in bytes; −1 before one of them is known.
        private let knownLimit: Atomic<Int64>
        let logger: Logger
        let clock: any LoadClock
        let writing: CacheJobs<CacheWorker>
        let reading = CacheJobs<CacheReading>()
        /// The threads that read the files of bodies.
        let fileThreads = LoadThreadPool(limit: 4)
        let openFileCount = Atomic(0)
        /// Whether the index was opened. It can't be created on a full disk.
        private let hasIndex = Atomic(false)
        private let state = Mutex(State())

        /// The largest number of octets that an entry may count against the limit.
        var entryLimit: Int64 { byteLimit / 8 }

        /// A look-up that takes longer finds nothing, so that a slow disk delays no load for long.
        static let lookupLimit = Duration.seconds(1)
        /// The largest number of octets of one writer that wait for a slow disk. A writer with more is discarded.
        static let writerLimit = 8 << 20
        /// The largest number of octets of all writers that wait for a slow disk. The writer that exceeds it is
        /// discarded.
        static let waitingLimit = 32 << 20
        /// The largest number of files that are open to read. A reader above the limit fails before its first octet.
        static let openFileLimit = 128
        /// If this number of entries was used, their uses are recorded at once.
        static let useLimit = 256
        /// The longest time before uses are recorded.
        static let useInterval = Duration.seconds(5)
        /// The time after which a failed removal is tried again.
        static let retryInterval = Duration.seconds(2)

        init(
            _ folder: CacheFolder, byteLimit: Int64?, logger: Logger, clock: any LoadClock = SystemClock.shared,
            writing: CacheJobs<CacheWorker>
        ) {
            (self.folder, self.logger, self.clock, self.writing) = (folder, logger, clock, writing)
            knownLimit = Atomic(byteLimit.map { max(0, $0) } ?? -1)
        }

        /// The limit that an index gets when it is opened; `nil` to keep that of the index.
        var wantedByteLimit: Int64? {
            let limit = knownLimit.load(ordering: .relaxed)
            return limit < 0 ? nil : limit
        }
        var byteLimit: Int64 { wantedByteLimit ?? CacheIndex.standardByteLimit }

        func didOpenIndex(byteLimit: Int64) {
            knownLimit.store(max(0, byteLimit), ordering: .relaxed)
            hasIndex.store(true, ordering: .relaxed)
        }

        // MARK: - Looking up

        func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) {
            let (number, needsTimer): (Int64?, Bool) = state.withLock { state in
                if state.isClosed || state.isSlow { return (nil, false) }
                let number = state.newNumber()
                state.lookups[number] = Lookup(
                    key: key, start: clock.now, removals: state.removals.map { $0.selection },
                    updates: state.updates.mapValues { $0.stored },
                    completion: completion)
                defer { state.hasTimer = true }
                guard state.unindexedCounts[key] != nil else { return (number, !state.hasTimer) }
                state.deferredLookups[key, default: []].append(number)
                return (0, !state.hasTimer)
            }
            guard let number else { return completion([]) }
            if number > 0 { submitLookup(number) }
            if needsTimer { scheduleTimer() }
        }

        private func submitLookup(_ number: Int64) {
            reading.submit { [self] reading in
                guard let lookup = state.withLock({ $0.lookups[number] }) else { return }
                answer(number, reading.entries(for: lookup, self))
                state.withLock { $0.isSlow = false }
            }
        }

        private func answer(_ number: Int64, _ entries: [CacheEntry]) {
            let lookup: Lookup? = state.withLock { state in
                guard let lookup = state.lookups.removeValue(forKey: number) else { return nil }
                for entry in entries { state.use(entry.id.rawValue) }
                return lookup
            }
            guard let lookup else { return }
            if !entries.isEmpty { scheduleUses() }
            lookup.completion(entries)
        }

        private func scheduleTimer() {
            clock.schedule(ScheduledTimer { [weak self] in self?.timerDidFire() }, at: clock.now + Self.lookupLimit)
        }

        /// Answers the look-ups that have waited too long.
        private func timerDidFire() {
            let now = clock.now
            let (late, isPending) = state.withLock { state in
                let late = state.lookups.filter { now - $0.value.start >= Self.lookupLimit }
                for (number, lookup) in late {
                    state.lookups[number] = nil
                    // Unless the look-up waits for a response that is being written, the reading thread is slow.
                    if state.deferredLookups[lookup.key]?.contains(number) != true { state.isSlow = true }
                }
                state.hasTimer = !state.lookups.isEmpty
                return (late, state.hasTimer)
            }
            if !late.isEmpty {
                logger.warning("'\(folder.path)': the cache did not answer within \(Self.lookupLimit); the loads go on without it")
            }
            if state.withLock({ $0.isSlow }) {
                // Look-ups are accepted again as soon as the thread has time.
                reading.submit { [self] _ in state.withLock { $0.isSlow = false } }
            }
            if isPending { scheduleTimer() }
            for lookup in late.values { lookup.completion([]) }
        }

        // MARK: - Uses

        /// Records the uses of entries, at once if there are many, otherwise later.
        private func scheduleUses() {
            let (isDue, needsTimer) = state.withLock { state in
                defer { state.hasUseTimer = true }
                return (state.uses.count >= Self.useLimit, !state.hasUseTimer)
            }
            if isDue { writing.submit { $0.recordUses() } }
            guard needsTimer else { return }
            let timer = ScheduledTimer { [weak self] in
                guard let self else { return }
                state.withLock { $0.hasUseTimer = false }
                writing.submit { $0.recordUses() }
            }
            clock.schedule(timer, at: clock.now + Self.useInterval)
        }

        /// Returns the time of a use in microseconds since 1970. It is later than all results before.
        func useTime() -> Int64 { state.withLock { $0.useTime() } }

        func removeUses() -> [Int64: CacheUse] {
            state.withLock { state in
                defer { state.uses = [:] }
                return state.uses
            }
        }

        // MARK: - Writing

        /// - Returns: `nil` if the response is too large, there is no index, or the cache is closed.
        func open(_ opening: CacheOpening) -> WriterNumber? {
            guard opening.position >= 0, 0...entryLimit ~= opening.expectedLength ?? 0 else { return nil }
            guard hasIndex.load(ordering: .relaxed) else {
                // The disk can have room for an index now, so that later responses are stored.
                writing.submit { $0.openIndexIfMissing() }
                return nil
            }
            let number: WriterNumber? = state.withLock { state in
                if state.isClosed { return nil }
                let number = state.newNumber()
                state.writings[number] = Writing(key: opening.key)
                return number
            }
            if number != nil { openWriterCount.withLock { $0 += 1 } }
            return number
        }

        func isCancelled(_ number: WriterNumber) -> Bool { state.withLock { $0.isClosed || $0.writings[number]?.isCancelled ?? true } }

        /// Does what ``isCancelled(_:)`` does, but ignores whether the cache is closed: octets that were accepted
        /// before are still written.
        private func wasCancelled(_ number: WriterNumber) -> Bool { state.withLock { $0.writings[number]?.isCancelled ?? true } }

        func cancel(_ number: WriterNumber) { state.withLock { $0.writings[number]?.isCancelled = true } }

        /// Passes octets to the writing thread.
        ///
        /// - Returns: `false` if too many octets wait already, the writer is cancelled, or the cache is closed.
        func write(_ octets: [UInt8], _ number: WriterNumber, _ opening: CacheOpening) -> Bool {
            let isAccepted = state.withLock { state in
                guard let writing = state.writings[number], !writing.isCancelled, !state.isClosed,
                    writing.waitingCount + octets.count <= Self.writerLimit, state.waitingCount + octets.count <= Self.waitingLimit
                else { return false }
                state.writings[number]?.waitingCount += octets.count
                state.waitingCount += octets.count
                return true
            }
            guard isAccepted else { return false }
            writing.submit(isUrgent: false) { [self] worker in
                if wasCancelled(number) { worker.discard(number) } else if !worker.append(octets, number, opening) { cancel(number) }
                state.withLock { state in
                    state.writings[number]?.waitingCount -= octets.count
                    state.waitingCount -= octets.count
                }
            }
            return true
        }

        /// - Parameter isSmall: whether the octets are the whole body, which needs no file.
        func finish(_ finished: FinishedBody, _ number: WriterNumber, isSmall: Bool) {
            let key = finished.opening.key
            let isAccepted = state.withLock { state in
                guard let writing = state.writings[number], !writing.isCancelled, !state.isClosed else { return false }
                state.unindexedCounts[key, default: 0] += 1
                return true
            }
            guard isAccepted else { return discard(number) }
            writing.submit(isUrgent: isSmall) { [self] worker in
                if wasCancelled(number) { worker.discard(number) } else { worker.finish(finished, number) }
                let lookups = state.withLock { state in
                    state.writings[number] = nil
                    state.unindexedCounts[key, default: 1] -= 1
                    guard state.unindexedCounts[key] == 0 else { return [Int64]() }
                    state.unindexedCounts[key] = nil
                    let lookups = state.deferredLookups.removeValue(forKey: key) ?? []
                    // The changes before the response was finished are in the index now.
                    for lookup in lookups {
                        state.lookups[lookup]?.removals = state.removals.map { $0.selection }
                        state.lookups[lookup]?.updates = state.updates.mapValues { $0.stored }
                    }
                    return lookups
                }
                for lookup in lookups { submitLookup(lookup) }
            }
        }

        func discard(_ number: WriterNumber) {
            writing.submit(isUrgent: false) { [self] worker in
                worker.discard(number)
                state.withLock { $0.writings[number] = nil }
            }
        }

        // MARK: - Changing

        func update(_ id: CacheEntry.ID, to stored: StoredResponse) {
            let number: Int64? = state.withLock { state in
                if state.isClosed { return nil }
                let number = state.newNumber()
                state.updates[id] = (number, stored)
                return number
            }
            guard let number else { return }
            writing.submit { [self] worker in
                worker.update(id.rawValue, to: stored)
                state.withLock { if $0.updates[id]?.number == number { $0.updates[id] = nil } }
            }
        }

        func remove(_ selection: CacheSelection) {
            let removalTime = MonotonicTime.nanoseconds
            let number: Int64? = state.withLock { state in
                if state.isClosed { return nil }
                let number = state.newNumber()
                state.removals.append((number, selection))
                for (writer, writing) in state.writings where selection.contains(nil, writing.key, responseTime: .max) {
                    state.writings[writer]?.isCancelled = true
                }
                return number
            }
            if let number { remove(selection, removalTime, number) }
        }

        /// Removes entries in the index. A removal that fails, for example because the disk is full, still counts for
        /// the look-ups of this process, and is tried again.
        private func remove(_ selection: CacheSelection, _ removalTime: Int64, _ number: Int64) {
            writing.submit { [self] worker in
                if worker.remove(selection, removalTime: removalTime) {
                    state.withLock { $0.removals.removeAll { $0.number == number } }
                } else {
                    let timer = ScheduledTimer { [weak self] in self?.remove(selection, removalTime, number) }
                    clock.schedule(timer, at: clock.now + Self.retryInterval)
                }
            }
        }

        /// Whether a removal is not in the index yet. If this is still true after ``flush(_:)``, the removal has
        /// failed, and is tried again later.
        var hasUnwrittenRemovals: Bool { state.withLock { !$0.removals.isEmpty } }

        /// Calls `completion` when all changes before this call are on disk, or could not be written. Calls it at once
        /// if the cache is closed.
        func flush(_ completion: @escaping @Sendable () -> Void) {
            let completion = Mutex<(@Sendable () -> Void)?>(completion)
            // Not urgent, so that it runs after all other jobs.
            writing.submit(isUrgent: false) { worker in
                worker.recordUses()
                completion.withLock { $0.take() }?()
            }
            // The writing thread may have ended.
            if isClosed { completion.withLock { $0.take() }?() }
        }

        /// Removes an entry that can't be read.
        func removeDamaged(_ id: Int64, because reason: String, level: Logger.Level = .warning) {
            logger.log(level: level, "'\(folder.path)': a stored response is damaged, and is removed: \(reason)")
            writing.submit { worker in worker.removeDamaged(id) }
        }

        // MARK: - Closing

        /// - Returns: `false` if the cache was closed before.
        @discardableResult
        func close() -> Bool {
            let lookups: [Lookup]? = state.withLock { state in
                if state.isClosed { return nil }
                state.isClosed = true
                defer { (state.lookups, state.deferredLookups) = ([:], [:]) }
                return Array(state.lookups.values)
            }
            guard let lookups else { return false }
            // The connection that writes is closed last, because it removes the log.
            reading.submit { [self] reading in
                reading.close()
                self.reading.end()
                writing.end()
            }
            for lookup in lookups { lookup.completion([]) }
            return true
        }

        var isClosed: Bool { state.withLock { $0.isClosed } }

        /// The number of writers that have not ended.
        private let openWriterCount = ConditionLock(0)
        /// How long ``DiskCacheStore/waitForClose()`` waits for writers.
        private static let writerWait = Duration.seconds(1)

        func writerDidEnd() { openWriterCount.withLockBroadcasting { $0 -= 1 } }
        /// Waits until all writers have ended, at most ``writerWait``. This lets the writers of stopped loads still
        /// store the octets that these loads have received.
        func waitForWriters() { _ = openWriterCount.wait(atMost: Self.writerWait) { $0 == 0 ? () : nil } }

        private let isEnded = ConditionLock(false)

        /// Called by the writing thread when everything is written and closed.
        func didEnd() { isEnded.withLockBroadcasting { $0 = true } }
        func waitForEnd() { isEnded.wait { $0 ? () : nil } }
    }

    struct CacheUse: Sendable {
        /// When the entry was used last, in microseconds since 1970.
        var time: Int64
        /// How often the entry was used.
        var count: Int64
    }

    /// A response of which no more octets will be received.
    struct FinishedBody: Sendable {
        let opening: CacheOpening
        /// When the writer was opened, by the monotonic clock in nanoseconds.
        let openingTime: Int64
        /// The octets that were not passed to the writing thread before.
        let octets: [UInt8]
        /// The number of octets that the writer has received.
        let count: Int64
        let stored: StoredResponse
        let trailers: HTTPFields?
    }
#endif
