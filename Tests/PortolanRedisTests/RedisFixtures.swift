// SPDX-License-Identifier: Apache-2.0

import CacheStoreSuite
import Glibc
import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import ServerSupport
import Synchronization
import Testing

@testable import PortolanRedis

/// Stores on the server that all tests of this process share. Each test has a key prefix that no other test has.
enum RedisFixtures {
    static func configuration(_ prefix: String = uniquePrefix(), on servers: TestServers? = nil) throws -> RedisCacheConfiguration {
        let port = try (servers ?? shared()).endpoint(.redisOpen).port
        var configuration = RedisCacheConfiguration(.tcp(host: "127.0.0.1", port: try #require(UInt16(exactly: port))))
        configuration.keyPrefix = prefix
        // The machine of the tests is busy.
        configuration.timeout = .seconds(20)
        return configuration
    }

    private static let sharedResult = Result { try TestServers(parts: ["redis"]) }

    static func shared() throws -> TestServers { try sharedResult.get() }

    private static let prefixCount = Mutex(0)

    static func uniquePrefix() -> String {
        let number = prefixCount.withLock { count in
            count += 1
            return count
        }
        return "test[\(number)]*:"
    }

    /// The reply to a command.
    static func reply(_ words: [RedisCommand.Word], _ configuration: RedisCacheConfiguration) async throws -> RedisReply {
        let client = RedisClient(configuration) { _ in [] }
        defer { client.close() }
        let reply = await withCheckedContinuation { continuation in
            client.send(RedisCommand(words)) { continuation.resume(returning: $0) }
        }
        return try #require(reply)
    }

    enum Unexpected: Error { case answer }

    static func claim(_ store: RedisCacheStore, _ key: CacheKey) async -> CacheClaim {
        await withCheckedContinuation { continuation in store.claim(key) { continuation.resume(returning: $0) } }
    }
}

/// The process of a server that a test stops, continues or kills.
struct RedisProcess {
    private let identifier: pid_t

    init(_ servers: TestServers) throws {
        let line = try #require(try servers.lines(of: .redisProcess).first)
        identifier = try #require(pid_t(line))
    }

    func send(_ signal: CInt) { _ = kill(identifier, signal) }
}

/// An origin server that answers each request, and counts the requests.
final class CountingHandler: ProtocolHandler {
    let identifier = "test.counting"
    let schemes = SchemeSet.only(["http"])
    let traits: HandlerTraits = [.cacheable, .httpFields, .stopsAsynchronously]
    private let count = Mutex(0)

    var requestCount: Int { count.withLock { $0 } }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let body = Array("response \(number)".utf8)
        var response = Response(url: request.url, expectedLength: Int64(body.count), status: .ok)
        response.fields[.cacheControl] = "max-age=600"
        return ScriptedLoad([.response(response), .data(body), .finish], client: client)
    }

    func loader(_ store: RedisCacheStore) -> Loader {
        var configuration = Loader.Configuration()
        configuration.cache = ResponseCache(store: store)
        configuration.handlers = [self]
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }
}
