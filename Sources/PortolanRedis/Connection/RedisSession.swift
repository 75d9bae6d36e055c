// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCore

    /// The work of a client's thread: it sends the queued commands, and passes each reply to its request.
    final class RedisSession {
        private struct Pending {
            let request: RedisClient.Request
            let sendTime: Duration
            /// Whether the request has ended without its reply, which is dropped when it comes.
            var isOver = false
        }

        private let client: RedisClient
        private var connection: HiredisConnection?
        /// The requests without a reply, in the order in which they were sent.
        private var pending: [Pending] = []
        private var pendingStart = 0
        /// When the last octets were sent or received.
        private var lastProgress = Duration.zero
        /// The number of greeting commands (AUTH, SELECT, PING) without a reply. Until all replies are there, nothing
        /// else is sent.
        private var missingGreetings = 0

        init(_ client: RedisClient) { self.client = client }

        private var isConnected: Bool { connection != nil && missingGreetings == 0 }
        private var oldest: Pending? { pendingStart < pending.count ? pending[pendingStart] : nil }

        func run() {
            while true {
                let now = MonotonicTime.now
                let wasConnected = isConnected
                let (work, late) = client.takeWork(isConnected: isConnected, now: now)
                for request in late { client.end(request, nil) }
                for action in work.actions { action() }
                if let opened = work.opened { didOpen(opened) }
                if let failure = work.failure, connection != nil { fail(failure) }
                for request in work.requests { send(request, now: now) }
                exchange()
                let next = checkTimes(now: MonotonicTime.now)
                if work.isClosing, work.requests.isEmpty, oldest == nil || connection == nil { break }
                // Requests that were queued for a connection that is ready now are taken at once.
                let mustLookAgain = !wasConnected && isConnected
                client.wait(connection, until: mustLookAgain ? now : [work.wakeTime, next].compactMap { $0 }.min())
            }
            connection = nil
            client.didEnd()
        }

        // MARK: - The connection

        private func didOpen(_ result: Result<HiredisConnection, HiredisConnection.Failure>) {
            switch result {
            case .failure(let failure): fail(failure.message)
            case .success(let opened):
                connection = opened
                lastProgress = MonotonicTime.now
                var greeting: [(RedisCommand, problem: String)] = []
                let configuration = client.configuration
                if let password = configuration.password {
                    let user = configuration.username.map { [RedisCommand.Word($0)] } ?? []
                    greeting.append((RedisCommand(["AUTH"] + user + [RedisCommand.Word(password)]), "the password was refused"))
                }
                if configuration.database != 0 {
                    greeting.append((RedisCommand(["SELECT", RedisCommand.Word(Int64(configuration.database))]), "no such database"))
                }
                greeting.append((RedisCommand(["PING"]), "the server refuses commands"))
                missingGreetings = greeting.count
                for (command, problem) in greeting { append(command, problem) }
            }
        }

        /// Appends a greeting command.
        ///
        /// - Parameter problem: what an error in the reply means. The connection then fails.
        private func append(_ command: RedisCommand, _ problem: String) {
            greetingProblems.append(problem)
            connection?.append(command)
        }

        /// What an error means, for each greeting command without a reply.
        private var greetingProblems: [String] = []

        private func handleGreeting(_ reply: RedisReply) -> String? {
            let problem = greetingProblems.removeFirst()
            missingGreetings -= 1
            if case .error(let text) = reply { return "\(problem): \(text)" }
            if missingGreetings == 0 {
                client.didConnect()
                for request in client.takeFirstRequests() { send(request, now: MonotonicTime.now) }
            }
            return nil
        }

        private func send(_ request: RedisClient.Request, now: Duration) {
            guard let connection else { return client.end(request, nil) }
            connection.append(request.command)
            pending.append(Pending(request: request, sendTime: now))
        }

        private func exchange() {
            guard let connection else { return }
            var failure: String?
            do throws(HiredisConnection.Failure) {
                if try connection.send() { lastProgress = MonotonicTime.now }
                let hasRead = try connection.receive { reply in
                    if missingGreetings > 0 {
                        failure = failure ?? handleGreeting(reply)
                    } else if !takeReply(reply) {
                        failure = "the server has sent a reply without a request"
                    }
                }
                if hasRead { lastProgress = MonotonicTime.now }
                // Sends the requests that `handleGreeting` has appended.
                _ = try connection.send()
            } catch {
                if failure == nil, oldest == nil, missingGreetings == 0 {
                    self.connection = nil
                    return client.didClose(because: error.message)
                }
                failure = failure ?? error.message
            }
            if let failure { fail(failure) }
        }

        /// - Returns: `false` if no request waits for a reply.
        private func takeReply(_ reply: RedisReply) -> Bool {
            guard let first = oldest else { return false }
            pendingStart += 1
            if pendingStart == pending.count {
                (pending, pendingStart) = ([], 0)
            } else if pendingStart >= 256 {
                pending.removeFirst(pendingStart)
                pendingStart = 0
            }
            if !first.isOver { client.end(first.request, reply) }
            return true
        }

        // MARK: - Time

        /// Ends requests that have waited too long, and the connection if nothing was sent or received for too long.
        ///
        /// - Returns: when to look again.
        private func checkTimes(now: Duration) -> Duration? {
            let timeout = client.configuration.timeout
            guard connection != nil, oldest != nil || missingGreetings > 0 else { return nil }
            let stall = max(lastProgress, oldest?.sendTime ?? lastProgress) + timeout
            let isLate = pending[pendingStart...].contains { !$0.isOver && $0.request.deadline.map { $0 <= now } ?? false }
            // The deadline of a request that was queued before it was sent passes shortly before the stall. The
            // connection then fails at once. Otherwise the load of the request could send another one, and wait for it,
            // too.
            guard now < (isLate ? stall - timeout / 10 : stall) else {
                fail("nothing was sent or received for \(timeout)")
                return nil
            }
            var next = stall
            for index in pendingStart..<pending.count where !pending[index].isOver {
                guard let deadline = pending[index].request.deadline else { continue }
                if deadline <= now {
                    pending[index].isOver = true
                    client.end(pending[index].request, nil)
                } else {
                    next = min(next, deadline)
                }
            }
            return next
        }

        private func fail(_ message: String) {
            let requests = pending[pendingStart...].filter { !$0.isOver }.map(\.request)
            connection = nil
            (pending, pendingStart, missingGreetings, greetingProblems) = ([], 0, 0, [])
            client.fail(because: message)
            for request in requests { client.end(request, nil) }
        }
    }
#endif
