// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// The connections of one event loop, and the loads that wait for a connection. Use it on its event loop only.
///
/// All connections of an origin are in one pool, so the limit per origin needs no locks.
final class ConnectionPool {
    let loop: any EventLoop
    private let limits: ConnectionLimits
    private let limiter: ConnectionLimiter
    private let connector: any Connector
    private var origins: [ConnectionKey: Origin] = [:]
    private var sweepTimer: ScheduledTimer?
    /// The number that the next load in a queue gets. Numbers increase over all queues.
    private var nextNumber = 0
    /// Closes an idle connection of each other event loop, because this pool needs a slot of the limiter.
    private let closeIdleConnectionElsewhere: @Sendable () -> Void

    init(
        on loop: any EventLoop, limits: ConnectionLimits, limiter: ConnectionLimiter, connector: any Connector,
        closeIdleConnectionElsewhere: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.limits = limits
        self.limiter = limiter
        self.connector = connector
        self.closeIdleConnectionElsewhere = closeIdleConnectionElsewhere
    }

    /// Identifies a load in a queue.
    struct Ticket {
        let key: ConnectionKey
        let number: Int
    }

    /// The connections and the queue of one key: of an origin through one proxy, with one required version of HTTP.
    private final class Origin {
        /// Connections that accept a load. The last one was used most recently.
        var available: [any PooledConnection] = []
        /// The number of connections that are open or being opened, without the draining ones.
        var connectionCount = 0
        /// How many of these connections use the client certificate of one load, so that no other load can use them.
        var unsharedCount = 0
        /// Open connections that accept no more transactions.
        var draining: Set<ObjectIdentifier> = []
        var attempts: [any ConnectionAttempt] = []
        var queue = RequestQueue()
        /// Whether a connection carries several loads at the same time (HTTP/2); `nil` before the first connection.
        var isMultiplexed: Bool?
        var waitsForSlot = false
        let queueReason = QueueReason()

        var isUnused: Bool { connectionCount == 0 && draining.isEmpty && attempts.isEmpty && queue.isEmpty }
    }

    private func origin(_ key: ConnectionKey) -> Origin {
        if let origin = origins[key] { return origin }
        let origin = Origin()
        origins[key] = origin
        return origin
    }

    // MARK: Loads

    /// Gives `waiter` a connection, immediately or later.
    ///
    /// - Parameter goesFirstWithinPriority: whether the load goes before other loads of its priority.
    /// - Returns: a ticket to remove the load from the queue; `nil` if the load got a connection immediately.
    func acquire(
        _ key: ConnectionKey, for waiter: any ConnectionRequester, priority: LoadPriority, goesFirstWithinPriority: Bool = false
    ) -> Ticket? {
        let origin = origin(key)
        if origin.queue.isEmpty, let connection = acquireAvailableConnection(origin, for: waiter) {
            waiter.didAcquire(connection)
            return nil
        }
        let number = nextNumber
        nextNumber += 1
        origin.queue.append(
            waiter, at: RequestQueue.Rank(priority: priority, goesFirstWithinPriority: goesFirstWithinPriority), number: number)
        if origin.connectionCount == origin.attempts.count {
            connectWhereNeeded(key, origin)
        } else {
            // Open connections later, because one can become available in this event-loop iteration, for example after
            // the short body of a redirect.
            let call = PoolCall(self) { pool in
                if let origin = pool.origins[key] { pool.connectWhereNeeded(key, origin) }
            }
            call()
        }
        return Ticket(key: key, number: number)
    }

    /// Removes a load from the queue.
    func cancel(_ ticket: Ticket) {
        guard let origin = origins[ticket.key], origin.queue.remove(number: ticket.number) else { return }
        if origin.attempts.count > origin.queue.count, let last = origin.attempts.last { last.cancel() }
        removeIfUnused(ticket.key, origin)
    }

    /// Returns a connection that accepts a load. Removes it from `available` if it accepts no other load.
    private func acquireAvailableConnection(_ origin: Origin, for waiter: any ConnectionRequester) -> (any PooledConnection)? {
        while let connection = origin.available.last {
            let availableStreamCount = connection.availableStreamCount
            if availableStreamCount <= 1 { origin.available.removeLast() }
            if availableStreamCount > 0, waiter.isRepeatable || connection.isAlive { return connection }
            // The peer has closed the connection, but the poller has not reported that. Remove the connection, so that
            // this loop does not find it again.
            if availableStreamCount > 1 { origin.available.removeLast() }
            if connection.idleSince != nil { connection.close() }
        }
        return nil
    }

    private func serveQueue(_ key: ConnectionKey, _ origin: Origin) {
        while let first = origin.queue.first, let connection = acquireAvailableConnection(origin, for: first) {
            guard let waiter = origin.queue.popFirst() else { break }
            waiter.didAcquire(connection)
        }
        connectWhereNeeded(key, origin)
    }

    // MARK: New connections

    /// Opens connections for the loads in the queue. Notifies each load that now has an attempt, or no longer has one.
    private func connectWhereNeeded(_ key: ConnectionKey, _ origin: Origin) {
        openConnections(key, origin)
        origin.queueReason.current = queueReason(key, origin)
        while let waiter = origin.queue.assignNext(attempts: origin.attempts.count) { waiter.didLeaveQueue() }
        while let waiter = origin.queue.unassignExcess(attempts: origin.attempts.count) {
            waiter.didQueue(QueueWait(for: key, because: origin.queueReason, within: limits))
        }
    }

    private func queueReason(_ key: ConnectionKey, _ origin: Origin) -> QueueReason.Value {
        let mayBeMultiplexed = connector.offersMultiplexing(for: key) && origin.isMultiplexed != false
        guard mayBeMultiplexed, !origin.waitsForSlot, origin.connectionCount < max(1, limits.perHost) || origin.unsharedCount == 0 else {
            return .connections
        }
        if !origin.attempts.isEmpty { return .sharedConnection }
        return origin.isMultiplexed == true ? .streams : .connections
    }

    private func openConnections(_ key: ConnectionKey, _ origin: Origin) {
        // If the server can support HTTP/2, only one connection is opened, because it can carry all loads.
        let sharedLimit = connector.offersMultiplexing(for: key) && origin.isMultiplexed != false ? 1 : limits.perHost
        while origin.attempts.count < origin.queue.count, origin.connectionCount - origin.unsharedCount < max(1, sharedLimit),
            origin.connectionCount < max(1, limits.perHost), !origin.waitsForSlot
        {
            guard acquireConnectionSlot(key, origin) else { return }
            connect(key, origin)
        }
    }

    private func acquireConnectionSlot(_ key: ConnectionKey, _ origin: Origin) -> Bool {
        let retry = PoolCall(self) { pool in
            if let origin = pool.origins[key] {
                origin.waitsForSlot = false
                pool.connectWhereNeeded(key, origin)
            }
            pool.limiter.wakeNext()
        }
        if limiter.acquire(orNotify: retry.callAsFunction) { return true }
        origin.waitsForSlot = true
        if !closeOldestIdleConnection() { closeIdleConnectionElsewhere() }
        return false
    }

    private func connect(_ key: ConnectionKey, _ origin: Origin) {
        guard let owner = origin.queue.first else { return limiter.release() }
        origin.connectionCount += 1
        let number = nextNumber
        var attempt: (any ConnectionAttempt)?
        let newAttempt = connector.connect(to: key, in: self, for: owner) { [self, weak owner] result in
            let isRefusedByOwner = attempt?.isRefusedByOwner ?? false
            origin.attempts.removeAll { $0 === attempt }
            attempt = nil
            switch result {
            case .success(let connection): attemptSucceeded(key, origin, connection, owner)
            case .failure(let error) where isRefusedByOwner: attemptRefused(key, origin, error, owner)
            case .failure(let error): attemptFailed(key, origin, error, before: number)
            }
        }
        attempt = newAttempt
        origin.attempts.append(newAttempt)
        newAttempt.start()
    }

    private func attemptSucceeded(
        _ key: ConnectionKey, _ origin: Origin, _ connection: any PooledConnection, _ owner: (any ConnectionRequester)?
    ) {
        origin.isMultiplexed = connection.isMultiplexed
        if connection.trust?.usesClientCertificate ?? false {
            // The connection uses the client certificate of one load, and carries no other load.
            origin.unsharedCount += 1
            guard let owner, origin.queue.remove(owner) else { return connection.close() }
            owner.didAcquire(connection)
        } else {
            let waiter = origin.queue.popFirst()
            if connection.isMultiplexed || waiter == nil { origin.available.append(connection) }
            // The load gets the connection even if the connection accepts no streams. Otherwise, if a server ended each
            // connection immediately, the pool would open connections endlessly. A load limits its attempts.
            waiter?.didAcquire(connection)
        }
        serveQueue(key, origin)
        if limiter.hasWaiters, connection.idleSince != nil { return connection.close() }
        scheduleSweep()
    }

    /// Fails the load that opened the connection, because that load rejected the server. Other loads can accept the
    /// server.
    private func attemptRefused(_ key: ConnectionKey, _ origin: Origin, _ error: LoadError, _ owner: (any ConnectionRequester)?) {
        origin.connectionCount -= 1
        limiter.release()
        if let owner, origin.queue.remove(owner) { owner.connectionFailed(error) }
        connectWhereNeeded(key, origin)
        removeIfUnused(key, origin)
    }

    /// Fails all loads that were in the queue when the attempt began. Later loads get another attempt.
    private func attemptFailed(_ key: ConnectionKey, _ origin: Origin, _ error: LoadError, before number: Int) {
        origin.connectionCount -= 1
        limiter.release()
        if error.code != .cancelled {
            for waiter in origin.queue.removeAll(before: number) { waiter.connectionFailed(error) }
        }
        connectWhereNeeded(key, origin)
        removeIfUnused(key, origin)
    }

    private func removeIfUnused(_ key: ConnectionKey, _ origin: Origin) {
        if origin.isUnused { origins[key] = nil }
    }

    // MARK: From the connections

    /// Called when the connection can accept another transaction.
    func connectionBecameAvailable(_ connection: any PooledConnection, for key: ConnectionKey) {
        guard let origin = origins[key] else { return }
        guard !(connection.trust?.usesClientCertificate ?? false) else {
            if connection.idleSince != nil { connection.close() }
            return
        }
        if !connection.isMultiplexed || !origin.available.contains(where: { $0 === connection }) { origin.available.append(connection) }
        if !origin.queue.isEmpty { serveQueue(key, origin) }
        if limiter.hasWaiters, connection.idleSince != nil { return connection.close() }
        scheduleSweep()
    }

    /// Called when the connection accepts no more transactions. Its current transactions continue.
    func connectionStoppedAccepting(_ connection: any PooledConnection, for key: ConnectionKey) {
        guard let origin = origins[key], origin.draining.insert(ObjectIdentifier(connection)).inserted else { return }
        origin.available.removeAll { $0 === connection }
        removeFromCount(connection, origin)
        connectWhereNeeded(key, origin)
    }

    private func removeFromCount(_ connection: any PooledConnection, _ origin: Origin) {
        origin.connectionCount -= 1
        if connection.trust?.usesClientCertificate ?? false { origin.unsharedCount -= 1 }
    }

    /// Called once for each connection, when it is closed.
    func didClose(_ connection: any PooledConnection, _ key: ConnectionKey) {
        limiter.release()
        guard let origin = origins[key] else { return }
        origin.available.removeAll { $0 === connection }
        if origin.draining.remove(ObjectIdentifier(connection)) == nil { removeFromCount(connection, origin) }
        connectWhereNeeded(key, origin)
        if origin.isUnused { origins[key] = nil }
    }

    // MARK: Idle connections

    private func scheduleSweep() {
        guard sweepTimer == nil else { return }
        let call = PoolCall(self) { $0.sweepIdle() }
        sweepTimer = loop.schedule(after: max(.milliseconds(10), min(.seconds(5), limits.idleTimeout))) { call.run() }
    }

    private func sweepIdle() {
        sweepTimer = nil
        let now = loop.now
        let limit = limits.idleTimeout.wholeNanoseconds
        var hasIdleConnection = false
        for origin in origins.values {
            for connection in origin.available {
                guard let since = connection.idleSince else { continue }
                if now - min(since, now) >= limit || connection.availableStreamCount == 0 {
                    connection.close()
                } else {
                    hasIdleConnection = true
                }
            }
        }
        if hasIdleConnection { scheduleSweep() }
    }

    /// Closes the connection that has been idle for the longest time.
    ///
    /// - Returns: `false` if no connection is idle.
    @discardableResult
    func closeOldestIdleConnection() -> Bool {
        let idleConnections = origins.values.flatMap(\.available).compactMap { connection in
            connection.idleSince.map { (connection: connection, idleSince: $0) }
        }
        guard let oldest = idleConnections.min(by: { $0.idleSince < $1.idleSince }) else { return false }
        oldest.connection.close()
        return true
    }

    /// Closes the idle connections of one key.
    func closeIdleConnections(for key: ConnectionKey) {
        for connection in origins[key]?.available ?? [] where connection.idleSince != nil { connection.close() }
    }

    /// Closes all idle connections.
    func closeIdleConnections() {
        for connection in origins.values.flatMap(\.available) where connection.idleSince != nil { connection.close() }
    }
}

/// Calls a pool from any thread. Does not retain the pool.
private final class PoolCall: @unchecked Sendable {  // … because the pool is used on its event loop only
    private weak var pool: ConnectionPool?
    private let loop: any EventLoop
    private let operation: (ConnectionPool) -> Void

    init(_ pool: ConnectionPool, _ operation: @escaping (ConnectionPool) -> Void) {
        self.pool = pool
        loop = pool.loop
        self.operation = operation
    }

    @Sendable func callAsFunction() { loop.execute { self.run() } }

    /// Call it on the event loop.
    func run() {
        if let pool { operation(pool) }
    }
}

/// Opens connections for a pool.
protocol Connector: AnyObject {
    /// Whether a connection can turn out to be multiplexed (HTTP/2).
    func offersMultiplexing(for key: ConnectionKey) -> Bool
    /// - Parameters:
    ///   - owner: receives the progress and the challenges. It is not retained.
    ///   - completion: called once, on the pool's event loop, after `start`.
    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionRequester,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt
}

/// An attempt to open a connection. Use it on the pool's event loop only.
protocol ConnectionAttempt: AnyObject {
    func start()
    /// Completes with ``LoadError/Code/cancelled``, and closes everything that was opened.
    func cancel()
    /// Whether the attempt failed because of the owner's answer to a challenge. An attempt for another load can
    /// succeed.
    var isRefusedByOwner: Bool { get }
}
