// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCache
    import Synchronization

    /// The removals that the server has not confirmed. They are sent again on the next connection, before any lookup.
    /// So no lookup finds an entry that was removed while the server was not reachable.
    final class RedisRemovals: Sendable {
        private struct State {
            var commands: [Int: RedisCommand] = [:]
            /// The numbers of the commands that are queued, or were sent and have no reply yet.
            var sent: Set<Int> = []
            var lastNumber = 0
        }

        /// If more removals are not confirmed, one removal of everything replaces them.
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

        /// Returns the requests for the removals that must be sent again. The caller sends them.
        func takeUnconfirmed(for client: RedisClient?) -> [RedisClient.Request] {
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
            // A server is not used while it refuses a removal.
            if case .error(let text)? = reply { client?.disconnect(because: "it refuses a removal: \(text)") }
        }
    }
#endif
