// SPDX-License-Identifier: Apache-2.0

#if Redis
    public import Logging

    /// The settings of a cache on a server that many machines share: Redis from 6.2, or Valkey.
    public struct RedisCacheConfiguration: Sendable {
        /// Where the server listens.
        public struct Address: Sendable, Hashable, CustomStringConvertible {
            enum Kind: Sendable, Hashable {
                case tcp(host: String, port: UInt16)
                case unix(path: String)
            }

            let kind: Kind

            /// - Parameters:
            ///   - host: a name or an address. The connection is not encrypted.
            ///   - port: the port of the server.
            public static func tcp(host: String, port: UInt16 = 6379) -> Self { Self(kind: .tcp(host: host, port: port)) }
            public static func unix(path: String) -> Self { Self(kind: .unix(path: path)) }

            public var description: String {
                switch kind {
                case .tcp(let host, let port): "\(host):\(port)"
                case .unix(let path): path
                }
            }
        }

        public var address: Address
        /// The user of the server's access control list; `nil` for its default user.
        public var username: String?
        public var password: String?
        public var database = 0
        /// The prefix of all keys. Caches with different prefixes share no responses.
        public var keyPrefix = "portolan:"
        /// The largest response that is stored, in bytes: its body and its fields.
        public var responseLimit = 1 << 20
        /// How long a response stays on the server after it has become stale, so that it can be validated.
        public var staleTime = Duration.seconds(24 * 3600)
        /// The longest time for which a response stays on the server.
        public var longestTime = Duration.seconds(30 * 24 * 3600)
        /// How long a load waits for the server before it continues without it.
        public var timeout = Duration.milliseconds(100)
        /// How long a load waits while another machine requests the same response. After that, the load requests the
        /// response itself.
        public var leaseTime = Duration.seconds(1)
        /// Receives a message when the server becomes unavailable, and when it is available again.
        public var logger: Logger?

        public init(_ address: Address) { self.address = address }
    }

    extension RedisCacheConfiguration {
        /// The same settings, with limited values that can be added without overflow.
        var limited: Self {
            var limited = self
            let (day, decade) = (Duration.seconds(24 * 3600), Duration.seconds(3650 * 24 * 3600))
            limited.responseLimit = min(max(0, responseLimit), 256 << 20)
            limited.timeout = min(max(.milliseconds(1), timeout), day)
            limited.leaseTime = min(max(.zero, leaseTime), day)
            limited.staleTime = min(max(.zero, staleTime), decade)
            limited.longestTime = min(max(.seconds(1), longestTime), decade)
            return limited
        }

        /// The largest number of octets that are read for one URL: those of all its entries together.
        var readLimit: Int { 4 * responseLimit + 4 << 20 }
    }
#endif
