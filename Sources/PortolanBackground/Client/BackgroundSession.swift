// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    public import PortolanCore
    public import PortolanDownloads
    import PortolanFileSystem
    import PortolanStore
    import Synchronization

    /// Transfers that go on when the program has ended.
    ///
    ///     let session = try BackgroundSession(identifier: "org.example.player")
    ///     try await session.download(Request("https://example.org/film.mkv"), to: "/home/a/film.mkv")
    ///     try await session.receiveEnds { transfer in
    ///         print(transfer.path, transfer.state)
    ///         return true                             // wait for more
    ///     }
    ///
    /// The transfers are made by a service, which is one process for each user: `portolan transferd`. It is started
    /// when it is needed. Any program of the user can add transfers to a session, and ask for them. The end of each
    /// transfer is delivered once, to the program that receives the ends of the session at that time, or to the next
    /// one.
    ///
    /// The service does not share the program's loader: it has no cookies, no cache, and no handlers but the built-in
    /// ones and the installed plugins. The paths of files must be absolute.
    ///
    /// Can be used on any thread. Errors are `LoadError`s: `LoadError.Code.cannotConnect` if the service can't be
    /// started.
    public final class BackgroundSession: Sendable {
        /// Identifies the session among the user's programs. For example, a name in reverse-DNS notation.
        public let identifier: String
        private let start: ServiceStart

        /// - Parameters:
        ///   - identifier: at most 256 bytes.
        ///   - place: the folders of the service; `nil` for ``ServicePlace/standard()``.
        ///   - command: the command line that starts the service.
        /// - Throws: `LoadError.Code.ioFailed` if `place` is `nil`, and neither `XDG_STATE_HOME` nor `HOME` is an
        ///   absolute path.
        public init(identifier: String, place: ServicePlace? = nil, command: [String] = ["portolan", "transferd"]) throws(LoadError) {
            self.identifier = identifier
            if let place {
                start = ServiceStart(place: place, command: command)
            } else {
                start = ServiceStart(place: try .standard(), command: command)
            }
        }

        init(identifier: String, _ start: ServiceStart) { (self.identifier, self.start) = (identifier, start) }

        /// How a transfer is made.
        public struct Options: Hashable, Sendable {
            /// What to do if the file exists when the download is complete.
            public var existingFile = DownloadDestination.ExistingFile.replace
            /// Whether the transfer may wait until the machine is on mains power.
            public var isDiscretionary = false
            /// Answers the server's challenge for a user name and password. Stored in the journal of the service.
            public var user: String?
            public var password: String?

            public init() {}
        }

        // MARK: Adding

        /// Adds a download.
        ///
        /// - Parameters:
        ///   - request: a GET without a body. Only its URL, header fields and time limits are used.
        ///   - path: the absolute path of the file.
        ///   - options: how the download is made.
        /// - Returns: the transfer, after the service has stored it in its journal.
        /// - Throws: `LoadError.Code.badRequest` for a request that the service can't store, or if another transfer
        ///   writes the same file.
        @discardableResult
        public func download(_ request: Request, to path: String, _ options: Options = Options()) async throws(LoadError)
            -> BackgroundTransfer
        {
            let message = try addRequest(.download, request, path, nil, options)
            return try await perform { (session) throws(LoadError) in try session.transfer(message) }
        }

        /// Adds an upload. The file is read while it is sent, so it must not change until the upload has ended.
        ///
        /// A request whose method is not idempotent, such as `POST`, is not sent again after bytes of it may have
        /// arrived.
        ///
        /// - Parameters:
        ///   - request: a request without a body. Only its URL, method, header fields and time limits are used.
        ///   - file: the absolute path of the file to send.
        ///   - responsePath: the absolute path of the file for the body of the response; `nil` to drop it.
        ///   - options: how the upload is made.
        /// - Throws: as ``download(_:to:_:)``.
        @discardableResult
        public func upload(_ request: Request, from file: String, responseTo responsePath: String? = nil, _ options: Options = Options())
            async throws(LoadError) -> BackgroundTransfer
        {
            let message = try addRequest(.upload, request, file, responsePath, options)
            return try await perform { (session) throws(LoadError) in try session.transfer(message) }
        }

        /// Does what ``download(_:to:_:)`` and ``upload(_:from:responseTo:_:)`` do, and blocks the calling thread.
        package func waitForAdd(
            _ kind: BackgroundTransfer.Kind, _ request: Request, _ path: String, responseTo responsePath: String?, _ options: Options
        ) throws(LoadError) -> BackgroundTransfer {
            try transfer(addRequest(kind, request, path, responsePath, options))
        }

        private func addRequest(
            _ kind: BackgroundTransfer.Kind, _ request: Request, _ path: String, _ responsePath: String?, _ options: Options
        ) throws(LoadError) -> ServiceRequest {
            guard request.body == nil else {
                throw LoadError(.badRequest, message: "a background transfer has no body; upload a file")
            }
            let existingFile = TransferDescription.existingFiles.first { $0.value == options.existingFile }?.key
            let task = TransferDescription(
                kind: kind, url: request.url.string, method: request.method.rawValue,
                fields: request.fields.map { [$0.name.rawName, $0.value] }, idleTimeout: request.timeouts.idle.map { $0 / .seconds(1) },
                totalTimeout: request.timeouts.total.map { $0 / .seconds(1) }, path: path, responsePath: responsePath,
                existingFile: existingFile ?? "fail", umask: Self.umask, isDiscretionary: options.isDiscretionary, user: options.user,
                password: options.password)
            try task.check()
            return .add(key: UUID().uuidString, session: identifier, task: task)
        }

        // MARK: Asking

        /// The transfers of the session whose ends were not acknowledged, the oldest first.
        public var transfers: [BackgroundTransfer] {
            get async throws(LoadError) { try await perform { (session) throws(LoadError) in try session.waitForTransfers() } }
        }

        /// - Throws: `LoadError.Code.notFound` if there is no such transfer, or its end was acknowledged.
        public func transfer(_ id: BackgroundTransfer.ID) async throws(LoadError) -> BackgroundTransfer {
            try await perform { (session) throws(LoadError) in try session.transfer(.show(id: id)) }
        }

        /// Cancels a transfer, and removes its partial file. Without effect after its end.
        @discardableResult
        public func cancel(_ id: BackgroundTransfer.ID) async throws(LoadError) -> BackgroundTransfer {
            try await perform { (session) throws(LoadError) in try session.transfer(.cancel(id: id)) }
        }

        /// Makes a transfer ready to start at once, if it is waiting, needs a credential, or has failed.
        ///
        /// - Parameters:
        ///   - id: the transfer.
        ///   - user: the user name for the server's challenge; `nil` to keep that of the transfer, with its password.
        ///   - password: the password of the user; without effect without `user`.
        @discardableResult
        public func resume(_ id: BackgroundTransfer.ID, user: String? = nil, password: String? = nil) async throws(LoadError)
            -> BackgroundTransfer
        {
            try await perform { (session) throws(LoadError) in try session.transfer(.resume(id: id, user: user, password: password)) }
        }

        /// - Parameter includesAllSessions: whether to list the transfers of other sessions, too.
        package func waitForTransfers(includesAllSessions: Bool = false) throws(LoadError) -> [BackgroundTransfer] {
            guard case .transfers(let transfers) = try ask(.list(session: includesAllSessions ? nil : identifier)) else {
                throw Self.wrongAnswer
            }
            return transfers
        }

        package func waitForShow(_ id: Int64) throws(LoadError) -> BackgroundTransfer { try transfer(.show(id: id)) }
        package func waitForCancel(_ id: Int64) throws(LoadError) -> BackgroundTransfer { try transfer(.cancel(id: id)) }
        package func waitForResume(_ id: Int64, user: String?, password: String?) throws(LoadError) -> BackgroundTransfer {
            try transfer(.resume(id: id, user: user, password: password))
        }

        private func transfer(_ request: ServiceRequest) throws(LoadError) -> BackgroundTransfer {
            guard case .transfer(let transfer) = try ask(request) else { throw Self.wrongAnswer }
            return transfer
        }

        // MARK: Ends

        /// Receives the ends of the session's transfers, also of those that ended while no program was there. Returns
        /// normally when `receive` returns `false`, or the Swift task is cancelled.
        ///
        /// A transfer that needs a credential has not ended: see ``transfers``.
        ///
        /// - Parameter receive: called for one transfer at a time. When it returns, the end is acknowledged, and the
        ///   service forgets the transfer. If the program is killed before that, the end is delivered again.
        /// - Throws: `LoadError.Code.noResources` if another program receives the ends of this session.
        public func receiveEnds(_ receive: @escaping @Sendable (BackgroundTransfer) -> Bool) async throws(LoadError) {
            let current = Mutex<LineConnection?>(nil)
            let isCancelled = Atomic(false)
            let result = await withTaskCancellationHandler {
                await Self.onThread { () throws(LoadError) in
                    try self.waitForEnds({ receive($0) ? .acknowledged : .last }, { _ in true }) { connection in
                        current.withLock { $0 = connection }
                        if isCancelled.load(ordering: .sequentiallyConsistent) { connection.shutDown() }
                        return !isCancelled.load(ordering: .sequentiallyConsistent)
                    }
                }
            } onCancel: {
                isCancelled.store(true, ordering: .sequentiallyConsistent)
                current.withLock { $0 }?.shutDown()
            }
            try result.get()
        }

        /// What a program answers when it has received the end of a transfer.
        package enum Receipt: Sendable {
            /// The service forgets the transfer, and sends the next end.
            case acknowledged
            /// The service forgets the transfer. The program wants no more.
            case last
            /// The program could not process the end, and wants no more. The next program receives this end.
            case lost
        }

        /// Does what ``receiveEnds(_:)`` does, and blocks the calling thread.
        ///
        /// - Parameters:
        ///   - receive: called for one transfer at a time.
        ///   - whenIdle: called with the transfers that need a credential, when all ends were acknowledged and no
        ///     transfer is waiting or running. If it returns `false`, the wait ends.
        package func waitForEnds(_ receive: (BackgroundTransfer) -> Receipt, _ whenIdle: ([BackgroundTransfer]) -> Bool) throws(LoadError) {
            try waitForEnds(receive, whenIdle) { _ in true }
        }

        /// - Parameter willUse: called with each new connection before its use. If it returns `false`, the wait ends.
        private func waitForEnds(
            _ receive: (BackgroundTransfer) -> Receipt, _ whenIdle: ([BackgroundTransfer]) -> Bool, willUse: (LineConnection) -> Bool
        ) throws(LoadError) {
            // The ends that `receive` has processed. If a connection is lost before the service has received an
            // acknowledgement, the service sends that end again.
            var received: Set<EndIdentifier> = []
            while true {
                let connection = try start.connect()
                guard willUse(connection) else { return }
                try connection.write(ServiceRequest.attach(session: identifier))
                // Only the first line, the answer, has a time limit. The ends after it can come at any time.
                var limit = Optional(start.answerTimeout)
                while let line = try connection.readLine(atMost: ServiceMessage.answerLimit, within: limit) {
                    limit = nil
                    switch try ServiceMessage.decode(ServiceAnswer.self, from: line) {
                    case .attached: break
                    case .ended(let transfer, let end):
                        let receipt = received.contains(end) ? .acknowledged : receive(transfer)
                        if receipt == .lost { return }
                        received.insert(end)
                        try connection.write(ServiceRequest.acknowledge(end))
                        if receipt == .last { return try confirmAcknowledgement(on: connection) }
                    case .idle(let transfers): if !whenIdle(transfers) { return }
                    // The service is about to end, and closes the connection.
                    case .failed(LoadError.Code.cancelled.rawValue, _): break
                    case .failed(let code, let message): throw LoadError(.init(rawValue: code), message: message)
                    case .transfer, .transfers: throw Self.wrongAnswer
                    }
                }
                // The service has ended. `connect()` starts the next one if necessary. It has the same journal.
            }
        }

        /// The file mode creation mask of this process. umask(2) can only read it by changing it.
        ///
        /// proc_pid_status(5)
        private static var umask: UInt32? {
            // `try?` because the files are then private.
            guard let file = try? FileSystem.openForReading("/proc/self/status") else { return nil }
            defer { try? file.close() }
            guard let bytes = try? file.contents(atMost: 64 << 10, until: nil) else { return nil }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            return lines.first { $0.hasPrefix("Umask:") }.flatMap { UInt32($0.dropFirst(6).drop { $0 == "\t" || $0 == " " }, radix: 8) }
        }

        /// Waits until the service has the last acknowledgement, because the program may end now.
        private func confirmAcknowledgement(on connection: LineConnection) throws(LoadError) {
            try connection.write(ServiceRequest.list(session: ""))
            while let line = try connection.readLine(atMost: ServiceMessage.answerLimit, within: start.answerTimeout) {
                if case .transfers = try ServiceMessage.decode(ServiceAnswer.self, from: line) { return }
            }
        }

        // MARK: Connections

        /// Sends a request and waits for its answer. If the service ends before it answers, asks the next one.
        private func ask(_ request: ServiceRequest) throws(LoadError) -> ServiceAnswer {
            for _ in 0..<Self.attempts {
                let connection = try start.connect()
                guard try connection.write(request),
                    let line = try connection.readLine(atMost: ServiceMessage.answerLimit, within: start.answerTimeout)
                else { continue }
                let answer = try ServiceMessage.decode(ServiceAnswer.self, from: line)
                if case .failed(let code, let message) = answer {
                    // The service is about to end.
                    if LoadError.Code(rawValue: code) == .cancelled { continue }
                    throw LoadError(.init(rawValue: code), message: message)
                }
                return answer
            }
            throw LoadError(.connectionLost, message: "the transfer service has ended \(Self.attempts) times without an answer")
        }

        private static let attempts = 5

        private static var wrongAnswer: LoadError {
            LoadError(.badResponse, message: "the transfer service sent an unexpected answer; it may have another version")
        }

        private func perform<Value: Sendable>(_ body: @escaping @Sendable (BackgroundSession) throws(LoadError) -> Value)
            async throws(LoadError) -> Value
        {
            try await Self.onThread { () throws(LoadError) in try body(self) }.get()
        }

        /// Runs code that blocks on a thread of its own, so that no thread of Swift's pool waits.
        private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws(LoadError) -> Value) async -> Result<
            Value, LoadError
        > {
            await withCheckedContinuation { continuation in
                do throws(LoadError) {
                    try PlatformThread.start {
                        do throws(LoadError) {
                            continuation.resume(returning: .success(try body()))
                        } catch {
                            continuation.resume(returning: .failure(error))
                        }
                    }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
    }
#endif
