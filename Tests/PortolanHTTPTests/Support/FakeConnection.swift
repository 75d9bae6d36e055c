// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// A connection that carries its loads until the test releases them.
final class FakeConnection: PooledConnection {
    let key: ConnectionKey
    let isMultiplexed: Bool
    let trust: ServerTrust? = nil
    var isAlive = true
    private let pool: ConnectionPool
    private(set) var carried = 0
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

    var room: Int { isClosed ? 0 : capacity - carried }

    func makeStream(for transaction: any HTTPTransaction) -> any HTTPStream {
        Issue.record("the waiters of these tests make no stream")
        return NoCarrier()
    }

    func take() {
        carried += 1
        idleSince = nil
    }

    /// Ends one exchange.
    func release() {
        carried -= 1
        if carried == 0 { idleSince = pool.loop.now }
        if !isClosed { pool.hasRoom(self, key) }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        pool.didClose(self, key)
    }
}

/// Opens fake connections when the test decides.
final class FakeConnector: Connector {
    final class Attempt: ConnectionAttempt {
        let key: ConnectionKey
        weak var owner: (any ConnectionRequester)?
        private let pool: ConnectionPool
        private var completion: ((Result<any PooledConnection, LoadError>) -> Void)?
        private(set) var isStarted = false
        let failsOwnerOnly = false

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
    var open: [Attempt] { attempts.filter(\.isOpen) }

    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionRequester,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt {
        let attempt = Attempt(key, pool, owner, completion)
        attempts.append(attempt)
        return attempt
    }
}

/// A load that uses a place of its connection and records its events.
final class FakeWaiter: ConnectionRequester {
    let name: Int
    private(set) var connection: FakeConnection?
    private(set) var error: LoadError?
    /// The waits in the queue that the load was notified of.
    private(set) var waits: [QueueWait] = []
    private(set) var isQueued = false
    private let served: (FakeWaiter) -> Void
    var isRepeatable = true

    init(_ name: Int = 0, served: @escaping (FakeWaiter) -> Void = { _ in }) {
        self.name = name
        self.served = served
    }

    func use(_ connection: any PooledConnection) {
        guard let fake = connection as? FakeConnection else { return }
        fake.take()
        self.connection = fake
        served(self)
    }

    func connectionFailed(_ error: LoadError) { self.error = error }
    func didQueue(_ wait: QueueWait) {
        waits.append(wait)
        isQueued = true
    }

    func didLeaveQueue() { isQueued = false }
    func didReach(_ step: LoadStep) {}
    func ask(_ challenge: AuthenticationChallenge) { challenge.answer(.performDefault) }
    func withdraw(_ challenge: AuthenticationChallenge) {}

    func finish() {
        let connection = connection
        self.connection = nil
        connection?.release()
    }
}

/// A pool on a loop whose time the test advances.
struct PoolFixture {
    let loop = InMemoryEventLoop()
    let connector = FakeConnector()
    let limiter: ConnectionLimiter
    let pool: ConnectionPool

    init(limits: (inout ConnectionLimits) -> Void = { _ in }) {
        var value = ConnectionLimits()
        limits(&value)
        limiter = ConnectionLimiter(value.total)
        pool = ConnectionPool(on: loop, limits: value, limiter: limiter, connector: connector, askOthers: {})
    }

    static func key(_ host: String = "example.org", isSecure: Bool = false) -> ConnectionKey {
        ConnectionKey(isSecure: isSecure, host: host, port: isSecure ? 443 : 80, proxy: nil)
    }
}

/// A stream that carries nothing.
private final class NoCarrier: HTTPStream {
    let isReused = false
    let report = TransferReport(networkProtocol: "none")
    var transport: (any ByteConnection)? { nil }

    func start() {}
    func resumeReading() {}
    func cancel() {}
}
