// SPDX-License-Identifier: Apache-2.0

#if Redis
    package import PortolanCache
    import PortolanCore

    /// Makes one machine load a response for all machines. The lease of a key is a value on the server that expires.
    extension RedisCacheStore {
        private static let pollTime = Duration.milliseconds(20)

        package func claim(_ key: CacheKey, _ completion: @escaping @Sendable (CacheClaim) -> Void) {
            let (name, mark) = (keys.lease(key), RedisMark.random())
            guard configuration.leaseTime.milliseconds > 0 else { return completion(.load(nil)) }
            let words = ["SET", name, mark, "NX", "PX", String(configuration.leaseTime.milliseconds)].map { RedisCommand.Word($0) }
            let deadline = MonotonicTime.now + configuration.leaseTime
            client.send(RedisCommand(words), isUrgent: true) { [self] reply in
                switch reply {
                case .status: completion(.load(lease(of: key, name, mark)))
                case .null: poll(name, deadline, completion)
                default: completion(.load(nil))
                }
            }
        }

        /// Returns a lease. The command that releases it is sent after the earlier changes of this process to the
        /// entries of the URL.
        private func lease(of key: CacheKey, _ name: String, _ mark: String) -> CacheLease {
            let command = RedisScripts.command(RedisScripts.release, keys: [name], [RedisCommand.Word(mark)])
            let entries = keys.entries(of: key.url)
            return CacheLease { [operations, client] in
                // If too many operations wait, the lease expires.
                _ = operations.run(entries) { done in client.send(command) { _ in done() } }
            }
        }

        private func poll(_ name: String, _ deadline: Duration, _ completion: @escaping @Sendable (CacheClaim) -> Void) {
            guard MonotonicTime.now < deadline else { return completion(.load(nil)) }
            let isAccepted = client.after(Self.pollTime) { [self] in
                client.send(RedisCommand(["EXISTS", RedisCommand.Word(name)]), isUrgent: true) { [self] reply in
                    switch reply {
                    case .integer(0): completion(.lookUp)
                    case .integer: poll(name, deadline, completion)
                    default: completion(.load(nil))
                    }
                }
            }
            if !isAccepted { completion(.load(nil)) }
        }
    }
#endif
