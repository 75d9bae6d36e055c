// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import CPortolanLinux
    public import Logging
    public import PortolanCookies
    public import PortolanCore
    public import PortolanHSTS

    /// A folder with the state that outlives the process: cookies, permanent credentials, and the hosts that must be
    /// loaded over HTTPS only. Each kind is one SQLite file.
    ///
    ///     let state = try await StateFolder.open()        // ~/.local/state/portolan
    ///     let loader = Loader(configuration: .persistent(in: state))
    ///     let (body, _) = try await loader.data(from: "https://example.org/")
    ///     try await state.flush()
    ///
    /// Everything is read when the folder is opened. Then its storages work in memory, and a thread of the folder
    /// writes their changes: no load waits for a disk. The thread also reads what other processes change in the same
    /// folder. If two processes change the same cookie, the last change wins. The files stay open as long as the folder
    /// or one of its storages exists. Changes that were not written when the process ends are lost; ``flush()`` writes
    /// them.
    ///
    /// Cookies that end with their session are not written, as in browsers. The files are not encrypted. Only the user
    /// can read them: the folder has the permissions 0700, the files have 0600. A file or folder that belongs to
    /// someone else, or is a symbolic link, is refused.
    ///
    /// A damaged file is renamed (`cookies.sqlite.corrupt-1`), the logger gets an error, and a new file takes its
    /// place. The newest three of these files are kept, with the passwords in them. A file of a newer version, or of
    /// another program, is left alone, and the folder can't be opened.
    ///
    /// Files that can't be written are only read, and changes stay in memory.
    public final class StateFolder: Sendable {
        /// The absolute path.
        public let path: String
        /// The cookies in the folder.
        public let cookies: CookieStorage
        /// The hosts in the folder that must be loaded over HTTPS only.
        public let strictTransportSecurity: HSTSStorage
        /// The credentials. Those with the persistence `.permanent` are in the folder, the others in memory.
        public let credentials: CredentialStorage
        private let worker: StoreWorker

        private init(_ path: String, _ stores: OpenStores) {
            self.path = path
            (cookies, strictTransportSecurity, credentials) = (stores.cookies, stores.hosts, stores.credentials)
            worker = stores.handle.worker
        }

        /// `portolan` in `$XDG_STATE_HOME`, or in `~/.local/state`. `nil` if the environment has no absolute path for
        /// either.
        ///
        /// XDG Base Directory Specification
        public static var standardPath: String? { standardPath { name in unsafe secure_getenv(name).map { unsafe String(cString: $0) } } }

        static func standardPath(_ environment: (String) -> String?) -> String? {
            func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
            return (absolute("XDG_STATE_HOME") ?? absolute("HOME").map { "\($0)/.local/state" }).map { "\($0)/portolan" }
        }

        // MARK: Opening

        /// Opens a folder, and creates it if it is missing.
        ///
        /// - Parameters:
        ///   - path: the folder; `nil` for ``standardPath``.
        ///   - logger: receives problems of the files, also if later changes can't be written.
        /// - Throws: ``StoreError/Code/newerVersion``, ``StoreError/Code/notPrivate`` and the like.
        public static func open(_ path: String? = nil, logger: Logger = Logger(label: "org.portolan.store")) async throws(StoreError)
            -> StateFolder
        {
            let files = try files(at: path)
            let result = await withCheckedContinuation { continuation in
                StoreWorker.open(files, options: Database.Options(), logger: logger) { continuation.resume(returning: $0) }
            }
            return StateFolder(files.folder, try result.get())
        }

        /// Does what ``open(_:logger:)`` does, but blocks the calling thread.
        @available(*, noasync, message: "this blocks the thread; await open(_:logger:) instead")
        public static func waitForOpen(
            _ path: String? = nil, logger: Logger = Logger(label: "org.portolan.store")
        ) throws(StoreError) -> StateFolder {
            try waitForOpen(path, options: Database.Options(), logger: logger)
        }

        /// For tests.
        static func waitForOpen(_ path: String?, options: Database.Options, logger: Logger) throws(StoreError) -> StateFolder {
            let files = try files(at: path)
            let opened = ConditionLock<Result<OpenStores, StoreError>?>(nil)
            StoreWorker.open(files, options: options, logger: logger) { result in opened.withLockBroadcasting { $0 = result } }
            // `take()`, because a reference in the lock would keep the folder open.
            return StateFolder(files.folder, try opened.wait { $0.take() }.get())
        }

        /// Why a folder has no file of cookies; `nil` if it has one. Creates nothing.
        package static func missingStateReason(_ path: String?) throws(StoreError) -> String? {
            let files = try files(at: path)
            let name = CookieRecord.schema.file
            guard try files.size(of: name) == nil else { return nil }
            return files.exists
                ? "'\(files.folder)' is no state folder: it has no '\(name)'" : "the state folder '\(files.folder)' does not exist"
        }

        private static func files(at path: String?) throws(StoreError) -> StateFiles {
            guard let folder = path ?? standardPath else {
                throw StoreError(.noFolder, "neither XDG_STATE_HOME nor HOME is an absolute path; set one of them, or name a folder")
            }
            return try StateFiles(path: folder)
        }

        // MARK: Writing

        /// Writes all changes that were made before the call.
        ///
        /// - Throws: why the changes could not be written. They stay in memory, and the folder tries again to write
        ///   them.
        public func flush() async throws(StoreError) {
            let result = await withCheckedContinuation { continuation in worker.flush { continuation.resume(returning: $0) } }
            try result.get()
        }

        /// Does what ``flush()`` does, but blocks the calling thread.
        @available(*, noasync, message: "this blocks the thread; await flush() instead")
        public func waitForFlush() throws(StoreError) {
            let flushed = ConditionLock<Result<Void, StoreError>?>(nil)
            worker.flush { result in flushed.withLockBroadcasting { $0 = result } }
            try flushed.wait { $0.take() }.get()
        }

        /// Writes all changes, and closes the files. No log then remains beside them. Later changes stay in memory. For
        /// programs that are about to end.
        package func waitForClose() {
            let closed = ConditionLock(false)
            worker.close { closed.withLockBroadcasting { $0 = true } }
            closed.wait { $0 ? () : nil }
        }
    }
#endif
