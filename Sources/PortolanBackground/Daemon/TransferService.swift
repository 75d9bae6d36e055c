// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    public import Logging
    public import PortolanCore
    import PortolanFileSystem
    import PortolanStore
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The service that makes the background transfers of one user, which is what `portolan transferd` runs. Programs
    /// use ``BackgroundSession``.
    ///
    /// The service keeps a journal. A transfer that was added goes on after the program has ended, after the service
    /// was killed, and after a restart of the machine. Downloads go on where they stopped, if the server supports that.
    ///
    /// The journal contains the URLs, header fields and passwords of the transfers that have not ended, unencrypted.
    /// Only the user can read it: the folder has the permissions 0700, the file has 0600.
    public final class TransferService: Sendable {
        /// The limits of a service.
        public struct Limits: Sendable {
            /// The number of transfers that run at the same time.
            public var parallelTransfers = 4
            /// The number of transfers in the journal, also of those whose end was not acknowledged.
            public var transfers = 10_000
            /// The number of programs that are connected at the same time.
            public var connections = 64
            /// The wait after the first failure of a transfer. It doubles with each further failure, up to 10 minutes.
            public var retryDelay = Duration.seconds(1)
            /// For how long a transfer is tried again.
            public var retryTime = Duration.seconds(7 * 86_400)
            /// The service ends when nobody has been connected, and no transfer was waiting or running, for this time;
            /// `nil` for never.
            public var idle: Duration? = .seconds(30)
            /// Whether discretionary transfers may run now. By default, while the machine is not on battery.
            public var allowsDiscretionaryTransfers: @Sendable () -> Bool = { !PowerSource.isBattery() }

            public init() {}
        }

        /// The first lines that the program of a service prints: programs can connect, or another service runs. Any
        /// other line says why it can't start.
        package static let readyLine = ServiceStart.ready, alreadyRunningLine = ServiceStart.alreadyRunning

        private let place: ServicePlace
        private let limits: Limits
        private let logger: Logger
        private let lock: FileLock
        private let listeners: [Descriptor]
        private let journal: TransferJournal
        private let queue: TransferQueue

        /// Opens the journal and the sockets of a service. From then on, programs can connect, but they get no answer
        /// before ``run()`` is called.
        ///
        /// - Parameters:
        ///   - place: where the sockets and the journal are.
        ///   - loader: loads the transfers. It should have no `Loader.Configuration.retries`, because the service
        ///     tries again itself.
        ///   - limits: the limits.
        ///   - logger: receives problems of the journal.
        /// - Returns: `nil` if another service runs at the same place.
        /// - Throws: `LoadError.Code.ioFailed` or a similar error if the folders can't be used.
        public init?(
            at place: ServicePlace, loader: Loader, limits: Limits = Limits(), logger: Logger = Logger(label: "org.portolan.transferd")
        )
            throws(LoadError)
        {
            (self.place, self.limits, self.logger) = (place, limits, logger)
            try place.prepare()
            guard let lock = try FileLock(place.lock, waits: false) else { return nil }
            self.lock = lock
            do throws(StoreError) {
                journal = try TransferJournal(folder: place.stateFolder)
                if let damage = journal.damage { logger.error("\(damage)") }
                queue = try TransferQueue(loader, journal, limits, logger)
            } catch {
                lock.release()
                throw LoadError(.ioFailed, message: error.message)
            }
            var (listeners, problem): ([Descriptor], LoadError?) = ([], nil)
            for path in place.sockets {
                do throws(LoadError) {
                    listeners.append(try LocalSocket.listen(at: path))
                } catch {
                    logger.warning("\(error.message)")
                    problem = problem ?? error
                }
            }
            // Not every file system supports sockets. If there are two paths, one socket is enough.
            if let problem, listeners.isEmpty {
                journal.close()
                lock.release()
                throw problem
            }
            self.listeners = listeners
            lock.write("\(getpid())\n")
        }

        /// Serves programs and makes transfers, until ``stop()`` is called, or ``Limits/idle`` is over. Blocks. Call it
        /// once.
        ///
        /// - Throws: `LoadError.Code.noResources` if no thread can be started.
        public func run() throws(LoadError) {
            defer {
                // First the names, so that nobody finds a socket that nobody serves.
                for path in place.sockets { FileSystem.remove(path) }
                // The threads that accept connections close the listeners.
                for listener in listeners { LocalSocket.shutDown(listener) }
                journal.close()
                lock.release()
            }
            for listener in listeners { try PlatformThread.start { [queue] in Self.acceptConnections(listener, queue) } }
            queue.run()
        }

        /// Ends the service. Its transfers go on with the next service. Can be called on any thread.
        public func stop() { queue.stop() }

        private static func acceptConnections(_ listener: Descriptor, _ queue: TransferQueue) {
            while let socket = LocalSocket.accept(listener) {
                let connection = LineConnection(socket)
                guard LocalSocket.user(of: socket) == geteuid() else { continue }
                do throws(LoadError) {
                    try queue.beginConnection()
                } catch {
                    refuse(connection, error)
                    continue
                }
                do throws(LoadError) {
                    try PlatformThread.start {
                        ServiceConnection(connection, queue).serve()
                        queue.endConnection()
                    }
                } catch {
                    refuse(connection, error)
                    queue.endConnection()
                }
            }
            try? listener.close()  // because a listener has no data that can be lost
        }

        private static func refuse(_ connection: LineConnection, _ error: LoadError) {
            // `try?` because the peer may be gone.
            _ = try? connection.write(ServiceAnswer(error))
        }
    }
#endif
