// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// The connections of one event loop, and the loads that wait for one. On the event loop only, so it needs no lock.
///
/// All connections of an origin are in one pool. So its limits hold exactly, and no load moves between threads.
final class ConnectionPool {
    let loop: any EventLoop
    private let limits: ConnectionLimits
    private let limiter: ConnectionLimiter
    private let connector: any Connector
    private var origins: [ConnectionKey: Origin] = [:]
    private var sweep: ScheduledTimer?
    /// The number of the next load that waits.
    private var nextNumber = 0
    /// Asks the other event loops to close an unused connection, because one is needed here.
    private let askOthers: @Sendable () -> Void

    init(
        on loop: any EventLoop, limits: ConnectionLimits, limiter: ConnectionLimiter, connector: any Connector,
        askOthers: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.limits = limits
        self.limiter = limiter
        self.connector = connector
        self.askOthers = askOthers
    }

    /// Identifies a load that waits.
    struct Ticket {
        let key: ConnectionKey
        let number: Int
    }

    /// One origin's connections.
    private final class Origin {
        /// Connections with room. The one that was used last is at the end.
        var ready: [any PooledConnection] = []
        /// Number of connections that are open or being opened, without the retired ones.
        var connectionCount = 0
        /// Number of those among them that serve only one load.
        var personalCount = 0
        /// Connections that accept no more exchanges and are not closed yet.
        var retired: Set<ObjectIdentifier> = []
        var attempts: [(attempt: any ConnectionAttempt, firstNumberAfter: Int)] = []
        var waiting = RequestQueue()
        /// Whether one connection carries many loads here; `nil` until that is known.
        var isMultiplexed: Bool?
        var waitsForBudget = false
        let queueReason = QueueReason()

        var isUnused: Bool { connectionCount == 0 && retired.isEmpty && attempts.isEmpty && waiting.isEmpty }
    }

    private func origin(_ key: ConnectionKey) -> Origin {
        if let origin = origins[key] { return origin }
        let origin = Origin()
        origins[key] = origin
        return origin
    }

    // MARK: Loads

    /// Gives `waiter` a connection, now or later.
    ///
    /// - Parameter isAhead: whether it goes before others of its priority.
    /// - Returns: the ticket of the load, if it waits.
    func acquire(
        _ key: ConnectionKey, for waiter: any ConnectionRequester, priority: LoadPriority, isAhead: Bool = false
    ) -> Ticket? {
        let origin = origin(key)
        if origin.waiting.isEmpty, let connection = takeReady(origin, for: waiter) {
            waiter.use(connection)
            return nil
        }
        let number = nextNumber
        nextNumber += 1
        origin.waiting.append(waiter, at: RequestQueue.Rank(priority: priority, isAhead: isAhead), number: number)
        if origin.connectionCount == origin.attempts.count {
            connectWhereNeeded(key, origin)
        } else {
            // A connection may become free in this event-loop iteration, for example after the short body of a
            // redirect.
            let call = PoolCall(self) { pool in
                if let origin = pool.origins[key] { pool.connectWhereNeeded(key, origin) }
            }
            call()
        }
        return Ticket(key: key, number: number)
    }

    /// Removes a load that waits and is over.
    func cancel(_ ticket: Ticket) {
        guard let origin = origins[ticket.key], origin.waiting.remove(number: ticket.number) else { return }
        if origin.attempts.count > origin.waiting.count, let last = origin.attempts.last { last.attempt.cancel() }
        forget(ticket.key, origin)
    }

    /// Returns a connection with room. A multiplexed one stays in `ready` while it has more room.
    private func takeReady(_ origin: Origin, for waiter: any ConnectionRequester) -> (any PooledConnection)? {
        while let connection = origin.ready.last {
            let room = connection.room
            if room <= 1 { origin.ready.removeLast() }
            if room > 0, waiter.isRepeatable || connection.isAlive { return connection }
            // The peer has ended it, and no event has reported that yet. A connection that is not closed must not be
            // found again here. It returns when it next has room.
            if room > 1 { origin.ready.removeLast() }
            if connection.idleSince != nil { connection.close() }
        }
        return nil
    }

    private func serveWaiting(_ key: ConnectionKey, _ origin: Origin) {
        while let first = origin.waiting.first, let connection = takeReady(origin, for: first) {
            guard let waiter = origin.waiting.popFirst() else { break }
            waiter.use(connection)
        }
        connectWhereNeeded(key, origin)
    }

    // MARK: New connections

    private func connectWhereNeeded(_ key: ConnectionKey, _ origin: Origin) {
        openConnections(key, origin)
        origin.queueReason.current = queueReason(key, origin)
        while let waiter = origin.waiting.takeLeaving(attempts: origin.attempts.count) { waiter.didLeaveQueue() }
        while let waiter = origin.waiting.takeQueued(attempts: origin.attempts.count) {
            waiter.didQueue(QueueWait(for: key, because: origin.queueReason, within: limits))
        }
    }

    private func queueReason(_ key: ConnectionKey, _ origin: Origin) -> QueueReason.Value {
        let mayBeMultiplexed = connector.offersMultiplexing(for: key) && origin.isMultiplexed != false
        guard mayBeMultiplexed, !origin.waitsForBudget, origin.connectionCount < max(1, limits.perHost) || origin.personalCount == 0 else {
            return .connections
        }
        if !origin.attempts.isEmpty { return .sharedConnection }
        return origin.isMultiplexed == true ? .streams : .connections
    }

    private func openConnections(_ key: ConnectionKey, _ origin: Origin) {
        // Until it is known whether one connection is enough for all loads, only one is opened.
        let most = connector.offersMultiplexing(for: key) && origin.isMultiplexed != false ? 1 : limits.perHost
        while origin.attempts.count < origin.waiting.count, origin.connectionCount - origin.personalCount < max(1, most),
            origin.connectionCount < max(1, limits.perHost), !origin.waitsForBudget
        {
            guard takeBudget(key, origin) else { return }
            connect(key, origin)
        }
    }

    private func takeBudget(_ key: ConnectionKey, _ origin: Origin) -> Bool {
        let tryAgain = PoolCall(self) { pool in
            if let origin = pool.origins[key] {
                origin.waitsForBudget = false
                pool.connectWhereNeeded(key, origin)
            }
            pool.limiter.wakeNext()
        }
        if limiter.take(orCall: tryAgain.callAsFunction) { return true }
        origin.waitsForBudget = true
        if !closeOneIdle() { askOthers() }
        return false
    }

    private func connect(_ key: ConnectionKey, _ origin: Origin) {
        guard let owner = origin.waiting.first else { return limiter.giveBack() }
        origin.connectionCount += 1
        let number = nextNumber
        var attempt: (any ConnectionAttempt)?
        let made = connector.connect(to: key, in: self, for: owner) { [self, weak owner] result in
            let isOwnersOnly = attempt?.failsOwnerOnly ?? false
            origin.attempts.removeAll { $0.attempt === attempt }
            attempt = nil
            switch result {
            case .success(let connection): attemptSucceeded(key, origin, connection, owner)
            case .failure(let error) where isOwnersOnly: attemptRefused(key, origin, error, owner)
            case .failure(let error): attemptFailed(key, origin, error, before: number)
            }
        }
        attempt = made
        origin.attempts.append((made, number))
        made.start()
    }

    private func attemptSucceeded(
        _ key: ConnectionKey, _ origin: Origin, _ connection: any PooledConnection, _ owner: (any ConnectionRequester)?
    ) {
        origin.isMultiplexed = connection.isMultiplexed
        if connection.trust?.isPersonal ?? false {
            // It uses the certificate of one load, and carries no other load.
            origin.personalCount += 1
            guard let owner, origin.waiting.remove(owner) else { return connection.close() }
            owner.use(connection)
        } else {
            let waiter = origin.waiting.popFirst()
            if connection.isMultiplexed || waiter == nil { origin.ready.append(connection) }
            // The load uses it even if it has no room. Otherwise a server that ends each connection at once would make
            // the pool open connections without end. A load counts how often it is sent.
            waiter?.use(connection)
        }
        serveWaiting(key, origin)
        if limiter.isAwaited, connection.idleSince != nil { return connection.close() }
        scheduleSweep()
    }

    /// Fails the load that opened the connection, because it rejected this server. Other loads may accept the server.
    private func attemptRefused(_ key: ConnectionKey, _ origin: Origin, _ error: LoadError, _ owner: (any ConnectionRequester)?) {
        origin.connectionCount -= 1
        limiter.giveBack()
        if let owner, origin.waiting.remove(owner) { owner.connectionFailed(error) }
        connectWhereNeeded(key, origin)
        forget(key, origin)
    }

    /// Fails the loads that waited when the attempt began. Loads that came later get another attempt.
    private func attemptFailed(_ key: ConnectionKey, _ origin: Origin, _ error: LoadError, before number: Int) {
        origin.connectionCount -= 1
        limiter.giveBack()
        if error.code != .cancelled {
            for waiter in origin.waiting.take(before: number) { waiter.connectionFailed(error) }
        }
        connectWhereNeeded(key, origin)
        forget(key, origin)
    }

    private func forget(_ key: ConnectionKey, _ origin: Origin) {
        if origin.isUnused { origins[key] = nil }
    }

    // MARK: From the connections

    /// The connection has room for an exchange, or for one more.
    func hasRoom(_ connection: any PooledConnection, _ key: ConnectionKey) {
        guard let origin = origins[key] else { return }
        guard !(connection.trust?.isPersonal ?? false) else {
            if connection.idleSince != nil { connection.close() }
            return
        }
        if !connection.isMultiplexed || !origin.ready.contains(where: { $0 === connection }) { origin.ready.append(connection) }
        if !origin.waiting.isEmpty { serveWaiting(key, origin) }
        if limiter.isAwaited, connection.idleSince != nil { return connection.close() }
        scheduleSweep()
    }

    /// The connection accepts no more exchanges. Its current exchanges continue.
    func retire(_ connection: any PooledConnection, _ key: ConnectionKey) {
        guard let origin = origins[key], origin.retired.insert(ObjectIdentifier(connection)).inserted else { return }
        origin.ready.removeAll { $0 === connection }
        leave(connection, origin)
        connectWhereNeeded(key, origin)
    }

    private func leave(_ connection: any PooledConnection, _ origin: Origin) {
        origin.connectionCount -= 1
        if connection.trust?.isPersonal ?? false { origin.personalCount -= 1 }
    }

    /// The connection is closed. Called once for each connection.
    func didClose(_ connection: any PooledConnection, _ key: ConnectionKey) {
        limiter.giveBack()
        guard let origin = origins[key] else { return }
        origin.ready.removeAll { $0 === connection }
        if origin.retired.remove(ObjectIdentifier(connection)) == nil { leave(connection, origin) }
        connectWhereNeeded(key, origin)
        if origin.isUnused { origins[key] = nil }
    }

    // MARK: Unused ones

    private func scheduleSweep() {
        guard sweep == nil else { return }
        let call = PoolCall(self) { $0.sweepIdle() }
        sweep = loop.schedule(after: max(.milliseconds(10), min(.seconds(5), limits.idleTimeout))) { call.run() }
    }

    private func sweepIdle() {
        sweep = nil
        let now = loop.now
        let limit = limits.idleTimeout.wholeNanoseconds
        var isAnyLeft = false
        for origin in origins.values {
            for connection in origin.ready {
                guard let since = connection.idleSince else { continue }
                if now - min(since, now) >= limit || connection.room == 0 {
                    connection.close()
                } else {
                    isAnyLeft = true
                }
            }
        }
        if isAnyLeft { scheduleSweep() }
    }

    /// Closes the connection that has been unused for the longest time.
    ///
    /// - Returns: `false` if there is none.
    @discardableResult
    func closeOneIdle() -> Bool {
        let idle = origins.values.flatMap(\.ready).compactMap { connection in connection.idleSince.map { (connection, $0) } }
        guard let oldest = idle.min(by: { $0.1 < $1.1 }) else { return false }
        oldest.0.close()
        return true
    }

    /// Closes the unused connections of one origin.
    func closeIdle(_ key: ConnectionKey) {
        for connection in origins[key]?.ready ?? [] where connection.idleSince != nil { connection.close() }
    }

    /// Closes all unused connections. Connections that carry a load stay open.
    func closeIdle() {
        for connection in origins.values.flatMap(\.ready) where connection.idleSince != nil { connection.close() }
    }
}

/// A call into a pool from any thread. The call does not keep the pool alive.
private final class PoolCall: @unchecked Sendable {  // … because the pool is used on its event loop only
    private weak var pool: ConnectionPool?
    private let loop: any EventLoop
    private let body: (ConnectionPool) -> Void

    init(_ pool: ConnectionPool, _ body: @escaping (ConnectionPool) -> Void) {
        self.pool = pool
        loop = pool.loop
        self.body = body
    }

    @Sendable func callAsFunction() { loop.execute { self.run() } }

    /// On the event loop.
    func run() {
        if let pool { body(pool) }
    }
}

/// Opens connections for a pool, which does not know the details.
protocol Connector: AnyObject {
    /// Whether a connection may turn out to carry several loads at once.
    func offersMultiplexing(for key: ConnectionKey) -> Bool
    /// - Parameters:
    ///   - owner: receives the progress and the server-trust challenge. It may be released before that.
    ///   - completion: called once, on the pool's event loop, after `start`.
    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionRequester,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt
}

/// A connection that is being opened. On the pool's event loop.
protocol ConnectionAttempt: AnyObject {
    func start()
    /// Completes with ``LoadError/Code/cancelled``, and closes what was opened.
    func cancel()
    /// Whether it failed because of an answer of the load that it was made for. This says nothing about other loads.
    var failsOwnerOnly: Bool { get }
}
