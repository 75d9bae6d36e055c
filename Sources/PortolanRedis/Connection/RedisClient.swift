// SPDX-License-Identifier: Apache-2.0

#if Redis
    import Logging
    import PortolanCore
    import Synchronization

    /// Sends commands to the server in order, on a thread that it owns. A command does not wait for the replies to
    /// earlier commands.
    ///
    /// No call blocks. A request that fails, or that the server does not answer in time, has no reply. After a failure,
    /// requests fail at once for a time (``RedisAvailability``), so that loads do not wait for a dead server. Any
    /// thread.
    final class RedisClient: Sendable {
        typealias Completion = @Sendable (RedisReply?) -> Void

        struct Request: Sendable {
            let command: RedisCommand
            /// When the completion is called without a reply, as a time of the monotonic clock; `nil` if the request
            /// waits as long as the connection exists.
            let deadline: Duration?
            let completion: Completion
        }

        private struct State {
            var availability = RedisAvailability()
            var queue: [Request] = []
            var timers: [(time: Duration, action: @Sendable () -> Void)] = []
            /// The number of requests that have not ended.
            var requestCount = 0
            /// The number of octets in their commands.
            var octetCount = 0
            /// A connection that another thread has made.
            var opened: Result<HiredisConnection, HiredisConnection.Failure>?
            /// Why the connection must end.
            var failure: String?
            var hasThread = false
            var isClosing = false
        }

        let configuration: RedisCacheConfiguration
        /// Makes the requests that are sent before others on each connection.
        private let makeFirstRequests: @Sendable (RedisClient) -> [Request]
        private let wakeup = RedisWakeup()
        private let state = Mutex(State())

        /// The largest number of requests without a reply.
        private static let requestLimit = 4096
        private static let connectTimeout = Duration.seconds(1)

        /// The largest number of octets in commands without a reply.
        private var octetLimit: Int { 16 << 20 + 4 * configuration.responseLimit }
        private var replyLimit: Int { configuration.readLimit * 2 + 1 << 20 }

        init(_ configuration: RedisCacheConfiguration, makeFirstRequests: @escaping @Sendable (RedisClient) -> [Request]) {
            (self.configuration, self.makeFirstRequests) = (configuration, makeFirstRequests)
        }

        // MARK: - Calls of other threads

        /// Sends a command.
        ///
        /// - Parameters:
        ///   - isUrgent: whether a load waits for the reply. The request then fails after the timeout.
        ///   - completion: called once, on any thread, possibly before this function returns: with the reply, which may
        ///     be an error, or `nil`.
        func send(_ command: RedisCommand, isUrgent: Bool = false, _ completion: @escaping Completion) {
            let now = MonotonicTime.now
            let request = Request(command: command, deadline: isUrgent ? now + configuration.timeout : nil, completion: completion)
            let (isAccepted, mustConnect, mustStart) = state.withLock { state in
                guard !state.isClosing, state.requestCount < Self.requestLimit, state.octetCount + command.octets.count <= octetLimit else {
                    return (false, false, false)
                }
                let action = state.availability.handleRequest(now: now)
                let mustConnect = action == .acceptAndConnect || action == .refuseAndConnect
                let mustStart = mustConnect && !state.hasThread
                if mustStart { state.hasThread = true }
                guard action == .accept || action == .acceptAndConnect else { return (false, mustConnect, mustStart) }
                state.queue.append(request)
                state.requestCount += 1
                state.octetCount += command.octets.count
                return (true, mustConnect, mustStart)
            }
            if mustStart { startThread() }
            if mustConnect { connect() }
            if isAccepted { wakeup.wake() } else { completion(nil) }
        }

        /// Calls `action` on the thread after a time.
        ///
        /// - Returns: `false` if there is no thread, or it is about to end. The action is then not called.
        @discardableResult
        func after(_ time: Duration, _ action: @escaping @Sendable () -> Void) -> Bool {
            let isAccepted = state.withLock { state in
                guard state.hasThread, !state.isClosing else { return false }
                state.timers.append((MonotonicTime.now + time, action))
                return true
            }
            if isAccepted { wakeup.wake() }
            return isAccepted
        }

        /// Ends the connection. Requests then fail at once for a time.
        func disconnect(because message: String) {
            state.withLock { $0.failure = message }
            wakeup.wake()
        }

        /// Whether another request with this number of octets would be accepted.
        func hasRoom(for octetCount: Int) -> Bool {
            state.withLock { $0.requestCount < Self.requestLimit && $0.octetCount + octetCount <= octetLimit }
        }

        /// Sends what is queued, and ends the thread.
        func close() {
            state.withLock { $0.isClosing = true }
            wakeup.wake()
        }

        private func startThread() {
            do throws(LoadError) {
                try PlatformThread.start(stackSize: 1 << 20) { [self] in RedisSession(self).run() }
            } catch {
                state.withLock { $0.hasThread = false }
                fail(because: error.message)
            }
        }

        /// Connects on another thread, because the system can take long to resolve a name.
        private func connect() {
            do throws(LoadError) {
                try PlatformThread.start { [self] in
                    let result: Result<HiredisConnection, HiredisConnection.Failure>
                    do throws(HiredisConnection.Failure) {
                        result = .success(
                            try HiredisConnection(configuration.address, timeout: Self.connectTimeout, replyLimit: replyLimit))
                    } catch {
                        result = .failure(error)
                    }
                    state.withLock { $0.opened = result }
                    wakeup.wake()
                }
            } catch {
                fail(because: error.message)
            }
        }

        // MARK: - Calls of the session

        struct Work {
            var requests: [Request] = []
            var actions: [@Sendable () -> Void] = []
            var opened: Result<HiredisConnection, HiredisConnection.Failure>?
            var failure: String?
            /// When the thread must take work again, even if nothing happens; `nil` for no such time.
            var wakeTime: Duration?
            var isClosing = false
        }

        /// Takes what the thread has to do.
        ///
        /// - Parameter isConnected: whether queued requests can be sent. Otherwise they stay queued, except for the
        ///   `late` ones, whose deadline has passed.
        func takeWork(isConnected: Bool, now: Duration) -> (work: Work, late: [Request]) {
            state.withLock { state in
                var work = Work(opened: state.opened.take(), failure: state.failure.take(), isClosing: state.isClosing)
                var late: [Request] = []
                if isConnected {
                    swap(&work.requests, &state.queue)
                } else {
                    late = state.queue.filter { $0.deadline.map { $0 <= now } ?? false }
                    if !late.isEmpty {
                        state.queue.removeAll { $0.deadline.map { $0 <= now } ?? false }
                        state.availability.handleTimeout()
                    }
                    work.wakeTime = state.queue.compactMap(\.deadline).min()
                }
                work.actions = state.timers.filter { $0.time <= now }.map(\.action)
                state.timers.removeAll { $0.time <= now }
                if let timer = state.timers.map(\.time).min() { work.wakeTime = min(work.wakeTime ?? timer, timer) }
                return (work, late)
            }
        }

        /// Ends a request, with or without a reply.
        func end(_ request: Request, _ reply: RedisReply?) {
            state.withLock { state in
                state.requestCount -= 1
                state.octetCount -= request.command.octets.count
            }
            request.completion(reply)
        }

        func wait(_ connection: HiredisConnection?, until time: Duration?) {
            let limit = time.map { max(.zero, $0 - MonotonicTime.now) }
            // If the time is too long for the type, the wait ends early. The session then waits again.
            let milliseconds = limit.map { CInt(clamping: Int64(($0 / .milliseconds(1)).rounded(.up))) } ?? -1
            wakeup.wait(connection?.descriptor, forWriting: connection?.hasOutput ?? false, atMost: milliseconds)
        }

        /// Makes the first requests of a connection, and counts them.
        func takeFirstRequests() -> [Request] {
            let requests = makeFirstRequests(self)
            state.withLock { state in
                state.requestCount += requests.count
                state.octetCount += requests.reduce(0) { $0 + $1.command.octets.count }
            }
            return requests
        }

        func didConnect() {
            let isNew = state.withLock { $0.availability.didConnect() }
            if isNew { configuration.logger?.notice("the cache server at \(configuration.address) answers") }
        }

        /// The connection ended while no request waited for a reply. If a request waits for the connection, that is a
        /// failure.
        func didClose(because message: String) {
            let isUnused = state.withLock { state in
                if state.queue.isEmpty { state.availability.didClose() }
                return state.queue.isEmpty
            }
            if !isUnused { fail(because: message) }
        }

        /// Fails the queued requests. Further requests fail at once for a time.
        func fail(because message: String) {
            let (requests, isNew) = state.withLock { state in
                let requests = state.queue
                state.queue = []
                return (requests, state.availability.didFail(now: MonotonicTime.now))
            }
            if isNew { configuration.logger?.warning("the cache server at \(configuration.address) is not used: \(message)") }
            for request in requests { end(request, nil) }
        }

        /// The thread ends. Fails the queued requests, and calls the actions of all timers.
        func didEnd() {
            fail(because: "the cache is closed")
            let actions = state.withLock { state in
                state.hasThread = false
                defer { state.timers = [] }
                return state.timers.map(\.action)
            }
            for action in actions { action() }
        }
    }
#endif
