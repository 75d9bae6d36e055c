// SPDX-License-Identifier: Apache-2.0

import CacheStoreSuite
import HTTPTypes
import PortolanCache
import PortolanCore
import PortolanURL
import ServerSupport
import Testing

@testable import PortolanRedis

private typealias Harness = CacheStoreHarness
private typealias Fixtures = RedisFixtures

/// Values that another machine, or nobody who knows the format, has written.
@Suite(.timeLimit(.minutes(2))) struct RedisDamageTests {
    private static let epochs = RedisEpochs([[1], [2], [3], [4]])

    private static func record() throws -> (record: RedisRecord, body: [UInt8]) {
        let content = Harness.makeContent(2..<6, completeLength: 10)
        let stored = try Harness.makeStoredResponse("ETag: \"a\" | Vary: Foo", request: "Foo: 1", content: content)
        let attributes = CacheAttributes(Response(url: stored.url, status: .ok))
        let head = CacheEntryHead(key: try Harness.key(), stored: stored, attributes: attributes, trailers: nil)
        let body: [UInt8] = [1, 2, 3, 4]
        // crc32(3) of the body
        return (RedisRecord(epochs: try #require(epochs), expirationTime: 5, bodyLength: 4, bodyChecksum: 0xB63C_FBCD, head: head), body)
    }

    @Test func recordIsReadAsItWasWritten() throws {
        let (record, body) = try Self.record()
        let read = try #require(RedisRecord(decoding: record.encoded))
        #expect(read.encoded == record.encoded && read.expirationTime == 5 && read.epochs == record.epochs)
        let octets = try #require(read.body(body))
        #expect(octets.ranges == ByteRangeSet(2..<6) && octets.byteCount == 4)
        #expect(read.body([1, 2, 3, 5]) == nil && read.body([1, 2, 3]) == nil && read.body([]) == nil)
    }

    /// Every octet that is changed, and every end that is missing, is noticed.
    @Test func damagedRecordIsNotRead() throws {
        let octets = try Self.record().record.encoded
        for index in octets.indices {
            var damaged = octets
            damaged[index] ^= 1 << UInt8(index % 8)
            #expect(RedisRecord(decoding: damaged) == nil)
            #expect(RedisRecord(decoding: Array(octets[..<index])) == nil)
        }
        #expect(RedisRecord(decoding: octets + [0]) == nil)
    }

    @Test(
        arguments: [
            RedisReply.null, .integer(1), .error("x"), .octets([]), .array([]), .array([.array([]), .array([])]),
            .array([.array([.null, .null, .null, .null])]), .array([.array([.null, .null, .null, .null]), .array([.octets([0x76])])]),
            .array([.integer(3), .array([])]),
        ])
    func replyOfAnotherFormHasNoEntries(_ reply: RedisReply) { #expect(RedisEntries(reply) == nil) }

    /// A value of the server is replaced by another one: nothing is found, and the next response is stored.
    @Test(
        arguments: [
            ["SET", "ENTRIES", "text"], ["HSET", "ENTRIES", "RECORD", "x"], ["HSET", "ENTRIES", "BODY", "x"], ["HDEL", "ENTRIES", "BODY"],
            ["HDEL", "ENTRIES", "RECORD"], ["HSET", "ENTRIES", "mzz", "x"], ["SET", "ALL", ""], ["DEL", "ALL"],
            ["HSET", "ENTRIES", "v", ""],
            ["HSET", "ENTRIES", "r", "x"], ["HSET", "ENTRIES", "\u{0}", ""], ["HSET", "ENTRIES", "m0000000000000001", ""],
        ])
    func damagedValueIsAMiss(_ words: [String]) async throws {
        let configuration = try Fixtures.configuration()
        let store = RedisCacheStore(configuration)
        let harness = Harness(store)
        try harness.storeBody([1])
        let entry = try await harness.entry()
        let name = store.keys.entries(of: entry.key.url)
        let values = [
            "ENTRIES": name, "RECORD": RedisEntries.recordName(entry.id), "BODY": RedisEntries.bodyName(entry.id), "ALL": store.keys.all,
        ]
        let isStillFound = ["mzz", "v", "r", "\u{0}", "m0000000000000001"].contains(words.count > 2 ? words[2] : "")
        if words == ["SET", "ENTRIES", "text"] { _ = try await Fixtures.reply(["DEL", RedisCommand.Word(name)], configuration) }
        let reply = try await Fixtures.reply(words.map { RedisCommand.Word(values[$0] ?? $0) }, configuration)
        #expect(!reply.isError)
        #expect(try await harness.entries().count == (isStillFound ? 1 : 0))
        try harness.storeBody([2], secondsAfterReference: 1)
        let bodies = try await harness.bodies()
        // Nobody but the server's clock deletes a key of another type.
        #expect(bodies == (words[0] == "SET" && words[1] == "ENTRIES" ? [] : [[2]]))
    }

    /// A hash with more values than a store writes is not read.
    @Test func tooManyValuesAreAMiss() async throws {
        let configuration = try Fixtures.configuration()
        let store = RedisCacheStore(configuration)
        let harness = Harness(store)
        try harness.storeBody([1])
        let name = RedisCommand.Word(store.keys.entries(of: try await harness.entry().key.url))
        var words: [RedisCommand.Word] = ["HSET", name]
        for number in 0..<300 { words += [RedisCommand.Word("x\(number)"), "y"] }
        _ = try await Fixtures.reply(words, configuration)
        #expect(try await harness.entries().isEmpty)
    }

    /// A removal of what was received since a time leaves what was requested after it.
    @Test(arguments: [(-1, [9], false), (0, [9], true), (1, [9], true), (0, [4], false)] as [(Int64, [UInt8], Bool)])
    func removalSinceATimeIsNotForLaterWriters(_ received: Int64, _ epoch: [UInt8], _ isRemoved: Bool) throws {
        let record = try Self.record().record
        let sweep = RedisSweep(since: RedisSweep.Limit(time: Harness.referenceTime - received, epoch: epoch))
        #expect(sweep.removes(record) == isRemoved)
        #expect(!RedisSweep().removes(record))
    }

    /// A reply that never ends is not kept in memory.
    @Test func endlessReplyEndsTheConnection() async throws {
        let block = [UInt8](repeating: 0, count: 1 << 20)
        let server = try ScriptedServer([.send(text: "+PONG\r\n$2000000000\r\n"), .forever([.send(block)])])
        var configuration = try Fixtures.configuration()
        configuration.responseLimit = 0
        configuration.address = .tcp(host: "127.0.0.1", port: try #require(UInt16(exactly: server.port)))
        let client = RedisClient(configuration) { _ in [] }
        let reply = await withCheckedContinuation { continuation in
            client.send(RedisCommand(["GET", "x"])) { continuation.resume(returning: $0) }
        }
        #expect(reply == nil)
        try await server.waitUntilClosed()
        client.close()
    }

    private static func reply(_ text: String) async throws -> RedisReply? {
        let server = try ScriptedServer(
            [.receiveThrough("PING\r\n"), .send(text: "+PONG\r\n"), .receiveThrough("x\r\n"), .send(text: text), .stall])
        var configuration = try Fixtures.configuration()
        configuration.address = .tcp(host: "127.0.0.1", port: try #require(UInt16(exactly: server.port)))
        let client = RedisClient(configuration) { _ in [] }
        defer { client.close() }
        return await withCheckedContinuation { continuation in
            client.send(RedisCommand(["GET", "x"])) { continuation.resume(returning: $0) }
        }
    }

    /// Arrays in arrays are read down to the limit. What is deeper is not converted.
    @Test(arguments: [(1, true), (4, true), (5, false), (7, false)]) func nestingIsLimited(_ depth: Int, _ isRead: Bool) async throws {
        var reply = try #require(try await Self.reply(String(repeating: "*1\r\n", count: depth) + "+x\r\n"))
        var count = 0
        while let inner = reply.elements?.first { (reply, count) = (inner, count + 1) }
        #expect(count == min(depth, 4) && (reply == .status("x")) == isRead && reply.isError == !isRead, "\(count) \(reply)")
    }

    /// A reply that nests too deep ends the connection before all of it has arrived: it is larger than one read.
    @Test func deepReplyEndsTheConnection() async throws {
        let text = String(repeating: "*2\r\n", count: 6) + "$20000\r\n\(String(repeating: "x", count: 20_000))\r\n"
        #expect(try await Self.reply(text + String(repeating: "+a\r\n", count: 6)) == nil)
    }

    /// A server of another protocol, or one that sends what it wants.
    @Test(
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "+PONG\r\n+PONG\r\n", "+PONG\r\n:1\r\n$-1\r\n", "-ERR\r\n",
            "+PONG\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n+x\r\n", "+PONG\r\n*100000000\r\n",
            "+PONG\r\n$100000000\r\n",
            "$", "",
        ])
    func hostileServerIsAMiss(_ text: String) async throws {
        let server = try ScriptedServer([.send(text: text)])
        var configuration = try Fixtures.configuration()
        configuration.address = .tcp(host: "127.0.0.1", port: try #require(UInt16(exactly: server.port)))
        let store = RedisCacheStore(configuration)
        #expect(try await Harness(store).entries().isEmpty)
        // A request without a time limit ends with its connection, too.
        let client = RedisClient(configuration) { _ in [] }
        await withCheckedContinuation { continuation in client.send(RedisCommand(["GET", "x"])) { _ in continuation.resume() } }
        client.close()
    }
}
