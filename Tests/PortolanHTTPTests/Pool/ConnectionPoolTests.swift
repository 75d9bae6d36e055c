// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP
import PortolanTransport

/// A connection pool with fake connections. The test lets connection attempts succeed, and ends the loads.
@Suite struct ConnectionPoolTests {
    let key = PoolFixture.key()

    @Test func connectionIsReused() throws {
        let fixture = PoolFixture()
        let (first, second) = (FakeRequester(), FakeRequester())
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        try #require(!fixture.connector.attempts.isEmpty)
        let connection = fixture.connector.attempts[0].succeed()
        #expect(first.connection === connection)
        first.finish()
        let ticket = fixture.pool.acquire(key, for: second, priority: .normal)
        #expect(ticket == nil)
        #expect(second.connection === connection)
        #expect(fixture.connector.attempts.count == 1)
    }

    /// The pool does not close a stale connection that carries other loads, and does not check it again and again.
    @Test(.timeLimit(.minutes(1))) func staleSharedConnectionIsSkippedAndStaysOpen() throws {
        let fixture = PoolFixture()
        let (first, second) = (FakeRequester(), FakeRequester())
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        try #require(!fixture.connector.attempts.isEmpty)
        let connection = fixture.connector.attempts[0].succeed(capacity: 10)
        #expect(first.connection === connection)
        connection.isAlive = false
        second.isRepeatable = false
        _ = fixture.pool.acquire(key, for: second, priority: .normal)
        #expect(second.connection == nil && !connection.isClosed)
    }

    @Test func mostRecentlyUsedConnectionIsReusedFirst() throws {
        let fixture = PoolFixture()
        let requesters = [FakeRequester(0), FakeRequester(1)]
        for requester in requesters { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        let connections = fixture.connector.attempts.map { $0.succeed() }
        try #require(connections.count == 2)
        requesters[1].finish()
        requesters[0].finish()
        let next = FakeRequester()
        _ = fixture.pool.acquire(key, for: next, priority: .normal)
        #expect(next.connection === connections[0])
    }

    @Test func connectionsPerHostAreLimited() {
        let fixture = PoolFixture { $0.perHost = 3 }
        let requesters = (0..<10).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        #expect(fixture.connector.attempts.count == 3)
        for attempt in fixture.connector.attempts { attempt.succeed() }
        #expect(requesters.filter { $0.connection != nil }.map(\.number) == [0, 1, 2])
        requesters[1].finish()
        #expect(requesters[3].connection != nil)
        #expect(fixture.connector.attempts.count == 3)
    }

    @Test func totalLimitAppliesToAllHosts() throws {
        let fixture = PoolFixture { $0.total = 2 }
        let requesters = (0..<3).map { FakeRequester($0) }
        for requester in requesters {
            _ = fixture.pool.acquire(PoolFixture.key("host\(requester.number)"), for: requester, priority: .normal)
        }
        #expect(fixture.connector.attempts.map(\.key.host) == ["host0", "host1"])
        let connections = fixture.connector.attempts.map { $0.succeed() }
        try #require(connections.count == 2)
        #expect(requesters[2].connection == nil)
        connections[0].close()
        fixture.loop.run()
        #expect(fixture.connector.attempts.map(\.key.host) == ["host0", "host1", "host2"])
    }

    @Test func idleConnectionIsClosedForAnotherHost() throws {
        let fixture = PoolFixture { $0.total = 1 }
        let (first, second) = (FakeRequester(0), FakeRequester(1))
        _ = fixture.pool.acquire(PoolFixture.key("a"), for: first, priority: .normal)
        try #require(!fixture.connector.attempts.isEmpty)
        let connection = fixture.connector.attempts[0].succeed()
        first.finish()
        _ = fixture.pool.acquire(PoolFixture.key("b"), for: second, priority: .normal)
        fixture.loop.run()
        #expect(connection.isClosed)
        #expect(fixture.connector.attempts.map(\.key.host) == ["a", "b"])
    }

    @Test func higherPriorityIsServedFirstAndEqualPriorityInOrder() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        var order: [Int] = []
        let priorities: [LoadPriority] = [.normal, .low, .high, .normal, .high, .low]
        let requesters = priorities.indices.map { FakeRequester($0) { order.append($0.number) } }
        for requester in requesters { _ = fixture.pool.acquire(key, for: requester, priority: priorities[requester.number]) }
        try #require(!fixture.connector.attempts.isEmpty)
        fixture.connector.attempts[0].succeed()
        while let active = requesters.first(where: { $0.connection != nil }) { active.finish() }
        #expect(order == [2, 4, 0, 3, 1, 5])
    }

    // MARK: Notifications of the queue

    @Test func onlyLoadsWithoutAnOpeningConnectionAreNotifiedOfTheirWait() {
        let fixture = PoolFixture { $0.perHost = 2 }
        let requesters = (0..<4).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        fixture.loop.run()
        #expect(requesters.map(\.waits.count) == [0, 0, 1, 1])
        #expect(requesters[2].waits.first?.reason.contains("waiting for a connection to http://example.org") == true)
        let connections = fixture.connector.attempts.map { $0.succeed() }
        #expect(connections.count == 2 && requesters[1].connection != nil)
        requesters[0].finish()
        #expect(requesters.map(\.waits.count) == [0, 0, 1, 1])
    }

    /// The connection was opened for one load, but another load with a higher priority gets it.
    @Test func overtakenLoadIsNotifiedOfItsWait() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let (first, urgent) = (FakeRequester(0), FakeRequester(1))
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        _ = fixture.pool.acquire(key, for: urgent, priority: .high)
        try #require(fixture.connector.attempts.first).succeed()
        #expect(urgent.connection != nil && first.waits.count == 1)
        urgent.finish()
        #expect(first.connection != nil && first.waits.count == 1)
    }

    /// The only connection is closed. A new connection is opened for the first load of the queue.
    @Test func loadLeavesTheQueueWhenItsConnectionIsBeingOpened() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let requesters = (0..<3).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        let connection = try #require(fixture.connector.attempts.first).succeed()
        fixture.loop.run()
        #expect(requesters.map(\.isQueued) == [false, true, true])
        connection.close()
        #expect(fixture.connector.openAttempts.count == 1)
        #expect(requesters.map(\.isQueued) == [false, false, true])
        try #require(fixture.connector.openAttempts.first).succeed()
        #expect(requesters[1].connection != nil && requesters.map(\.waits.count) == [0, 1, 1])
    }

    @Test func waitReasonNamesTheSharedConnectionOrItsServer() throws {
        let fixture = PoolFixture { $0.perHost = 2 }
        fixture.connector.offersMultiplexing = true
        let requesters = (0..<3).map { FakeRequester($0) }
        for requester in requesters[..<2] { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        #expect(
            requesters[1].waits.first?.reason.contains("a connection that may carry all loads is being opened; ask for HTTP/1.1") == true)
        try #require(fixture.connector.attempts.first).succeed(capacity: 2)
        _ = fixture.pool.acquire(key, for: requesters[2], priority: .normal)
        fixture.loop.run()
        #expect(requesters[2].waits.first?.reason.contains("the server allows no more requests at once") == true)
    }

    /// A wait computes its reason when the property is read.
    @Test func waitReasonChangesWhenTheServerSpeaksHTTP1() throws {
        let fixture = PoolFixture { $0.perHost = 2 }
        fixture.connector.offersMultiplexing = true
        let requesters = (0..<4).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(PoolFixture.key(isSecure: true), for: requester, priority: .normal) }
        fixture.loop.run()
        let wait = try #require(requesters[3].waits.first)
        #expect(wait.reason.contains("a connection that may carry all loads is being opened"))
        // A capacity of 1 shows that the server speaks HTTP/1.1.
        try #require(fixture.connector.attempts.first).succeed()
        for attempt in fixture.connector.openAttempts { attempt.succeed() }
        #expect(requesters.map(\.isQueued) == [false, false, true, true])
        #expect(requesters.map { $0.connection != nil } == [true, true, false, false])
        #expect(wait.reason.contains("all allowed connections are in use or being opened (2 per origin, "), "\(wait.reason)")
        #expect(wait.remedy == .openMoreConnections(orWait: false) && wait.error.remedy == .openMoreConnections(orWait: true))
    }

    @Test func waitReasonChangesWhenTheSharedConnectionIsOpen() throws {
        let fixture = PoolFixture { $0.perHost = 2 }
        fixture.connector.offersMultiplexing = true
        let requesters = (0..<6).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(PoolFixture.key(isSecure: true), for: requester, priority: .normal) }
        fixture.loop.run()
        let wait = try #require(requesters[5].waits.first)
        try #require(fixture.connector.attempts.first).succeed(capacity: 2)
        fixture.loop.run()
        #expect(wait.reason.contains("the server allows no more requests at once"), "\(wait.reason)")
    }

    /// Loads that a server did not process go before loads that came later, and keep their order.
    @Test func resentLoadsGoBeforeOthersOfTheirPriority() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        var order: [Int] = []
        let requesters = (0..<6).map { FakeRequester($0) { order.append($0.number) } }
        for requester in requesters[..<3] { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        _ = fixture.pool.acquire(key, for: requesters[3], priority: .high)
        for requester in requesters[4...] {
            _ = fixture.pool.acquire(key, for: requester, priority: .normal, goesFirstWithinPriority: true)
        }
        fixture.loop.run()
        try #require(fixture.connector.attempts.first).succeed()
        while let active = requesters.first(where: { $0.connection != nil }) { active.finish() }
        #expect(order == [3, 4, 5, 0, 1, 2])
    }

    @Test func waitReasonNamesTheLimits() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let requesters = (0..<2).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(key, for: requester, priority: .normal) }
        let wait = try #require(requesters[1].waits.first)
        #expect(wait.reason.contains("all allowed connections are in use or being opened (1 per origin, 512 in total); raise ") == true)
        #expect(wait.remedy == .openMoreConnections(orWait: false) && wait.error.remedy == .openMoreConnections(orWait: true))
    }

    @Test func failureEndsOnlyLoadsThatWaitedWhenTheAttemptBegan() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let (first, second, laterRequester) = (FakeRequester(0), FakeRequester(1), FakeRequester(2))
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        try #require(!fixture.connector.attempts.isEmpty)
        fixture.connector.attempts[0].fail(LoadError(.cannotConnect, message: "x"))
        #expect(first.error?.code == .cannotConnect)
        _ = fixture.pool.acquire(key, for: second, priority: .normal)
        _ = fixture.pool.acquire(key, for: laterRequester, priority: .normal)
        try #require(fixture.connector.attempts.count == 2)
        fixture.connector.attempts[1].fail(LoadError(.timedOut, message: "x"))
        #expect(second.error?.code == .timedOut)
        #expect(laterRequester.error == nil)
        #expect(fixture.connector.openAttempts.count == 1)
    }

    @Test func attemptWithoutAWaitingLoadIsCancelled() throws {
        let fixture = PoolFixture()
        let requesters = [FakeRequester(0), FakeRequester(1)]
        let tickets = requesters.map { fixture.pool.acquire(key, for: $0, priority: .normal) }
        #expect(fixture.connector.openAttempts.count == 2)
        if let ticket = tickets[0] { fixture.pool.cancel(ticket) }
        try #require(fixture.connector.openAttempts.count == 1)
        fixture.connector.openAttempts[0].succeed()
        #expect(requesters[0].connection == nil)
        #expect(requesters[1].connection != nil)
    }

    @Test func oneConnectionIsOpenedUntilTheProtocolIsKnown() throws {
        let fixture = PoolFixture()
        fixture.connector.offersMultiplexing = true
        let secure = PoolFixture.key(isSecure: true)
        let requesters = (0..<4).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(secure, for: requester, priority: .normal) }
        try #require(fixture.connector.attempts.count == 1)
        fixture.connector.attempts[0].succeed(capacity: 1)
        // The connection is HTTP/1.1 and carries one load at a time, so the pool opens one connection for each other
        // load.
        #expect(fixture.connector.attempts.count == 4)
    }

    @Test func multiplexedConnectionCarriesLoadsUpToItsCapacity() throws {
        let fixture = PoolFixture()
        fixture.connector.offersMultiplexing = true
        let secure = PoolFixture.key(isSecure: true)
        let requesters = (0..<5).map { FakeRequester($0) }
        for requester in requesters { _ = fixture.pool.acquire(secure, for: requester, priority: .normal) }
        try #require(!fixture.connector.attempts.isEmpty)
        let connection = fixture.connector.attempts[0].succeed(capacity: 3)
        #expect(connection.transactionCount == 3)
        requesters[1].finish()
        #expect(requesters[3].connection === connection)
        #expect(fixture.connector.attempts.count == 1)
        fixture.pool.connectionStoppedAccepting(connection, for: secure)
        #expect(fixture.connector.openAttempts.count == 1)
        connection.close()
        #expect(fixture.connector.openAttempts.count == 1)
    }

    @Test func idleConnectionsAreClosedAfterTheIdleTimeout() throws {
        let fixture = PoolFixture { $0.idleTimeout = .seconds(30) }
        let (first, second) = (FakeRequester(), FakeRequester())
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        _ = fixture.pool.acquire(key, for: second, priority: .normal)
        let connections = fixture.connector.attempts.map { $0.succeed() }
        try #require(connections.count == 2)
        first.finish()
        fixture.loop.advanceTime(by: .seconds(29))
        #expect(!connections[0].isClosed)
        fixture.loop.advanceTime(by: .seconds(10))
        #expect(connections[0].isClosed)
        // The other connection is in use.
        #expect(!connections[1].isClosed)
    }

    /// Loads begin, are cancelled and end at random. At the end, no connection is open and no load is queued.
    @Test(arguments: [1, 2, 3, 4]) func nothingIsOpenOrQueuedAfterManyRandomLoads(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let fixture = PoolFixture {
            $0.perHost = 4
            $0.total = 10
        }
        var activeRequesters: [FakeRequester] = []
        var tickets: [Int: ConnectionPool.Ticket] = [:]
        var allRequesters: [FakeRequester] = []
        for number in 0..<10_000 {
            let requester = FakeRequester(number) { requester in
                tickets[requester.number] = nil
                activeRequesters.append(requester)
            }
            allRequesters.append(requester)
            let priority = [LoadPriority.low, .normal, .high].randomElement(using: &random) ?? .normal
            let key = PoolFixture.key("host\(Int.random(in: 0..<5, using: &random))")
            if let ticket = fixture.pool.acquire(key, for: requester, priority: priority), requester.connection == nil {
                tickets[number] = ticket
            }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: fixture.connector.openAttempts.randomElement(using: &random)?.succeed()
            case 1: fixture.connector.openAttempts.randomElement(using: &random)?.fail(LoadError(.cannotConnect, message: ""))
            case 2:
                if let (number, ticket) = tickets.randomElement(using: &random) {
                    tickets[number] = nil
                    fixture.pool.cancel(ticket)
                }
            case 3, 4:
                if let index = activeRequesters.indices.randomElement(using: &random) { activeRequesters.remove(at: index).finish() }
            default: activeRequesters.randomElement(using: &random)?.connection?.close()
            }
            fixture.loop.run()
        }
        while !fixture.connector.openAttempts.isEmpty || !activeRequesters.isEmpty {
            for attempt in fixture.connector.openAttempts { attempt.succeed() }
            while let requester = activeRequesters.popLast() { requester.finish() }
            fixture.loop.run()
        }
        #expect(tickets.filter { allRequesters[$0.key].error == nil }.isEmpty)
        fixture.pool.closeIdleConnections()
        // All 10 connections of the total limit are available again.
        for _ in 0..<10 { #expect(fixture.limiter.acquire {}) }
        #expect(!fixture.limiter.acquire {})
    }
}
