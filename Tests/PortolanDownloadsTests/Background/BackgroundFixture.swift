// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCore
    import PortolanFileSystem
    import PortolanTestSupport
    import Synchronization
    import TestThreads
    import Testing

    @testable import PortolanBackground

    /// A transfer service in this process, with the files of a ``FileOrigin``.
    final class BackgroundFixture: Sendable {
        let folder: TemporaryFolder
        let origin: FileOrigin
        let place: ServicePlace
        let networkChanges = NetworkChanges()
        /// With what loads fail before they reach the server; `nil` if they do not.
        let failure = Mutex<LoadError?>(nil)

        init(_ bytes: [UInt8] = Array(repeating: 7, count: 5000)) throws {
            folder = try TemporaryFolder()
            origin = FileOrigin(bytes)
            place = ServicePlace(runtimeFolder: folder.path(of: "run"), stateFolder: folder.path(of: "state"))
        }

        /// A service that is ended by ``Running/stop()``.
        final class Running: Sendable {
            let service: TransferService
            private let hasEnded = ConditionLock(false)

            fileprivate init(_ service: TransferService) throws {
                self.service = service
                try PlatformThread.start { [service, hasEnded] in
                    #expect(throws: Never.self) { try service.run() }
                    hasEnded.withLockBroadcasting { $0 = true }
                }
            }

            func waitForEnd() async throws { try await inOwnThread { [hasEnded] in hasEnded.wait { $0 ? () : nil } } }

            func stop() async throws {
                service.stop()
                try await waitForEnd()
            }
        }

        func start(_ change: (inout TransferService.Limits) -> Void = { _ in }) throws -> Running {
            var limits = TransferService.Limits()
            (limits.idle, limits.retryDelay) = (nil, .zero)
            change(&limits)
            return try Running(try #require(try TransferService(at: place, loader: loader, limits: limits)))
        }

        private var loader: Loader {
            var configuration = origin.loader.configuration
            configuration.networkChanges = networkChanges
            configuration.handlers.insert(
                Interceptor(
                    identifier: "test.network", schemes: .only(["http"]),
                    request: { [weak self] _ in
                        if let error = self?.failure.withLock({ $0 }) { throw error }
                    }), at: 0)
            return Loader(configuration: configuration, registry: ProtocolRegistry())
        }

        /// A session that does not start the service.
        func session(_ identifier: String = "s") throws -> BackgroundSession {
            try BackgroundSession(identifier: identifier, place: place, command: ["/nonexistent/transferd"])
        }

        func add(_ name: String = "a", to session: String = "s", _ change: (inout BackgroundSession.Options) -> Void = { _ in })
            async throws
            -> BackgroundTransfer
        {
            var options = BackgroundSession.Options()
            change(&options)
            return try await self.session(session).download(Request(FileOrigin.url), to: folder.path(of: name), options)
        }

        /// Receives the given number of ends.
        func ends(_ count: Int, of session: String = "s") async throws -> [BackgroundTransfer] {
            let received = Mutex<[BackgroundTransfer]>([])
            try await self.session(session).receiveEnds { transfer in
                received.withLock { received in
                    received.append(transfer)
                    return received.count < count
                }
            }
            return received.withLock { $0 }
        }

        /// Waits until a transfer has a state. Asks again and again, because nothing reports states that are no ends.
        func wait(for state: BackgroundTransfer.State, of id: Int64) async throws -> BackgroundTransfer {
            while true {
                let transfer = try await session().transfer(id)
                if transfer.state == state { return transfer }
                await Task.yield()
            }
        }

        /// Sends lines to the service, and returns its answers until it closes the connection, or `count` of them.
        func exchange(_ lines: [String], answers count: Int = .max) async throws -> [String] {
            try await inOwnThread { [place] in
                let socket = try #require(try LocalSocket.connect(to: place.sockets[0]))
                let connection = LineConnection(socket)
                // `try?` because a service that refuses the connection does not read from it.
                for line in lines { try? socket.write(all: Array(line.utf8)) }
                var answers: [String] = []
                while answers.count < count, let line = try connection.readLine() { answers.append(String(decoding: line, as: UTF8.self)) }
                return answers
            }
        }
    }
#endif
