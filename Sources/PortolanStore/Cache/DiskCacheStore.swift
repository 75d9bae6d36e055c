// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux
    package import Logging
    package import PortolanCache
    import PortolanCore

    /// Stored responses in a folder. The least recently used ones make room for new ones.
    ///
    /// An SQLite file, the index, has the fields of each response, and the bodies of at most 16 KiB. Each other body
    /// is a file, which is written while it is received. Everything has checksums. A damaged response is not found.
    /// Several processes can use the folder at the same time. Only the user can read it.
    ///
    /// The limit counts bodies, fields and what is being written. It holds at any time and for all processes together,
    /// also if one is killed.
    ///
    /// Threads of the store do all input and output. A change counts at once for the look-ups of this store. It is on
    /// disk some time later; ``waitForClose()`` waits for that.
    package final class DiskCacheStore: CacheStore {
        let core: DiskCacheCore

        init(_ core: DiskCacheCore) { self.core = core }

        deinit { core.close() }

        /// `portolan` in `$XDG_CACHE_HOME`, or in `~/.cache`. `nil` if the environment has no absolute path for either.
        ///
        /// XDG Base Directory Specification
        package static var standardPath: String? { standardPath { name in unsafe secure_getenv(name).map { unsafe String(cString: $0) } } }

        static func standardPath(_ environment: (String) -> String?) -> String? {
            func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
            return (absolute("XDG_CACHE_HOME") ?? absolute("HOME").map { "\($0)/.cache" }).map { "\($0)/portolan" }
        }

        /// The absolute path of the folder.
        package var path: String { core.folder.path }
        package var byteLimit: Int64 { core.byteLimit }

        // MARK: Opening

        /// Opens a folder, and creates it if it is missing.
        ///
        /// - Parameters:
        ///   - folder: its path; `nil` for ``standardPath``.
        ///   - byteLimit: the limit in bytes; `nil` for the limit of the folder, or 256 MiB for a new one. A response
        ///     that is larger than an eighth of the limit is not stored.
        ///   - logger: receives problems of the files.
        /// - Throws: ``StoreError/Code/newerVersion``, ``StoreError/Code/notPrivate`` and the like.
        package static func open(
            _ folder: String? = nil, byteLimit: Int64? = nil, logger: Logger = Logger(label: "org.portolan.store")
        ) async throws(StoreError) -> DiskCacheStore {
            let files = try files(at: folder)
            let result = await withCheckedContinuation { continuation in
                start(CacheFolder(files), byteLimit, needsRoom: false, logger) { continuation.resume(returning: $0) }
            }
            return try result.get()
        }

        /// Does what ``open(_:byteLimit:logger:)`` does, but blocks the calling thread.
        ///
        /// - Parameters:
        ///   - repairsIndex: whether a damaged index is replaced by an empty one. Otherwise it is an error.
        ///   - needsRoom: whether a full disk is an error. Otherwise nothing is stored until there is room.
        @available(*, noasync, message: "this blocks the thread; await open(_:byteLimit:logger:) instead")
        package static func waitForOpen(
            _ folder: String? = nil, byteLimit: Int64? = nil, repairsIndex: Bool = true, needsRoom: Bool = false,
            logger: Logger = Logger(label: "org.portolan.store")
        ) throws(StoreError) -> DiskCacheStore {
            try waitForOpen(
                folder, byteLimit: byteLimit, repairsIndex: repairsIndex, needsRoom: needsRoom, logger: logger, clock: SystemClock.shared)
        }

        /// For tests.
        static func waitForOpen(
            _ folder: String?, byteLimit: Int64?, repairsIndex: Bool = true, needsRoom: Bool = false, logger: Logger, clock: any LoadClock
        ) throws(StoreError) -> DiskCacheStore {
            let files = try files(at: folder)
            let opened = ConditionLock<Result<DiskCacheStore, StoreError>?>(nil)
            start(CacheFolder(files, repairsIndex: repairsIndex), byteLimit, needsRoom: needsRoom, logger, clock) { result in
                opened.withLockBroadcasting { $0 = result }
            }
            // `take()`, because a reference in the lock would keep the store open.
            return try opened.wait { $0.take() }.get()
        }

        /// Why there is no cache in a folder; `nil` if there is one. Creates nothing.
        package static func missingCacheReason(_ folder: String?) throws(StoreError) -> String? {
            let files = try files(at: folder)
            guard try files.size(of: CacheFolder.index) == nil else { return nil }
            return files.exists
                ? "'\(files.folder)' is not a cache: it has no '\(CacheFolder.index)'" : "the cache '\(files.folder)' does not exist"
        }

        /// Whether the user can write the index of a cache.
        package static func canWrite(_ path: String? = nil) throws(StoreError) -> Bool { try files(at: path).canWrite(CacheFolder.index) }

        /// Opens a folder that can't be written, to list and verify its responses. Creates and changes nothing. The
        /// store finds and accepts no response. Blocks.
        package static func waitForOpenToRead(_ path: String? = nil) throws(StoreError) -> DiskCacheStore {
            let folder = CacheFolder(try files(at: path), repairsIndex: false, isReadOnly: true)
            let index = try CacheIndex.openToRead(folder)
            defer { index.close() }
            let core = DiskCacheCore(
                folder, byteLimit: index.byteLimit, logger: Logger(label: "org.portolan.store"), writing: CacheJobs())
            // This store has no threads.
            core.close()
            core.reading.run(CacheReading())
            core.didEnd()
            return DiskCacheStore(core)
        }

        /// Removes all responses of a folder, also if the disk is too full to change the index. The index is then
        /// removed with all bodies. Blocks.
        package static func waitForClear(_ path: String? = nil) throws(StoreError) {
            let (files, logger) = (try files(at: path), Logger(label: "org.portolan.store") { _ in SwiftLogNoOpLogHandler() })
            do throws(StoreError) {
                let store = try waitForOpen(path, needsRoom: true, logger: logger)
                defer { store.waitForClose() }
                store.remove(.all)
                try store.waitForWrites()
                if !store.hasUnwrittenRemovals { return }
            } catch {
                if error.code != .full { throw error }
            }
            let folder = CacheFolder(files)
            try files.whileLocked { () throws(StoreError) in
                try folder.removeIndex(applicationID: CacheIndex.format.applicationID)
                for id in folder.bodyIDs() { folder.removeBody(id) }
            }
            // Makes a new index, so that the folder is a cache again. `try?` because everything is removed already.
            try? waitForOpen(path, logger: logger).waitForClose()
        }

        /// Whether a removal is not on disk yet. If this is still true after ``waitForWrites()``, the removal has
        /// failed, and the log has the reason.
        package var hasUnwrittenRemovals: Bool { core.hasUnwrittenRemovals }

        private static func files(at path: String?) throws(StoreError) -> StateFiles {
            guard let folder = path ?? standardPath else {
                throw StoreError(.noFolder, "neither XDG_CACHE_HOME nor HOME is an absolute path; set one of them, or name a folder")
            }
            return try StateFiles(path: folder)
        }

        /// Opens the index on a new thread, which then does all writing.
        private static func start(
            _ folder: CacheFolder, _ byteLimit: Int64?, needsRoom: Bool, _ logger: Logger, _ clock: any LoadClock = SystemClock.shared,
            _ completion: @escaping @Sendable (Result<DiskCacheStore, StoreError>) -> Void
        ) {
            do throws(LoadError) {
                try PlatformThread.start {
                    do throws(StoreError) {
                        let core = DiskCacheCore(folder, byteLimit: byteLimit, logger: logger, clock: clock, writing: CacheJobs())
                        let worker = CacheWorker(core)
                        try worker.open(needsRoom: needsRoom)
                        try serve(core, worker, completion)
                    } catch {
                        completion(.failure(error))
                    }
                }
            } catch {
                completion(.failure(StoreError(.noResources, error.message)))
            }
        }

        /// Starts the reading thread, and does the writing on this thread until the cache is closed.
        ///
        /// - Throws: only before `completion` is called.
        private static func serve(
            _ core: DiskCacheCore, _ worker: CacheWorker, _ completion: @Sendable (Result<DiskCacheStore, StoreError>) -> Void
        ) throws(StoreError) {
            do throws(LoadError) {
                try PlatformThread.start { core.reading.run(CacheReading()) }
            } catch {
                throw StoreError(.noResources, error.message)
            }
            completion(.success(DiskCacheStore(core)))
            worker.cleanUp()
            core.writing.run(worker)
            worker.close()
            core.didEnd()
        }

        // MARK: The protocol

        package func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) { core.lookUp(key, completion) }

        /// A response that may not outlive the process is refused.
        package func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? {
            guard opening.policy == .allowed else { return nil }
            return core.open(opening).map { DiskCacheWriter(core, $0, opening) }
        }

        package func update(_ id: CacheEntry.ID, to stored: StoredResponse) { core.update(id, to: stored) }
        package func remove(_ selection: CacheSelection) { core.remove(selection) }
        package func flush(_ completion: @escaping @Sendable () -> Void) { core.flush(completion) }

        // MARK: Closing

        /// Writes all changes, and closes the files. Then the store finds nothing and accepts nothing. For programs
        /// that are about to end. Waits at most one second for responses that are still being stored.
        package func waitForClose() {
            core.waitForWriters()
            core.close()
            core.waitForEnd()
        }
    }
#endif
