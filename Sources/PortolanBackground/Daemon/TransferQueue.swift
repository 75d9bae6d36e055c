// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import Logging
    import PortolanCore
    import PortolanDownloads
    import PortolanFileSystem
    import PortolanStore

    /// The transfers of the service: which wait, which run, and which have ended. Each change is in the journal before
    /// anybody learns of it.
    ///
    /// Can be used on any thread. ``run()`` starts the transfers, on the thread that calls it.
    final class TransferQueue: Sendable {
        private struct State {
            var entries: [Int64: QueuedTransfer] = [:]
            /// The sessions whose ends go to a program, each with the number of its connection.
            var attached: [String: Int] = [:]
            var nextAttachment = 0
            var connections = 0
            var isStopping = false
            /// The acknowledged transfers that are still in the journal, because it could not be written, and whether
            /// they have secrets.
            var unremoved: [Int64: Bool] = [:]
            /// Waits for a change of the network; `nil` while no transfer lacks one.
            var networkObserver: NetworkChanges.Observer?
            /// Since when nothing has happened, on the clock of `MonotonicTime`; `nil` while there is something to do.
            var idleSince: Duration?
            /// Changes with each change of the state.
            var version = 0

            mutating func change() { version &+= 1 }
        }

        private let loader: Loader
        private let journal: TransferJournal
        private let limits: TransferService.Limits
        private let logger: Logger
        private let state: ConditionLock<State>
        /// The time in seconds since 1970.
        private var now: Double { Date().timeIntervalSince1970 }

        init(_ loader: Loader, _ journal: TransferJournal, _ limits: TransferService.Limits, _ logger: Logger) throws(StoreError) {
            (self.loader, self.journal, self.limits, self.logger) = (loader, journal, limits, logger)
            var state = State()
            for row in try journal.entries() {
                // `try?` because a row that can't be read stays unchanged.
                guard let task = try? ServiceMessage.decode(TransferDescription.self, from: row.task), (try? task.check()) != nil,
                    var status = try? ServiceMessage.decode(TransferStatus.self, from: row.status), status.isValid
                else {
                    logger.warning("transfer \(row.number) of the journal can't be read; it stays unchanged")
                    continue
                }
                status.transfer.id = row.number
                state.entries[row.number] = QueuedTransfer(task: task, status: status)
            }
            self.state = ConditionLock(state)
            recover()
        }

        /// Finishes or fails the transfers that were running when the last process ended, or sets them to `waiting`.
        private func recover() {
            state.withLock { state in
                for (id, var entry) in state.entries where entry.status.transfer.state == .running {
                    if let path = entry.renamedPath {
                        // `try?` because only the number of bytes would be missing.
                        if entry.task.kind == .download, let file = try? FileSystem.openForReading(path) {
                            entry.status.transfer.bytes = FileSystem.size(of: file) ?? 0
                            entry.status.transfer.expectedBytes = entry.status.transfer.bytes
                            try? file.close()
                        }
                        // Removes the record of the partial file, which the last process has perhaps left.
                        if entry.task.kind == .download { _ = ResumeData(interruptedDownloadTo: entry.task.path) }
                        finish(&entry, at: path, nil)
                    } else if entry.status.hasBegun {
                        endInterruptedRequest(&entry, "the service ended while the request was sent")
                    } else {
                        (entry.status.transfer.state, entry.status.movingFile) = (.waiting, nil)
                        record(entry)
                    }
                    state.entries[id] = entry
                }
            }
        }

        // MARK: Requests of programs

        func add(key: String, session: String, _ task: TransferDescription) throws(LoadError) -> BackgroundTransfer {
            for text in [key, session] where text.isEmpty || text.utf8.count > Self.nameLimit {
                throw LoadError(.badRequest, message: "the identifier of a session has 1 to \(Self.nameLimit) bytes")
            }
            try task.check()
            let description = try ServiceMessage.encode(task)
            var entry = QueuedTransfer(task: task, status: TransferStatus(transfer: task.transfer(0, session: session), added: now))
            return try changing { (state) throws(LoadError) in
                guard !state.isStopping else { throw Self.ending }
                guard state.entries.count < limits.transfers else {
                    throw LoadError(.noResources, message: "there are \(state.entries.count) transfers already; wait for their ends")
                }
                let (number, isNew) = try mapping { () throws(StoreError) in
                    try journal.add(key: key, session: session, task: description, status: Self.encode(entry.status))
                }
                // The answer to the first request was lost.
                if !isNew, let entry = state.entries[number] { return entry.status.transfer }
                entry.status.transfer.id = number
                do throws(LoadError) {
                    try Self.checkFile(of: entry, state)
                } catch {
                    // `try?` because the caller receives the first error.
                    try? journal.remove(number, hasSecrets: task.hasSecrets)
                    throw error
                }
                state.entries[number] = entry
                return entry.status.transfer
            }
        }

        /// Two transfers can't write one file.
        private static func checkFile(of entry: QueuedTransfer, _ state: State) throws(LoadError) {
            guard let path = entry.writtenPath,
                let other = state.entries.values.first(where: {
                    !$0.isEnded && $0.writtenPath == path && $0.status.transfer.id != entry.status.transfer.id
                })
            else { return }
            throw LoadError(.badRequest, message: "transfer \(other.status.transfer.id) already writes \(QuotedText(path))")
        }

        private static var ending: LoadError { LoadError(.cancelled, message: "the transfer service is ending") }

        /// - Parameter session: `nil` for all sessions.
        func list(_ session: String?) -> [BackgroundTransfer] {
            state.withLock { state in
                state.entries.values.filter { session == nil || $0.status.transfer.session == session }.map(\.current).sorted {
                    $0.id < $1.id
                }
            }
        }

        func show(_ id: Int64) throws(LoadError) -> BackgroundTransfer {
            guard let entry = state.withLock({ $0.entries[id] }) else { throw Self.unknown(id) }
            return entry.current
        }

        /// Cancels a transfer, and removes its partial file. A transfer that has failed stays so, and loses its partial
        /// file.
        func cancel(_ id: Int64) throws(LoadError) -> BackgroundTransfer {
            let (transfer, load) = try changing { (state) throws(LoadError) in
                guard var entry = state.entries[id] else { throw Self.unknown(id) }
                defer { state.entries[id] = entry }
                if entry.status.transfer.state == .running {
                    entry.isCancelled = true
                } else {
                    if entry.status.transfer.state != .finished { Self.discardPartialFile(of: entry.task) }
                    if !entry.isEnded { end(&entry, .cancelled, nil) }
                }
                return (entry.current, entry.load)
            }
            guard let load else { return transfer }
            load.cancel()
            // If its program has acknowledged the end by now, the transfer is gone.
            return state.wait(atMost: Self.longestWaitForCancel) { state in
                guard let entry = state.entries[id] else { return transfer }
                return entry.isEnded ? entry.current : nil
            } ?? transfer
        }

        /// Makes a transfer ready to start at once, if it is waiting, needs a credential, or has failed.
        func resume(_ id: Int64, user: String?, password: String?) throws(LoadError) -> BackgroundTransfer {
            try changing { (state) throws(LoadError) in
                guard var entry = state.entries[id] else { throw Self.unknown(id) }
                guard entry.status.transfer.state != .finished, entry.status.transfer.state != .cancelled else {
                    throw LoadError(.badRequest, message: "transfer \(id) is \(entry.status.transfer.state.rawValue); add it again")
                }
                if let user { (entry.task.user, entry.task.password) = (user, password ?? "") }
                try entry.task.check()
                if entry.status.transfer.state != .running {
                    try Self.checkFile(of: entry, state)
                    if entry.isEnded { entry.status.round += 1 }
                    entry.status.transfer.state = .waiting
                    (entry.status.transfer.nextAttempt, entry.status.transfer.message, entry.status.hasBegun) = (nil, nil, false)
                    (entry.status.transfer.failures, entry.status.added) = (0, now)
                }
                let description = try ServiceMessage.encode(entry.task)
                try mapping { () throws(StoreError) in try journal.update(id, task: description, status: Self.encode(entry.status)) }
                state.entries[id] = entry
                return entry.current
            }
        }

        /// A program has received the end of a transfer. Removes the transfer, unless it was resumed since.
        func acknowledge(_ end: EndIdentifier, session: String) {
            state.withLockBroadcasting { state in
                guard let entry = state.entries[end.id], entry.isEnded, entry.end == end, entry.status.transfer.session == session else {
                    return
                }
                state.entries[end.id] = nil
                state.unremoved[end.id] = entry.task.hasSecrets
                state.change()
                for (id, hasSecrets) in state.unremoved {
                    do throws(StoreError) {
                        try journal.remove(id, hasSecrets: hasSecrets)
                        state.unremoved[id] = nil
                    } catch {
                        logger.error("\(error.message)")
                        return
                    }
                }
            }
        }

        // MARK: Attached programs

        /// What the service reports to an attached program.
        enum Event {
            case ended(BackgroundTransfer, EndIdentifier)
            case idle(needCredential: [BackgroundTransfer])
        }

        /// - Returns: a number for ``nextEvent(of:_:sent:wasIdle:)``.
        func attach(_ session: String) throws(LoadError) -> Int {
            let number = state.wait(atMost: Self.longestWaitForDetach) { state -> Int? in
                guard state.attached[session] == nil || state.isStopping else { return nil }
                state.nextAttachment += 1
                state.attached[session] = state.nextAttachment
                return state.nextAttachment
            }
            guard let number else {
                throw LoadError(
                    .noResources,
                    message: "another program receives the ends of the session \(QuotedText(session)); end it, or use another session")
            }
            return number
        }

        private static let longestWaitForEnds = Duration.seconds(10)
        private static let longestWaitForCancel = Duration.seconds(2)

        /// If a program was killed, the service can notice that a moment later.
        private static let longestWaitForDetach = Duration.seconds(2)

        func detach(_ session: String, _ number: Int) {
            state.withLockBroadcasting { state in
                if state.attached[session] == number { state.attached[session] = nil }
                state.change()
            }
        }

        /// Waits for the next event.
        ///
        /// - Parameters:
        ///   - sent: the ends that were sent to this program.
        ///   - wasIdle: whether the last event was ``Event/idle(needCredential:)``.
        /// - Returns: `nil` if the program is detached, or the service ends.
        func nextEvent(of session: String, _ number: Int, sent: Set<EndIdentifier>, wasIdle: Bool) -> Event? {
            state.wait { state -> Event?? in
                guard state.attached[session] == number, !state.isStopping else { return .some(nil) }
                let transfers = state.entries.values.filter { $0.status.transfer.session == session }
                if let end = transfers.filter({ $0.isEnded && !sent.contains($0.end) }).min(by: {
                    $0.status.ended < $1.status.ended
                }) {
                    return .ended(end.status.transfer, end.end)
                }
                guard !wasIdle, !transfers.contains(where: { $0.isActive || $0.isEnded }) else { return nil }
                return .idle(needCredential: transfers.map(\.status.transfer).sorted { $0.id < $1.id })
            }
        }

        /// - Throws: `LoadError.Code.cancelled` if the service is ending; `LoadError.Code.noResources` if too many
        ///   programs are connected.
        func beginConnection() throws(LoadError) {
            try changing { (state) throws(LoadError) in
                guard !state.isStopping else { throw Self.ending }
                guard state.connections < limits.connections else {
                    throw LoadError(.noResources, message: "\(limits.connections) programs are connected already; try again later")
                }
                state.connections += 1
            }
        }

        func endConnection() {
            state.withLockBroadcasting { state in
                state.connections -= 1
                state.change()
            }
        }

        // MARK: Running

        private enum Step {
            case start(Int64, QueuedTransfer)
            /// Something has changed: compute the next time again.
            case lookAgain
            case end
        }

        /// Starts transfers until the service is stopped, or has had nothing to do for a while. Then cancels the
        /// running ones, and returns when they have ended. They go on with the next service.
        func run() {
            while true {
                let (version, wait) = state.withLock { ($0.version, timeToNextStep(&$0)) }
                let step = state.wait(atMost: wait) { state -> Step? in
                    if state.isStopping { return .end }
                    if let id = nextToStart(state), var entry = state.entries[id] {
                        let mayStart = begin(&entry)
                        state.entries[id] = entry
                        state.change()
                        return mayStart ? .start(id, entry) : .lookAgain
                    }
                    return state.version != version ? .lookAgain : nil
                }
                switch step {
                case .start(let id, let entry): start(id, entry)
                case .lookAgain: break
                case .end: return waitForRunning()
                case nil:
                    let isOver = state.withLockBroadcasting { state in
                        guard let since = state.idleSince, let limit = limits.idle, MonotonicTime.now - since >= limit,
                            state.connections == 0, !state.entries.values.contains(where: \.isActive)
                        else { return false }
                        state.isStopping = true
                        return true
                    }
                    if isOver { return }
                }
            }
        }

        func stop() {
            let loads = state.withLockBroadcasting { state in
                state.isStopping = true
                return state.entries.values.compactMap(\.load)
            }
            for load in loads { load.cancel() }
        }

        private func waitForRunning() {
            for load in state.withLock({ $0.entries.values.compactMap(\.load) }) { load.cancel() }
            // If a load does not end in time, its transfer is `running` in the journal, and the next service recovers
            // it.
            state.wait(atMost: Self.longestWaitForEnds) { state in
                state.entries.values.contains { $0.status.transfer.state == .running } ? nil : ()
            }
        }

        /// Returns the oldest transfer that can begin now; `nil` if there is none, or if enough transfers are running.
        private func nextToStart(_ state: State) -> Int64? {
            guard state.entries.values.count(where: { $0.status.transfer.state == .running }) < limits.parallelTransfers else { return nil }
            let time = now
            let ready = state.entries.filter { _, entry in
                let next = entry.status.transfer.nextAttempt ?? 0
                // A time that is too far in the future was computed while the clock was wrong.
                return entry.status.transfer.state == .waiting && (next <= time || next > time + RetryDecision.longestRequestedDelay)
            }
            let mayRunAll = !ready.values.contains { $0.task.isDiscretionary } || limits.allowsDiscretionaryTransfers()
            return ready.filter { mayRunAll || !$0.value.task.isDiscretionary }.keys.min()
        }

        /// How long ``run()`` may wait if nothing changes.
        private func timeToNextStep(_ state: inout State) -> Duration {
            // The clock can be set, and the power source can change.
            var wait = Duration.seconds(60)
            let time = now
            let waiting = state.entries.values.filter { $0.status.transfer.state == .waiting }
            for next in waiting.compactMap(\.status.transfer.nextAttempt) where next > time { wait = min(wait, .seconds(next - time)) }
            guard state.connections == 0, !state.entries.values.contains(where: \.isActive) else {
                state.idleSince = nil
                return wait
            }
            let since = state.idleSince ?? MonotonicTime.now
            state.idleSince = since
            return limits.idle.map { min(wait, max(since + $0 - MonotonicTime.now, .zero)) } ?? wait
        }

        /// - Returns: `false` if the transfer must wait: it can't be repeated, and the journal can't say that it has
        ///   begun. Otherwise the next service could send it again.
        private func begin(_ entry: inout QueuedTransfer) -> Bool {
            let waiting = entry
            entry.status.transfer.state = .running
            entry.status.transfer.nextAttempt = nil
            entry.status.transfer.message = nil
            entry.status.lacksNetwork = false
            entry.status.hasBegun = !entry.task.canBeRepeated
            if record(entry) || entry.task.canBeRepeated { return true }
            entry = waiting
            entry.status.transfer.nextAttempt = now + Self.journalInterval
            entry.status.transfer.message = "waits until the journal can be written, because \(entry.task.method) must not be sent twice"
            return false
        }

        private func start(_ id: Int64, _ entry: QueuedTransfer) {
            do throws(LoadError) {
                let load = try makeLoad(id, entry.task)
                let isWanted = state.withLock { state in
                    guard !state.isStopping, state.entries[id]?.isCancelled == false else { return false }
                    state.entries[id]?.load = load
                    return true
                }
                // A task that is cancelled before it is resumed also reports its end.
                if isWanted { load.resume() } else { load.cancel() }
            } catch {
                transferDidEnd(id, error, nil, nil, wasRedirected: false)
            }
        }

        private func makeLoad(_ id: Int64, _ task: TransferDescription) throws(LoadError) -> LoadTask {
            var request = try task.request()
            let delegate = TransferDelegate(self, id, task)
            if task.kind == .upload {
                request.body = try .file(path: task.path)
                guard let destination = task.destination else { return loader.task(for: request, delegate: delegate) }
                return try loader.downloadTask(for: request, to: destination, delegate: delegate)
            }
            guard let destination = task.destination else {
                throw LoadError(.badRequest, message: "a download needs the path of a file")
            }
            if let data = Self.resumeData(of: task, request) {
                do throws(LoadError) {
                    return try loader.downloadTask(for: request, to: destination, resuming: data, delegate: delegate)
                } catch {
                    logger.warning("transfer \(id) begins again: \(error.message)")
                }
            }
            return try loader.downloadTask(for: request, to: destination, delegate: delegate)
        }

        // MARK: Events of loads

        /// The file is complete and will be renamed to its final name.
        func transferWillRename(_ id: Int64, _ file: FileIdentity) {
            state.withLock { state in
                guard var entry = state.entries[id] else { return }
                entry.status.movingFile = file
                record(entry)
                state.entries[id] = entry
            }
        }

        /// - Parameters:
        ///   - file: the file of a download.
        ///   - response: the last response, if there was one.
        ///   - wasRedirected: whether the server has answered the request with a redirect.
        func transferDidEnd(_ id: Int64, _ error: LoadError?, _ file: DownloadedFile?, _ response: Response?, wasRedirected: Bool) {
            state.withLockBroadcasting { state in
                guard var entry = state.entries[id] else { return }
                if let progress = entry.load?.progress { entry.record(progress) }
                entry.load = nil
                entry.status.movingFile = nil
                if let code = response?.status?.code { entry.status.transfer.status = code }
                if let error {
                    end(&entry, error, response, wasRedirected: wasRedirected, isStopping: state.isStopping)
                    if entry.status.lacksNetwork, state.networkObserver == nil { state.networkObserver = observeNetwork() }
                } else {
                    finish(&entry, at: file?.path, file)
                }
                entry.isCancelled = false
                state.entries[id] = entry
                state.change()
            }
        }

        private func end(_ entry: inout QueuedTransfer, _ error: LoadError, _ response: Response?, wasRedirected: Bool, isStopping: Bool) {
            if entry.isCancelled {
                error.resumeData.map { data in entry.task.destination.map { data.discard(from: $0) } }
                return end(&entry, .cancelled, nil)
            }
            if isStopping, error.code == .cancelled {
                guard entry.task.canBeRepeated else { return endInterruptedRequest(&entry, "the service ended while the request was sent") }
                entry.status.transfer.state = .waiting
                record(entry)
                return
            }
            if error.isForLackOfNetwork, entry.task.canBeRepeated || !wasRedirected,
                now - entry.status.added < limits.retryTime / .seconds(1)
            {
                entry.status.transfer.state = .waiting
                (entry.status.lacksNetwork, entry.status.hasBegun) = (true, false)
                entry.status.transfer.nextAttempt = now + Self.networkInterval
                entry.status.transfer.message = "waits for a network: \(error.description)"
                record(entry)
                return
            }
            entry.status.transfer.errorCode = error.domain == nil ? error.code.rawValue : nil
            entry.status.transfer.failures += 1
            if error.code == .authenticationRequired || error.code == .authenticationCancelled {
                entry.status.transfer.state = .needsCredential
                entry.status.transfer.message =
                    (entry.task.user == nil ? "" : "the user name and password were refused: ") + error.description
                record(entry)
                return
            }
            let decision = RetryDecision(
                error, response, isRepeatable: entry.task.canBeRepeated, wasRedirected: wasRedirected,
                failures: entry.status.transfer.failures, delay: limits.retryDelay, now: now)
            guard case .retry(let time) = decision, time - entry.status.added < limits.retryTime / .seconds(1) else {
                if !entry.task.canBeRepeated, response == nil, RetryDecision.isTemporary(error) {
                    return endInterruptedRequest(
                        &entry,
                        wasRedirected
                            ? "the redirect of the request could not be followed (\(error.description))"
                            : "the connection was lost while the request was sent")
                }
                return end(&entry, .failed, error.description)
            }
            entry.status.transfer.state = .waiting
            entry.status.transfer.nextAttempt = time
            entry.status.transfer.message = error.description
            entry.status.hasBegun = false
            record(entry)
        }

        /// RFC 9110 §9.2.2
        private func endInterruptedRequest(_ entry: inout QueuedTransfer, _ cause: String) {
            entry.status.transfer.errorCode = LoadError.Code.connectionLost.rawValue
            end(
                &entry, .failed,
                "\(cause), and \(entry.task.method) must not be sent twice; it is unknown whether the server has processed it"
            )
        }

        private func finish(_ entry: inout QueuedTransfer, at path: String?, _ file: DownloadedFile?) {
            if let path, entry.task.kind == .download { entry.status.transfer.path = path }
            if let file, entry.task.kind == .download {
                (entry.status.transfer.bytes, entry.status.transfer.expectedBytes) = (file.size, file.size)
            }
            entry.status.transfer.errorCode = nil
            let notes = (file?.warnings ?? []) + (file?.restartReason.map { ["loaded from the start, because \($0)"] } ?? [])
            end(&entry, .finished, notes.isEmpty ? nil : notes.joined(separator: "; "))
        }

        private func end(_ entry: inout QueuedTransfer, _ state: BackgroundTransfer.State, _ message: String?) {
            (entry.status.transfer.state, entry.status.transfer.message, entry.status.transfer.nextAttempt) = (state, message, nil)
            (entry.status.movingFile, entry.status.hasBegun) = (nil, false)
            entry.status.ended = now
            record(entry)
        }

        private static func discardPartialFile(of task: TransferDescription) {
            // `try?` because the description was checked.
            guard let destination = task.destination, let request = try? task.request() else { return }
            resumeData(of: task, request)?.discard(from: destination)
        }

        /// What an earlier attempt has left. Partial files of other URLs are left alone.
        private static func resumeData(of task: TransferDescription, _ request: Request) -> ResumeData? {
            guard task.kind == .download, let data = ResumeData(interruptedDownloadTo: task.path),
                data.url.withoutFragment == request.url.withoutCredentials.withoutFragment
            else { return nil }
            return data
        }

        // MARK: The network

        /// The seconds after which a transfer without a network is tried again, also if the system reports no change.
        private static let networkInterval = 30.0

        private func observeNetwork() -> NetworkChanges.Observer {
            loader.configuration.networkChanges.observeNext { [weak self] in self?.networkDidChange() }
        }

        private func networkDidChange() {
            state.withLockBroadcasting { state in
                state.networkObserver = nil
                for (id, entry) in state.entries where entry.status.lacksNetwork && entry.status.transfer.state == .waiting {
                    state.entries[id]?.status.transfer.nextAttempt = nil
                }
                state.change()
            }
        }

        // MARK: The journal

        /// The seconds after which a transfer is tried again that can't begin without the journal.
        private static let journalInterval = 30.0

        /// Writes the status. If that fails, the transfer continues in this process, but the next process begins with
        /// the earlier status.
        ///
        /// - Returns: whether the journal has the status.
        @discardableResult
        private func record(_ entry: QueuedTransfer) -> Bool {
            do throws(StoreError) {
                try journal.update(entry.status.transfer.id, status: Self.encode(entry.status))
                return true
            } catch {
                logger.error("\(error.message)")
                return false
            }
        }

        private static func encode(_ status: TransferStatus) throws(StoreError) -> [UInt8] {
            do throws(LoadError) { return try ServiceMessage.encode(status) } catch { throw StoreError(.ioFailed, error.description) }
        }

        private func mapping<Result>(_ body: () throws(StoreError) -> Result) throws(LoadError) -> Result {
            do throws(StoreError) { return try body() } catch { throw LoadError(.ioFailed, message: error.message) }
        }

        private func changing<Result>(_ body: (inout State) throws(LoadError) -> Result) throws(LoadError) -> Result {
            let result = state.withLockBroadcasting { state -> Swift.Result<Result, LoadError> in
                defer { state.change() }
                do throws(LoadError) { return .success(try body(&state)) } catch { return .failure(error) }
            }
            return try result.get()
        }

        private static func unknown(_ id: Int64) -> LoadError {
            LoadError(.notFound, message: "there is no transfer \(id); its end was acknowledged, or it was never added")
        }

        private static let nameLimit = 256
    }
#endif
