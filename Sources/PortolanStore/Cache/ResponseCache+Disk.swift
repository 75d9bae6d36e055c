// SPDX-License-Identifier: Apache-2.0

#if Persistence
    public import Logging
    public import PortolanCache

    extension ResponseCache {
        /// Opens a cache in a folder, and creates the folder if it is missing. Several processes can use it at the same
        /// time.
        ///
        ///     configuration.cache = try await ResponseCache.open()        // ~/.cache/portolan
        ///
        /// Responses are written on a thread of the cache while they are received: no load waits for a write. A
        /// response that is damaged, or takes too long to read, is loaded again. A full disk only means that nothing is
        /// stored. The files are not encrypted. Only the user can read them: the folder has the permissions 0700, the
        /// files have 0600.
        ///
        /// - Parameters:
        ///   - folder: its path; `nil` for `portolan` in `$XDG_CACHE_HOME`, or in `~/.cache`.
        ///   - byteLimit: the largest number of bytes that the responses take up. The least recently used responses
        ///     make room for new ones. A response of more than an eighth of the limit is not stored.
        ///   - logger: receives problems of the files.
        /// - Throws: ``StoreError/Code/newerVersion``, ``StoreError/Code/notPrivate`` and the like. A damaged index
        ///   is no error: the cache is then empty.
        public static func open(
            folder: String? = nil, byteLimit: Int64 = 256 << 20, logger: Logger = Logger(label: "org.portolan.store")
        ) async throws(StoreError) -> ResponseCache {
            ResponseCache(store: try await DiskCacheStore.open(folder, byteLimit: byteLimit, logger: logger))
        }

        /// Does what ``open(folder:byteLimit:logger:)`` does, but blocks the calling thread.
        @available(*, noasync, message: "this blocks the thread; await open(folder:byteLimit:logger:) instead")
        public static func waitForOpen(
            folder: String? = nil, byteLimit: Int64 = 256 << 20, logger: Logger = Logger(label: "org.portolan.store")
        ) throws(StoreError) -> ResponseCache {
            ResponseCache(store: try DiskCacheStore.waitForOpen(folder, byteLimit: byteLimit, logger: logger))
        }
    }
#endif
