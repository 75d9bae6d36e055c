// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// A connection that only counts its transactions. The test ends the transactions.
final class FakeConnection: PooledConnection {
    let key: ConnectionKey
    let isMultiplexed: Bool
    let trust: ServerTrust? = nil
    var isAlive = true
    private let pool: ConnectionPool
    private(set) var transactionCount = 0
    private(set) var isClosed = false
    private let capacity: Int
    private(set) var idleSince: UInt64?

    init(_ key: ConnectionKey, in pool: ConnectionPool, capacity: Int = 1) {
        self.key = key
        self.pool = pool
        self.capacity = capacity
        isMultiplexed = capacity > 1
        idleSince = pool.loop.now
    }

    var availableStreamCount: Int { isClosed ? 0 : capacity - transactionCount }

    func beginTransaction(_ transaction: any HTTPTransaction) -> any HTTPStream {
        Issue.record("these tests call beginTransaction(), which needs no stream")
        return UnusedStream()
    }

    func beginTransaction() {
        transactionCount += 1
        idleSince = nil
    }

    func endTransaction() {
        transactionCount -= 1
        if transactionCount == 0 { idleSince = pool.loop.now }
        if !isClosed { pool.connectionBecameAvailable(self, for: key) }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        pool.didClose(self, key)
    }
}

/// Makes connection attempts. The test calls `succeed` or `fail` on each attempt.
final class FakeConnector: Connector {
    final class Attempt: ConnectionAttempt {
        let key: ConnectionKey
        weak var owner: (any ConnectionRequester)?
        private let pool: ConnectionPool
        private var completion: ((Result<any PooledConnection, LoadError>) -> Void)?
        private(set) var isStarted = false
        let isRefusedByOwner = false

        init(
            _ key: ConnectionKey, _ pool: ConnectionPool, _ owner: any ConnectionRequester,
            _ completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
        ) {
            self.key = key
            self.pool = pool
            self.owner = owner
            self.completion = completion
        }

        var isOpen: Bool { completion != nil }

        func start() { isStarted = true }
        func cancel() { fail(LoadError(.cancelled, message: "")) }

        @discardableResult
        func succeed(capacity: Int = 1) -> FakeConnection {
            let connection = FakeConnection(key, in: pool, capacity: capacity)
            let completion = completion
            self.completion = nil
            completion?(.success(connection))
            return connection
        }

        func fail(_ error: LoadError) {
            let completion = completion
            self.completion = nil
            completion?(.failure(error))
        }
    }

    var offersMultiplexing = false
    func offersMultiplexing(for key: ConnectionKey) -> Bool { offersMultiplexing }
    private(set) var attempts: [Attempt] = []
    var openAttempts: [Attempt] { attempts.filter(\.isOpen) }

    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionRequester,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt {
        let attempt = Attempt(key, pool, owner, completion)
        attempts.append(attempt)
        return attempt
    }
}

/// A requester that represents a load. It records its connection, its error and its waits, and uses the connection
/// until ``finish()``.
final class FakeRequester: ConnectionRequester {
    let number: Int
    private(set) var connection: FakeConnection?
    private(set) var error: LoadError?
    /// Each wait in the queue that the pool has reported.
    private(set) var waits: [QueueWait] = []
    private(set) var isQueued = false
    private let onAcquire: (FakeRequester) -> Void
    var isRepeatable = true

    init(_ number: Int = 0, onAcquire: @escaping (FakeRequester) -> Void = { _ in }) {
        self.number = number
        self.onAcquire = onAcquire
    }

    func didAcquire(_ connection: any PooledConnection) {
        guard let fake = connection as? FakeConnection else { return }
        fake.beginTransaction()
        self.connection = fake
        onAcquire(self)
    }

    func connectionFailed(_ error: LoadError) { self.error = error }
    func didQueue(_ wait: QueueWait) {
        waits.append(wait)
        isQueued = true
    }

    func didLeaveQueue() { isQueued = false }
    func didReach(_ step: LoadStep) {}
    func handleChallenge(_ challenge: AuthenticationChallenge) { challenge.answer(.performDefault) }
    func cancelChallenge(_ challenge: AuthenticationChallenge) {}

    func finish() {
        let connection = connection
        self.connection = nil
        connection?.endTransaction()
    }
}

/// A pool on an event loop in memory. The test advances the time of the event loop.
struct PoolFixture {
    let loop = InMemoryEventLoop()
    let connector = FakeConnector()
    let limiter: ConnectionLimiter
    let pool: ConnectionPool

    init(limits changeLimits: (inout ConnectionLimits) -> Void = { _ in }) {
        var connectionLimits = ConnectionLimits()
        changeLimits(&connectionLimits)
        limiter = ConnectionLimiter(connectionLimits.total)
        pool = ConnectionPool(on: loop, limits: connectionLimits, limiter: limiter, connector: connector, closeIdleConnectionElsewhere: {})
    }

    static func key(_ host: String = "example.org", isSecure: Bool = false) -> ConnectionKey {
        ConnectionKey(isSecure: isSecure, host: host, port: isSecure ? 443 : 80, proxy: nil)
    }
}

/// A stream that does nothing.
private final class UnusedStream: HTTPStream {
    let isReused = false
    let report = TransferReport(networkProtocol: "none")
    var transport: (any ByteConnection)? { nil }

    func sendRequest() {}
    func resumeReading() {}
    func cancel() {}
}
