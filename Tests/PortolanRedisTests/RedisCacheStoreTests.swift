// SPDX-License-Identifier: Apache-2.0

import CacheStoreSuite
import Glibc
import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import ServerSupport
import Testing

@testable import PortolanRedis

private typealias Harness = CacheStoreHarness
private typealias Fixtures = RedisFixtures

/// Stored responses on a real server, used by one or two stores.
@Suite(.timeLimit(.minutes(5))) struct RedisCacheStoreTests {
    /// The server chooses what goes if it is full, and each machine has only a part of the entries.
    private static let rulesOfALimit = ["the least recently used entry goes first", "what can be found stays below the limit"]

    @Test(arguments: CacheStoreCase.all.filter { !rulesOfALimit.contains($0.name) })
    func storeKeepsTheContract(_ rule: CacheStoreCase) async throws {
        var configuration = try Fixtures.configuration()
        // The rules are about an eighth of the limit.
        configuration.responseLimit = min(rule.byteLimit / 8, 1 << 20)
        try await rule.run(Harness(RedisCacheStore(configuration)))
    }

    @Test func machinesShareResponses() async throws {
        let configuration = try Fixtures.configuration()
        let (first, second) = (Harness(RedisCacheStore(configuration)), Harness(RedisCacheStore(configuration)))
        try first.storeBody([1, 2, 3], "A: 1")
        _ = try await first.entries()
        let entry = try await second.entry()
        #expect(try await Harness.octets(of: entry.body) == [1, 2, 3])
        second.store.update(
            entry.id, to: entry.stored.updated(by: try Harness.fields("A: 2"), request: nil, requestTime: 5, responseTime: 6).response)
        #expect(try await second.entry().stored.responseTime == 6)
        #expect(try await first.entry().stored.fields.map(\.value) == ["2"])
        // Another prefix is another cache.
        #expect(try await Harness(RedisCacheStore(try Fixtures.configuration())).entries().isEmpty)
    }

    /// What one machine removes is not found by another, and what the other is storing at that moment is not stored.
    @Test(
        arguments: [
            .url, .origin, .host, .since, .all,
        ] as [RemovalKind])
    func removalOfOneMachineCountsForAnother(_ kind: RemovalKind) async throws {
        let configuration = try Fixtures.configuration()
        let (first, second) = (Harness(RedisCacheStore(configuration)), Harness(RedisCacheStore(configuration)))
        try first.storeBody([1])
        try first.storeBody([2], at: "https://other.example/")
        #expect(try await first.entries().count == 1)
        #expect(try await first.entries("https://other.example/").count == 1)
        let writer = try #require(second.store.openWriter(try Harness.makeOpening()))
        #expect(Harness.write([3], to: writer))
        // The server has opened the writer.
        #expect(try await second.entries().count == 1)
        first.store.remove(try kind.selection())
        #expect(try await first.entries().isEmpty)
        writer.finish(try Harness.makeStoredResponse(content: .complete(length: 1), secondsAfterReference: 1), trailers: nil)
        let found = try await second.bodies()
        // The other machine finds what was received since the time until it is deleted.
        #expect(found.isEmpty || (kind == .since && found == [[1]]))
        let isOtherRemoved = kind == .all || kind == .since
        #expect(try await first.entries("https://other.example/").isEmpty == isOtherRemoved)
        // What is stored later counts.
        try second.storeBody([4], secondsAfterReference: 2)
        #expect(try await second.bodies() == [[4]])
        #expect(try await first.bodies() == [[4]])
    }

    enum RemovalKind: Sendable {
        case url, origin, host, since, all

        func selection() throws -> CacheSelection {
            let url = try URLRecord(parsing: Harness.url)
            return switch self {
            case .url: .url(url)
            case .origin: .origin(url)
            case .host: .host("example.org")
            case .since: .since(Harness.referenceTime)
            case .all: .all
            }
        }
    }

    /// What does not count any more is deleted, without other commands of the store.
    @Test func removedResponsesAreDeletedFromTheServer() async throws {
        let configuration = try Fixtures.configuration()
        let store = RedisCacheStore(configuration)
        let harness = Harness(store)
        for number in 0..<250 { try harness.storeBody([1], at: "https://example.org/\(number)", secondsAfterReference: Int64(number)) }
        for number in 0..<250 { #expect(try await harness.entries("https://example.org/\(number)").count == 1) }
        store.remove(.since(Harness.referenceTime + 100))
        #expect(try await harness.entries("https://example.org/100").isEmpty)
        #expect(try await harness.entries("https://example.org/99").count == 1)
        // A machine that has not removed anything itself sees what the server has.
        let other = Harness(RedisCacheStore(configuration))
        var count = 250
        while count > 100 {
            count = 0
            for number in 0..<250 { count += try await other.entries("https://example.org/\(number)").count }
        }
        #expect(count == 100)
        store.remove(.all)
        #expect(try await harness.entries("https://example.org/1").isEmpty)
        #expect(try await other.entries("https://example.org/1").isEmpty)
    }

    @Test func responsesEnd() async throws {
        var configuration = try Fixtures.configuration()
        (configuration.staleTime, configuration.longestTime) = (.seconds(50), .seconds(100))
        let clock = Observed<Int64>(Harness.referenceTime)
        let store = RedisCacheStore(configuration) { clock.state }
        let harness = Harness(store)
        for (number, fields) in ["Cache-Control: max-age=10", "A: 1", "Cache-Control: max-age=1000"].enumerated() {
            try harness.storeBody([UInt8(number)], fields, at: "https://example.org/\(number)")
            let key = store.keys.entries(of: try Harness.key("https://example.org/\(number)").url)
            #expect(try await harness.entries("https://example.org/\(number)").count == 1)
            // The server deletes the key.
            guard case .integer(let rest) = try await Fixtures.reply(["PTTL", RedisCommand.Word(key)], configuration) else {
                Issue.record("no time")
                continue
            }
            let limit = [60_000, 50_000, 100_000][number]
            #expect((limit - 30_000...limit).contains(Int(rest)))
        }
        // An entry ends even if another one keeps the key.
        for (time, rest) in [(49, [0, 1, 2]), (50, [0, 2]), (59, [0, 2]), (60, [2]), (99, [2]), (100, [])] {
            clock.update { $0 = Harness.referenceTime + Int64(time) }
            var found: [Int] = []
            for number in 0..<3 where try await !harness.entries("https://example.org/\(number)").isEmpty { found.append(number) }
            #expect(found == rest)
        }
    }

    /// Two machines store variants of one URL at the same time, and none is lost.
    @Test func concurrentChangesOfOneURLAreAllMade() async throws {
        let configuration = try Fixtures.configuration()
        let harnesses = (0..<3).map { _ in Harness(RedisCacheStore(configuration)) }
        for number in 0..<4 {
            for (index, harness) in harnesses.enumerated() {
                try harness.storeBody([UInt8(number), UInt8(index)], "Vary: Foo", request: "Foo: \(number) \(index)")
            }
        }
        for harness in harnesses { _ = try await harness.entries() }
        let bodies = try await harnesses[0].bodies().sorted { $0.lexicographicallyPrecedes($1) }
        var expected: [[UInt8]] = []
        for number in 0..<4 { for index in 0..<3 { expected.append([UInt8(number), UInt8(index)]) } }
        #expect(bodies == expected)
    }

    /// Two machines store a response to the same request at the same time: the newer one stays.
    @Test func newerResponseReplacesThoseOfOtherMachines() async throws {
        let configuration = try Fixtures.configuration()
        let harnesses = (0..<3).map { _ in Harness(RedisCacheStore(configuration)) }
        for round in 0..<10 {
            let url = "https://example.org/\(round)"
            for (index, harness) in harnesses.enumerated() {
                try harness.storeBody([UInt8(index)], at: url, secondsAfterReference: Int64((index + round) % 3))
            }
            for harness in harnesses { _ = try await harness.entries(url) }
            #expect(try await harnesses[0].bodies(url) == [[UInt8((5 - round % 3) % 3)]])
        }
    }

    @Test func passwordSocketAndDatabase() async throws {
        let servers = try Fixtures.shared()
        var configuration = try Fixtures.configuration()
        configuration.address = .unix(path: try servers.path(of: .redisSocket))
        configuration.database = 3
        let local = Harness(RedisCacheStore(configuration))
        try local.storeBody([1])
        #expect(try await local.bodies() == [[1]])
        // Without the database, the store uses no other one.
        configuration.database = 9999
        let missing = Harness(RedisCacheStore(configuration))
        try missing.storeBody([1])
        #expect(try await missing.entries().isEmpty)
        let port = try #require(UInt16(exactly: try servers.endpoint(.redisLocked).port))
        var locked = try Fixtures.configuration()
        locked.address = .tcp(host: "localhost", port: port)
        for (password, expected) in [(nil, 0), ("wrong", 0), (servers.password, 1)] as [(String?, Int)] {
            locked.password = password
            let harness = Harness(RedisCacheStore(locked))
            try harness.storeBody([1])
            #expect(try await harness.entries().count == expected)
        }
    }
}
