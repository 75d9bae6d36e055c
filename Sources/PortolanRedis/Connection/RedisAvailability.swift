// SPDX-License-Identifier: Apache-2.0

#if Redis
    /// Whether requests are sent to the server, or fail at once because it did not answer. Does no input or output.
    struct RedisAvailability: Sendable {
        private enum State {
            /// There is no connection, and no reason not to make one.
            case idle
            /// The first requests wait for the connection.
            case connecting
            case connected
            /// No attempt is made before this time.
            case failed(until: Duration)
            /// A connection is made after a failure. No request waits for it.
            case probing
        }

        /// The time after a failure in which requests cost nothing.
        static let pause = Duration.seconds(1)

        private var state = State.idle
        /// Whether the server did not answer the last time.
        private var hasFailed = false

        enum Action: Hashable {
            /// Send the request, or queue it for the connection that is being made.
            case accept
            /// Queue the request, and connect.
            case acceptAndConnect
            case refuse
            /// Refuse the request, and connect for later ones.
            case refuseAndConnect
        }

        mutating func handleRequest(now: Duration) -> Action {
            switch state {
            case .idle:
                state = .connecting
                return .acceptAndConnect
            case .connecting, .connected: return .accept
            case .probing: return .refuse
            case .failed(let time):
                guard now >= time else { return .refuse }
                state = .probing
                return .refuseAndConnect
            }
        }

        /// A request has waited too long for the connection, so that others do not wait for it.
        mutating func handleTimeout() {
            if case .connecting = state { state = .probing }
        }

        /// - Returns: whether the server did not answer before.
        mutating func didConnect() -> Bool {
            defer { hasFailed = false }
            state = .connected
            return hasFailed
        }

        /// - Returns: whether the server answered before.
        mutating func didFail(now: Duration) -> Bool {
            defer { hasFailed = true }
            state = .failed(until: now + Self.pause)
            return !hasFailed
        }

        /// The server has closed a connection that nobody used.
        mutating func didClose() { state = .idle }
    }
#endif
