// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import Logging
    import PortolanCookies
    import PortolanCore
    import PortolanHSTS
    import Synchronization

    /// Reads and writes the files of a state folder on a separate thread.
    final class StoreWorker: Sendable {
        typealias Completion = @Sendable (Result<Void, StoreError>) -> Void

        private struct State {
            var flushes: [Completion] = []
            /// Called when the files are closed.
            var closings: [@Sendable () -> Void] = []
            var isClosing = false
            var isClosed = false
        }

        private let files: StateFiles
        private let options: Database.Options
        private let logger: Logger
        private let events: FolderEvents
        private let state = Mutex(State())

        /// The time after which the worker tries again to write changes that could not be written.
        private static let retryInterval = Duration.seconds(1)
        /// The interval at which the worker looks for changes of other processes if the kernel does not report them.
        private static let pollingInterval = Duration.seconds(2)
        /// After a pass, the worker pauses for nine times the duration of the pass, at most ``retryInterval``. A call
        /// of another thread ends the pause.
        private static let workTimeDivisor = 10

        private init(_ files: StateFiles, _ options: Database.Options, _ logger: Logger) throws(StoreError) {
            (self.files, self.options, self.logger, events) = (files, options, logger, try FolderEvents())
        }

        /// Opens a folder on a new thread.
        ///
        /// - Parameter completion: called once, on that thread or, if it can't be started, on the calling thread.
        static func open(
            _ files: StateFiles, options: Database.Options, logger: Logger,
            completion: @escaping @Sendable (Result<OpenStores, StoreError>) -> Void
        ) {
            do throws(StoreError) {
                let worker = try StoreWorker(files, options, logger)
                do throws(LoadError) {
                    try PlatformThread.start { worker.run(completion) }
                } catch {
                    throw StoreError(.noResources, error.message)
                }
            } catch {
                completion(.failure(error))
            }
        }

        // MARK: Calls of other threads

        /// Writes all recorded changes, and then calls `completion`.
        func flush(_ completion: @escaping Completion) {
            let isClosed = state.withLock { state in
                if !state.isClosed { state.flushes.append(completion) }
                return state.isClosed
            }
            if isClosed { completion(.failure(Self.closed(files))) } else { events.wake() }
        }

        /// Writes all recorded changes, closes the files, and ends the thread.
        func close(_ completion: @escaping @Sendable () -> Void = {}) {
            let isClosed = state.withLock { state in
                state.isClosing = true
                if !state.isClosed { state.closings.append(completion) }
                return state.isClosed
            }
            if isClosed { completion() } else { events.wake() }
        }

        private static func closed(_ files: StateFiles) -> StoreError {
            StoreError(.closed, "the state folder '\(files.folder)' is closed")
        }

        // MARK: The thread

        /// The tables. Only the worker's thread uses them.
        private struct Tables {
            let cookies: StoredTable<CookieRecord>
            let hosts: StoredTable<HSTSRecord>
            let credentials: StoredTable<CredentialRecord>
            /// Records when cookies were last sent.
            var recordUseTimes: () -> Void = {}

            /// Synchronizes all tables, even if some fail, and returns the first failure.
            func synchronize() -> StoreError? {
                var first: StoreError?
                for synchronize in [cookies.synchronize, hosts.synchronize, credentials.synchronize] {
                    do throws(StoreError) { try synchronize() } catch { first = first ?? error }
                }
                return first
            }

            func close() {
                cookies.close()
                hosts.close()
                credentials.close()
            }
        }

        private func run(_ completion: @Sendable (Result<OpenStores, StoreError>) -> Void) {
            let wake: @Sendable () -> Void = { [events] in events.wake() }
            var tables = Tables(
                cookies: StoredTable(files, log: ChangeLog(wake: wake), options: options, logger: logger),
                hosts: StoredTable(files, log: ChangeLog(wake: wake), options: options, logger: logger),
                credentials: StoredTable(files, log: ChangeLog(wake: wake), options: options, logger: logger))
            do throws(StoreError) {
                completion(.success(try openStores(&tables)))
            } catch {
                tables.close()
                completion(.failure(error))
                return
            }
            serve(tables)
        }

        /// Opens the files, and makes the storages. The thread does not retain the storages.
        private func openStores(_ tables: inout Tables) throws(StoreError) -> OpenStores {
            let handle = StoreHandle(self)
            let cookies = CookieStorage(stored: try tables.cookies.open(), log: tables.cookies.log, in: handle)
            let hosts = HSTSStorage(stored: try tables.hosts.open(), log: tables.hosts.log, in: handle)
            let credentials = CredentialStorage(stored: try tables.credentials.open(), log: tables.credentials.log, in: handle)
            reportReadOnlyFiles(of: tables)
            tables.cookies.apply = { [weak cookies] in cookies?.apply(set: $0, removed: $1) }
            tables.hosts.apply = { [weak hosts] in hosts?.apply(set: $0, removed: $1) }
            tables.credentials.apply = { [weak credentials] in credentials?.apply(set: $0, removed: $1) }
            tables.recordUseTimes = { [weak cookies, table = tables.cookies] in
                if table.isReadOnly { return }
                for cookie in cookies?.persistentCookies ?? [] {
                    guard let known = table[cookie.identity] else { continue }
                    if cookie.lastAccessTime.timeIntervalSince(known.value.lastAccessTime) >= CookieRecord.useResolution {
                        table.log.recordOlder([(key: cookie.identity, change: .set(cookie))])
                    }
                }
            }
            return OpenStores(handle: handle, cookies: cookies, hosts: hosts, credentials: credentials)
        }

        private func reportReadOnlyFiles(of tables: Tables) {
            let files = [
                (tables.cookies.isReadOnly, tables.cookies.path), (tables.hosts.isReadOnly, tables.hosts.path),
                (tables.credentials.isReadOnly, tables.credentials.path),
            ]
            let paths = files.filter(\.0).map { "'\($0.1)'" }
            guard !paths.isEmpty else { return }
            logger.warning(
                "\(paths.joined(separator: ", ")) can't be written, because the folder or its file system is read-only; changes stay in memory"
            )
        }

        private func serve(_ tables: Tables) {
            var reportedError: StoreError?
            while true {
                let isWatched = events.watch(files.folder)
                let (flushes, isClosing) = state.withLock { state in
                    defer { state.flushes = [] }
                    return (state.flushes, state.isClosing)
                }
                if !flushes.isEmpty || isClosing { tables.recordUseTimes() }
                let start = MonotonicTime.now
                let error = tables.synchronize()
                // A problem is logged once, and not for each attempt.
                if let error, error != reportedError { logger.error("\(error.message)") }
                reportedError = error
                for flush in flushes { flush(error.map { .failure($0) } ?? .success(())) }
                if isClosing { return end(tables) }
                let pauseTime = (MonotonicTime.now - start) * (Self.workTimeDivisor - 1)
                pause(for: pauseTime)
                let limit = error != nil ? Self.retryInterval : isWatched ? nil : Self.pollingInterval
                events.wait(atMost: limit.map(Self.milliseconds) ?? -1)
            }
        }

        /// Pauses, so that other processes can write. A call of another thread ends the pause.
        private func pause(for time: Duration) {
            let milliseconds = Self.milliseconds(min(time, Self.retryInterval))
            if milliseconds > 0 { events.waitForCall(atMost: milliseconds) }
        }

        private func end(_ tables: Tables) {
            tables.close()
            let (flushes, closings) = state.withLock { state in
                defer { (state.flushes, state.closings) = ([], []) }
                state.isClosed = true
                return (state.flushes, state.closings)
            }
            for flush in flushes { flush(.failure(Self.closed(files))) }
            for closing in closings { closing() }
        }

        private static func milliseconds(_ time: Duration) -> CInt { CInt(time / .milliseconds(1)) }
    }

    /// Keeps a store open. When nothing refers to it any more, the store writes its last changes and closes its files.
    final class StoreHandle: Sendable {
        let worker: StoreWorker

        init(_ worker: StoreWorker) { self.worker = worker }

        deinit { worker.close() }
    }

    /// The storages of an open folder.
    struct OpenStores: Sendable {
        let handle: StoreHandle
        let cookies: CookieStorage
        let hosts: HSTSStorage
        let credentials: CredentialStorage
    }
#endif
