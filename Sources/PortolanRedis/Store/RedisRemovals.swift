// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCache
    import Synchronization

    /// The removals that the server has not confirmed. They are sent again on the next connection, before anything is
    /// looked up on it, so that nothing is found that was removed while the server was not reachable.
    final class RedisRemovals: Sendable {
        private struct State {
            var commands: [Int: RedisCommand] = [:]
            /// Those that were sent, or are queued.
            var sent: Set<Int> = []
            var lastNumber = 0
        }

        /// If more removals are not confirmed, everything is removed.
        private static let limit = 256

        private let removeAll: RedisCommand
        private let state = Mutex(State())

        /// - Parameter removeAll: the command that removes everything.
        init(removeAll: RedisCommand) { self.removeAll = removeAll }

        /// Sends a removal.
        func send(_ command: RedisCommand, to client: RedisClient, then completion: @escaping @Sendable () -> Void = {}) {
            let number = state.withLock { state in
                if state.commands.count >= Self.limit { (state.commands, state.sent) = ([0: removeAll], []) }
                state.lastNumber += 1
                state.commands[state.lastNumber] = command
                state.sent.insert(state.lastNumber)
                return state.lastNumber
            }
            client.send(command) { [self, weak client] reply in
                end(number, reply, client)
                completion()
            }
        }

        /// The removals that must be sent again.
        func unconfirmed(_ client: RedisClient?) -> [RedisClient.Request] {
            let commands = state.withLock { state in
                let commands = state.commands.filter { !state.sent.contains($0.key) }.sorted { $0.key < $1.key }
                state.sent.formUnion(commands.map(\.key))
                return commands
            }
            return commands.map { number, command in
                RedisClient.Request(command: command, deadline: nil) { [self, weak client] in end(number, $0, client) }
            }
        }

        private func end(_ number: Int, _ reply: RedisReply?, _ client: RedisClient?) {
            state.withLock { state in
                state.sent.remove(number)
                if let reply, !reply.isError { state.commands[number] = nil }
            }
            // As long as the server refuses a removal, it is not used.
            if case .error(let text)? = reply { client?.disconnect(because: "it refuses a removal: \(text)") }
        }
    }
#endif
