// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP
import PortolanTransport

@Suite struct ConnectionPoolTests {
    let key = PoolFixture.key()

    @Test func connectionIsReused() throws {
        let fixture = PoolFixture()
        let (first, second) = (FakeWaiter(), FakeWaiter())
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

    /// A connection that carries other loads is not closed, and not checked repeatedly.
    @Test(.timeLimit(.minutes(1))) func staleSharedConnectionIsSkippedAndStaysOpen() throws {
        let fixture = PoolFixture()
        let (first, second) = (FakeWaiter(), FakeWaiter())
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
        let waiters = [FakeWaiter(0), FakeWaiter(1)]
        for waiter in waiters { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        let connections = fixture.connector.attempts.map { $0.succeed() }
        try #require(connections.count == 2)
        waiters[1].finish()
        waiters[0].finish()
        let next = FakeWaiter()
        _ = fixture.pool.acquire(key, for: next, priority: .normal)
        #expect(next.connection === connections[0])
    }

    @Test func connectionsPerHostAreLimited() {
        let fixture = PoolFixture { $0.perHost = 3 }
        let waiters = (0..<10).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        #expect(fixture.connector.attempts.count == 3)
        for attempt in fixture.connector.attempts { attempt.succeed() }
        #expect(waiters.filter { $0.connection != nil }.map(\.name) == [0, 1, 2])
        waiters[1].finish()
        #expect(waiters[3].connection != nil)
        #expect(fixture.connector.attempts.count == 3)
    }

    @Test func totalLimitAppliesToAllHosts() throws {
        let fixture = PoolFixture { $0.total = 2 }
        let waiters = (0..<3).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(PoolFixture.key("host\(waiter.name)"), for: waiter, priority: .normal) }
        #expect(fixture.connector.attempts.map(\.key.host) == ["host0", "host1"])
        let connections = fixture.connector.attempts.map { $0.succeed() }
        try #require(connections.count == 2)
        #expect(waiters[2].connection == nil)
        connections[0].close()
        fixture.loop.run()
        #expect(fixture.connector.attempts.map(\.key.host) == ["host0", "host1", "host2"])
    }

    @Test func idleConnectionIsClosedForAnotherHost() throws {
        let fixture = PoolFixture { $0.total = 1 }
        let (first, second) = (FakeWaiter(0), FakeWaiter(1))
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
        let waiters = priorities.indices.map { FakeWaiter($0) { order.append($0.name) } }
        for waiter in waiters { _ = fixture.pool.acquire(key, for: waiter, priority: priorities[waiter.name]) }
        try #require(!fixture.connector.attempts.isEmpty)
        fixture.connector.attempts[0].succeed()
        while let busy = waiters.first(where: { $0.connection != nil }) { busy.finish() }
        #expect(order == [2, 4, 0, 3, 1, 5])
    }

    // MARK: Notifying loads that wait

    @Test func onlyLoadsWithoutAnOpeningConnectionAreNotifiedOfTheirWait() {
        let fixture = PoolFixture { $0.perHost = 2 }
        let waiters = (0..<4).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        fixture.loop.run()
        #expect(waiters.map(\.waits.count) == [0, 0, 1, 1])
        #expect(waiters[2].waits.first?.reason.contains("waiting for a connection to http://example.org") == true)
        let connections = fixture.connector.attempts.map { $0.succeed() }
        #expect(connections.count == 2 && waiters[1].connection != nil)
        waiters[0].finish()
        #expect(waiters.map(\.waits.count) == [0, 0, 1, 1])
    }

    /// The connection was opened for one load, but another load with a higher priority gets it.
    @Test func overtakenLoadIsNotifiedOfItsWait() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let (first, urgent) = (FakeWaiter(0), FakeWaiter(1))
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        _ = fixture.pool.acquire(key, for: urgent, priority: .high)
        try #require(fixture.connector.attempts.first).succeed()
        #expect(urgent.connection != nil && first.waits.count == 1)
        urgent.finish()
        #expect(first.connection != nil && first.waits.count == 1)
    }

    /// The connection for which the load waits is closed, and another one is opened for the load.
    @Test func loadLeavesTheQueueWhenItsConnectionIsBeingOpened() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let waiters = (0..<3).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        let connection = try #require(fixture.connector.attempts.first).succeed()
        fixture.loop.run()
        #expect(waiters.map(\.isQueued) == [false, true, true])
        connection.close()
        #expect(fixture.connector.open.count == 1)
        #expect(waiters.map(\.isQueued) == [false, false, true])
        try #require(fixture.connector.open.first).succeed()
        #expect(waiters[1].connection != nil && waiters.map(\.waits.count) == [0, 1, 1])
    }

    @Test func waitReasonNamesTheSharedConnectionOrItsServer() throws {
        let fixture = PoolFixture { $0.perHost = 2 }
        fixture.connector.offersMultiplexing = true
        let waiters = (0..<3).map { FakeWaiter($0) }
        for waiter in waiters[..<2] { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        #expect(waiters[1].waits.first?.reason.contains("a connection that may carry all loads is being opened; ask for HTTP/1.1") == true)
        try #require(fixture.connector.attempts.first).succeed(capacity: 2)
        _ = fixture.pool.acquire(key, for: waiters[2], priority: .normal)
        fixture.loop.run()
        #expect(waiters[2].waits.first?.reason.contains("the server allows no more requests at once") == true)
    }

    /// The reason is computed when it is read.
    @Test func waitReasonChangesWhenTheServerSpeaksHTTP1() throws {
        let fixture = PoolFixture { $0.perHost = 2 }
        fixture.connector.offersMultiplexing = true
        let waiters = (0..<4).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(PoolFixture.key(isSecure: true), for: waiter, priority: .normal) }
        fixture.loop.run()
        let wait = try #require(waiters[3].waits.first)
        #expect(wait.reason.contains("a connection that may carry all loads is being opened"))
        // The server turns out to speak HTTP/1.1.
        try #require(fixture.connector.attempts.first).succeed()
        for attempt in fixture.connector.open { attempt.succeed() }
        #expect(waiters.map(\.isQueued) == [false, false, true, true])
        #expect(waiters.map { $0.connection != nil } == [true, true, false, false])
        #expect(wait.reason.contains("all allowed connections are in use or being opened (2 per origin, "), "\(wait.reason)")
        #expect(wait.remedy == .openMoreConnections(orWait: false) && wait.error.remedy == .openMoreConnections(orWait: true))
    }

    @Test func waitReasonChangesWhenTheSharedConnectionIsOpen() throws {
        let fixture = PoolFixture { $0.perHost = 2 }
        fixture.connector.offersMultiplexing = true
        let waiters = (0..<6).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(PoolFixture.key(isSecure: true), for: waiter, priority: .normal) }
        fixture.loop.run()
        let wait = try #require(waiters[5].waits.first)
        try #require(fixture.connector.attempts.first).succeed(capacity: 2)
        fixture.loop.run()
        #expect(wait.reason.contains("the server allows no more requests at once"), "\(wait.reason)")
    }

    /// Loads that a server did not process go before loads that came later, and keep their order.
    @Test func resentLoadsGoBeforeOthersOfTheirPriority() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        var order: [Int] = []
        let waiters = (0..<6).map { FakeWaiter($0) { order.append($0.name) } }
        for waiter in waiters[..<3] { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        _ = fixture.pool.acquire(key, for: waiters[3], priority: .high)
        for waiter in waiters[4...] { _ = fixture.pool.acquire(key, for: waiter, priority: .normal, precedesSamePriority: true) }
        fixture.loop.run()
        try #require(fixture.connector.attempts.first).succeed()
        while let busy = waiters.first(where: { $0.connection != nil }) { busy.finish() }
        #expect(order == [3, 4, 5, 0, 1, 2])
    }

    @Test func waitReasonNamesTheLimits() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let waiters = (0..<2).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(key, for: waiter, priority: .normal) }
        let wait = try #require(waiters[1].waits.first)
        #expect(wait.reason.contains("all allowed connections are in use or being opened (1 per origin, 512 in total); raise ") == true)
        #expect(wait.remedy == .openMoreConnections(orWait: false) && wait.error.remedy == .openMoreConnections(orWait: true))
    }

    @Test func failureEndsOnlyLoadsThatWaitedWhenTheAttemptBegan() throws {
        let fixture = PoolFixture { $0.perHost = 1 }
        let (first, second, late) = (FakeWaiter(0), FakeWaiter(1), FakeWaiter(2))
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        try #require(!fixture.connector.attempts.isEmpty)
        fixture.connector.attempts[0].fail(LoadError(.cannotConnect, message: "x"))
        #expect(first.error?.code == .cannotConnect)
        _ = fixture.pool.acquire(key, for: second, priority: .normal)
        _ = fixture.pool.acquire(key, for: late, priority: .normal)
        try #require(fixture.connector.attempts.count == 2)
        fixture.connector.attempts[1].fail(LoadError(.timedOut, message: "x"))
        #expect(second.error?.code == .timedOut)
        #expect(late.error == nil)
        #expect(fixture.connector.open.count == 1)
    }

    @Test func attemptWithoutAWaitingLoadIsCancelled() throws {
        let fixture = PoolFixture()
        let waiters = [FakeWaiter(0), FakeWaiter(1)]
        let tickets = waiters.map { fixture.pool.acquire(key, for: $0, priority: .normal) }
        #expect(fixture.connector.open.count == 2)
        if let ticket = tickets[0] { fixture.pool.cancel(ticket) }
        try #require(fixture.connector.open.count == 1)
        fixture.connector.open[0].succeed()
        #expect(waiters[0].connection == nil)
        #expect(waiters[1].connection != nil)
    }

    @Test func oneConnectionIsOpenedUntilTheProtocolIsKnown() throws {
        let fixture = PoolFixture()
        fixture.connector.offersMultiplexing = true
        let secure = PoolFixture.key(isSecure: true)
        let waiters = (0..<4).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(secure, for: waiter, priority: .normal) }
        try #require(fixture.connector.attempts.count == 1)
        fixture.connector.attempts[0].succeed(capacity: 1)
        // The connection was HTTP/1.1, which carries one load at a time.
        #expect(fixture.connector.attempts.count == 4)
    }

    @Test func multiplexedConnectionCarriesLoadsUpToItsCapacity() throws {
        let fixture = PoolFixture()
        fixture.connector.offersMultiplexing = true
        let secure = PoolFixture.key(isSecure: true)
        let waiters = (0..<5).map { FakeWaiter($0) }
        for waiter in waiters { _ = fixture.pool.acquire(secure, for: waiter, priority: .normal) }
        try #require(!fixture.connector.attempts.isEmpty)
        let connection = fixture.connector.attempts[0].succeed(capacity: 3)
        #expect(connection.transactionCount == 3)
        waiters[1].finish()
        #expect(waiters[3].connection === connection)
        #expect(fixture.connector.attempts.count == 1)
        fixture.pool.connectionStoppedAccepting(connection, for: secure)
        #expect(fixture.connector.open.count == 1)
        connection.close()
        #expect(fixture.connector.open.count == 1)
    }

    @Test func idleConnectionsAreClosedAfterTheIdleTimeout() throws {
        let fixture = PoolFixture { $0.idleTimeout = .seconds(30) }
        let (first, second) = (FakeWaiter(), FakeWaiter())
        _ = fixture.pool.acquire(key, for: first, priority: .normal)
        _ = fixture.pool.acquire(key, for: second, priority: .normal)
        let connections = fixture.connector.attempts.map { $0.succeed() }
        try #require(connections.count == 2)
        first.finish()
        fixture.loop.advanceTime(by: .seconds(29))
        #expect(!connections[0].isClosed)
        fixture.loop.advanceTime(by: .seconds(10))
        #expect(connections[0].isClosed)
        // The other one is in use.
        #expect(!connections[1].isClosed)
    }

    /// Loads begin, are cancelled and end at random. At the end nothing is open, queued or pending.
    @Test(arguments: [1, 2, 3, 4]) func nothingIsOpenOrQueuedAfterManyRandomLoads(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let fixture = PoolFixture {
            $0.perHost = 4
            $0.total = 10
        }
        var activeWaiters: [FakeWaiter] = []
        var waiting: [Int: ConnectionPool.Ticket] = [:]
        var all: [FakeWaiter] = []
        for name in 0..<10_000 {
            let waiter = FakeWaiter(name) { waiter in
                waiting[waiter.name] = nil
                activeWaiters.append(waiter)
            }
            all.append(waiter)
            let priority = [LoadPriority.low, .normal, .high].randomElement(using: &random) ?? .normal
            let key = PoolFixture.key("host\(Int.random(in: 0..<5, using: &random))")
            if let ticket = fixture.pool.acquire(key, for: waiter, priority: priority), waiter.connection == nil { waiting[name] = ticket }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: fixture.connector.open.randomElement(using: &random)?.succeed()
            case 1: fixture.connector.open.randomElement(using: &random)?.fail(LoadError(.cannotConnect, message: ""))
            case 2:
                if let (name, ticket) = waiting.randomElement(using: &random) {
                    waiting[name] = nil
                    fixture.pool.cancel(ticket)
                }
            case 3, 4:
                if let index = activeWaiters.indices.randomElement(using: &random) { activeWaiters.remove(at: index).finish() }
            default: activeWaiters.randomElement(using: &random)?.connection?.close()
            }
            fixture.loop.run()
        }
        while !fixture.connector.open.isEmpty || !activeWaiters.isEmpty {
            for attempt in fixture.connector.open { attempt.succeed() }
            while let waiter = activeWaiters.popLast() { waiter.finish() }
            fixture.loop.run()
        }
        #expect(waiting.filter { all[$0.key].error == nil }.isEmpty)
        fixture.pool.closeIdleConnections()
        for _ in 0..<10 { #expect(fixture.limiter.acquire {}) }
        #expect(!fixture.limiter.acquire {})
    }
}
