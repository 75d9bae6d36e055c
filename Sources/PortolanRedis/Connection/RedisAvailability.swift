// SPDX-License-Identifier: Apache-2.0

#if Redis
    /// Whether requests are sent to the server, or fail at once because it did not answer. Does no input or output.
    struct RedisAvailability: Sendable {
        private enum State {
            /// There is no connection. The next request makes one.
            case idle
            /// A connection is being made. Requests wait for it.
            case connecting
            case connected
            /// No connection is made before this time of the monotonic clock.
            case failed(until: Duration)
            /// A connection is being made after a failure. No request waits for it.
            case probing
        }

        /// How long requests are refused after a failure.
        static let pause = Duration.seconds(1)

        private var state = State.idle
        /// Whether the last event was a failure, and not a connection.
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

        /// A request has waited too long for the connection. Further requests are refused until it is made.
        mutating func handleTimeout() {
            if case .connecting = state { state = .probing }
        }

        /// - Returns: whether there was a failure since the last connection.
        mutating func didConnect() -> Bool {
            defer { hasFailed = false }
            state = .connected
            return hasFailed
        }

        /// - Returns: whether this is the first failure since the last connection.
        mutating func didFail(now: Duration) -> Bool {
            defer { hasFailed = true }
            state = .failed(until: now + Self.pause)
            return !hasFailed
        }

        /// The connection ended while no request used it.
        mutating func didClose() { state = .idle }
    }
#endif
