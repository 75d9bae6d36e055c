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

private typealias Harness = CacheStoreHarness
private typealias Fixtures = RedisFixtures

/// When requests are sent, and when they fail at once.
@Suite struct RedisAvailabilityRuleTests {
    private enum Event {
        case request(Int, RedisAvailability.Action)
        case timeout, connect(wasFailed: Bool), fail(Int, wasConnected: Bool), close
    }

    @Test(
        arguments: [
            [.request(0, .acceptAndConnect), .request(0, .accept), .connect(wasFailed: false), .request(1, .accept)],
            // Nobody waits for a connection that takes too long.
            [.request(0, .acceptAndConnect), .timeout, .request(1, .refuse), .connect(wasFailed: false), .request(2, .accept)],
            // Nothing is tried during the pause, and then the connection is made without waiting for it.
            [
                .request(0, .acceptAndConnect), .fail(10, wasConnected: true), .request(11, .refuse), .request(1009, .refuse),
                .request(1010, .refuseAndConnect), .request(1011, .refuse), .fail(1020, wasConnected: false), .request(2019, .refuse),
                .request(2020, .refuseAndConnect), .connect(wasFailed: true), .request(2021, .accept),
            ],
            // A server that closes unused connections has not failed.
            [.request(0, .acceptAndConnect), .connect(wasFailed: false), .close, .request(1, .acceptAndConnect)],
        ] as [[Event]])
    private func requestsAreRefusedAfterAFailure(_ events: [Event]) {
        var availability = RedisAvailability()
        for event in events {
            switch event {
            case .request(let time, let expected): #expect(availability.handleRequest(now: .milliseconds(time)) == expected)
            case .timeout: availability.handleTimeout()
            case .connect(let expected): #expect(availability.didConnect() == expected)
            case .fail(let time, let expected): #expect(availability.didFail(now: .milliseconds(time)) == expected)
            case .close: availability.didClose()
            }
        }
    }
}

/// Loads while the server is stopped, killed or missing: they succeed.
@Suite(.timeLimit(.minutes(5))) struct RedisAvailabilityTests {
    /// The source of a response, and its body.
    private func text(_ loader: Loader) async throws -> String {
        let (body, response) = try await loader.data(for: try Request("http://host.example/a"))
        return "\(response.source): " + String(decoding: body, as: UTF8.self)
    }

    @Test func loadsOfTwoMachinesShareAResponse() async throws {
        let configuration = try Fixtures.configuration()
        let origin = CountingHandler()
        let first = RedisCacheStore(configuration)
        #expect(try await text(origin.loader(first)) == "network: response 1")
        // The response is on the server when the next lookup of the same store is answered.
        #expect(try await Harness(first).entries("http://host.example/a").count == 1)
        #expect(try await text(origin.loader(RedisCacheStore(configuration))) == "cache: response 1")
        #expect(origin.requestCount == 1)
    }

    /// The acceptance: the server is stopped while a load waits for it.
    @Test(arguments: [SIGSTOP, SIGKILL]) func loadSucceedsIfTheServerStops(_ signal: CInt) async throws {
        let servers = try TestServers(parts: ["redis"])
        let process = try RedisProcess(servers)
        var configuration = try Fixtures.configuration(on: servers)
        configuration.timeout = .seconds(3)
        let origin = CountingHandler()
        let store = RedisCacheStore(configuration)
        let loader = origin.loader(store)
        _ = try await text(loader)
        #expect(try await Harness(store).entries("http://host.example/a").count == 1)
        process.send(signal)
        #expect(try await text(loader) == "network: response 2")
        // Further loads do not wait at all, as soon as the store knows that no server answers: it answers before the
        // call returns.
        var hasAnswered = false
        while !hasAnswered {
            let (answers, source) = AsyncStream.makeStream(of: Void.self)
            let answer = Mutex<[CacheEntry]?>(nil)
            store.lookUp(try Harness.key("http://host.example/a")) { entries in
                answer.withLock { $0 = entries }
                source.finish()
            }
            let entries = answer.withLock { $0 }
            hasAnswered = entries != nil
            #expect(entries?.isEmpty ?? true)
            for await _ in answers {}
        }
        #expect(store.openWriter(try Harness.makeOpening()) == nil)
        #expect(try await text(loader) == "network: response 3")
        if signal == SIGSTOP { process.send(SIGCONT) }
    }

    /// A removal while the server is stopped counts when it is there again, before anything is found.
    @Test func removalIsSentLater() async throws {
        let servers = try TestServers(parts: ["redis"])
        let process = try RedisProcess(servers)
        var configuration = try Fixtures.configuration(on: servers)
        configuration.timeout = .seconds(3)
        let store = RedisCacheStore(configuration)
        let harness = Harness(store)
        for path in ["a", "b", "c"] { try harness.storeBody([1], at: "https://example.org/\(path)") }
        #expect(try await harness.entries("https://example.org/c").count == 1)
        process.send(SIGSTOP)
        #expect(try await harness.entries("https://example.org/a").isEmpty)
        store.remove(.url(try URLRecord(parsing: "https://example.org/a")))
        process.send(SIGCONT)
        // The store tries it again after some time.
        while try await harness.entries("https://example.org/b").isEmpty { await Task.yield() }
        #expect(try await harness.entries("https://example.org/a").isEmpty)
        #expect(try await Harness(RedisCacheStore(configuration)).entries("https://example.org/a").isEmpty)
        #expect(try await harness.entries("https://example.org/b").count == 1)
    }

    @Test(arguments: ["127.0.0.1", "no-such-host.invalid", ""]) func missingServerCostsNothing(host: String) async throws {
        let port = try ScriptedServer([]).port
        var configuration = RedisCacheConfiguration(.tcp(host: host, port: try #require(UInt16(exactly: port))))
        configuration.timeout = .milliseconds(50)
        let origin = CountingHandler()
        let loader = origin.loader(RedisCacheStore(configuration))
        for number in 1...3 { #expect(try await text(loader) == "network: response \(number)") }
        let other = origin.loader(RedisCacheStore(RedisCacheConfiguration(.unix(path: "/nowhere"))))
        #expect(try await text(other) == "network: response 4")
    }

    /// A server that answers nothing, or only the first commands.
    @Test(arguments: ["", "+PONG\r\n"]) func silentServerIsNotUsed(_ text: String) async throws {
        let server = try ScriptedServer([.send(text: text), .stall])
        var configuration = RedisCacheConfiguration(.tcp(host: "127.0.0.1", port: try #require(UInt16(exactly: server.port))))
        configuration.timeout = .milliseconds(50)
        let origin = CountingHandler()
        let loader = origin.loader(RedisCacheStore(configuration))
        for number in 1...3 { #expect(try await self.text(loader) == "network: response \(number)") }
        #expect(!server.connections.isEmpty)
    }
}

/// One load for all machines.
@Suite(.timeLimit(.minutes(5))) struct RedisClaimTests {
    @Test func anotherMachineWaitsForTheLease() async throws {
        var configuration = try Fixtures.configuration()
        configuration.leaseTime = .seconds(60)
        let (first, second) = (RedisCacheStore(configuration), RedisCacheStore(configuration))
        let key = try Harness.key()
        guard case .load(let lease?) = await Fixtures.claim(first, key) else { throw Fixtures.Unexpected.answer }
        // Another URL has another lease.
        guard case .load(.some) = await Fixtures.claim(second, try Harness.key("https://example.org/b")) else {
            throw Fixtures.Unexpected.answer
        }
        let answer = Observed<CacheClaim?>(nil)
        second.claim(key) { claim in answer.update { $0 = claim } }
        // The server has refused the claim.
        #expect(try await Harness(second).entries().isEmpty)
        // What was stored before the lease ends is found after it.
        try Harness(first).storeBody([1])
        lease.release()
        try await answer.wait { $0 != nil }
        guard case .lookUp = answer.state else { throw Fixtures.Unexpected.answer }
        #expect(try await Harness(second).bodies() == [[1]])
        guard case .load(.some) = await Fixtures.claim(second, key) else { throw Fixtures.Unexpected.answer }
    }

    /// A machine that does not release its lease delays others only for their own time.
    @Test func waitEnds() async throws {
        var configuration = try Fixtures.configuration()
        configuration.leaseTime = .seconds(60)
        let (first, key) = (RedisCacheStore(configuration), try Harness.key())
        guard case .load(let lease?) = await Fixtures.claim(first, key) else { throw Fixtures.Unexpected.answer }
        configuration.leaseTime = .milliseconds(100)
        guard case .load(nil) = await Fixtures.claim(RedisCacheStore(configuration), key) else { throw Fixtures.Unexpected.answer }
        // The server ends the lease, if nobody does.
        guard case .integer(let rest) = try await Fixtures.reply(["PTTL", RedisCommand.Word(first.keys.lease(key))], configuration) else {
            throw Fixtures.Unexpected.answer
        }
        #expect((1...60_000).contains(rest))
        lease.release()
    }

    /// A lease that has ended by itself does not end the lease of another machine.
    @Test func leaseOfAnotherMachineStays() async throws {
        var configuration = try Fixtures.configuration()
        configuration.leaseTime = .seconds(60)
        let (first, second) = (RedisCacheStore(configuration), RedisCacheStore(configuration))
        let (key, name) = (try Harness.key(), RedisCommand.Word(first.keys.lease(try Harness.key())))
        guard case .load(let lease?) = await Fixtures.claim(first, key) else { throw Fixtures.Unexpected.answer }
        #expect(try await Fixtures.reply(["DEL", name], configuration) == .integer(1))
        guard case .load(let newer?) = await Fixtures.claim(second, key) else { throw Fixtures.Unexpected.answer }
        lease.release()
        _ = try await Harness(first).entries()
        #expect(try await Fixtures.reply(["EXISTS", name], configuration) == .integer(1))
        newer.release()
        _ = try await Harness(second).entries()
        #expect(try await Fixtures.reply(["EXISTS", name], configuration) == .integer(0))
    }

    @Test func claimNeedsNoServer() async throws {
        let store = RedisCacheStore(RedisCacheConfiguration(.unix(path: "/nowhere")))
        guard case .load(nil) = await Fixtures.claim(store, try Harness.key()) else { throw Fixtures.Unexpected.answer }
        guard case .load(nil) = await Fixtures.claim(store, try Harness.key()) else { throw Fixtures.Unexpected.answer }
    }
}
