// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Loads that wait for a connection. Higher priority goes first, then loads that were passed over before, then first
/// come, first served.
struct RequestQueue {
    /// The order of the loads.
    struct Rank: Comparable {
        let priority: LoadPriority
        /// Whether it goes before others of its priority.
        var isAhead = false

        static func < (a: Rank, b: Rank) -> Bool { a.priority == b.priority ? !a.isAhead && b.isAhead : a.priority < b.priority }
    }

    /// By rank, the highest first.
    private var queues: [(rank: Rank, waiters: Queue)] = []
    private(set) var count = 0
    /// How many loads have not been notified that no connection is being opened for them.
    private var hopefulCount: Int { queues.reduce(0) { $0 + $1.waiters.hopeful.count } }

    var isEmpty: Bool { count == 0 }

    /// - Parameter number: identifies the load for its removal. Larger than all earlier numbers.
    mutating func append(_ waiter: any ConnectionRequester, at rank: Rank, number: Int) {
        count += 1
        let index = queues.firstIndex { $0.rank <= rank } ?? queues.count
        if index == queues.count || queues[index].rank != rank { queues.insert((rank, Queue()), at: index) }
        queues[index].waiters.append(waiter, number: number)
    }

    mutating func popFirst() -> (any ConnectionRequester)? {
        for index in queues.indices {
            if let waiter = queues[index].waiters.popFirst() {
                count -= 1
                return waiter
            }
        }
        return nil
    }

    var first: (any ConnectionRequester)? {
        for queue in queues {
            if let first = queue.waiters.first { return first }
        }
        return nil
    }

    /// - Complexity: logarithmic in the number of loads that wait.
    mutating func remove(number: Int) -> Bool {
        for index in queues.indices where queues[index].waiters.remove(number: number) {
            count -= 1
            return true
        }
        return false
    }

    /// - Complexity: linear in the number of loads that wait.
    mutating func remove(_ waiter: any ConnectionRequester) -> Bool {
        for index in queues.indices {
            if let number = queues[index].waiters.number(of: waiter) { return remove(number: number) }
        }
        return false
    }

    /// Removes the loads that came before `number`.
    mutating func take(before number: Int) -> [any ConnectionRequester] {
        let taken = queues.indices.flatMap { queues[$0].waiters.take(before: number) }
        count -= taken.count
        return taken
    }

    /// Assigns each attempt to open a connection to one load. Returns the next load without an attempt, the last in
    /// line first. That load then only waits for a connection to become free.
    mutating func takeQueued(attempts: Int) -> (any ConnectionRequester)? {
        guard hopefulCount > attempts else { return nil }
        for index in queues.indices.reversed() {
            if let waiter = queues[index].waiters.takeLastHopeful() { return waiter }
        }
        return nil
    }

    /// The reverse of ``takeQueued(attempts:)``. If there are more attempts than such loads, returns the first load in
    /// line that only waited for a connection to become free. A connection is being opened for it now.
    mutating func takeLeaving(attempts: Int) -> (any ConnectionRequester)? {
        guard hopefulCount < min(attempts, count) else { return nil }
        for index in queues.indices {
            if let waiter = queues[index].waiters.giveHopeToFirst() { return waiter }
        }
        return nil
    }

    /// First in, first out, with holes where loads have left.
    private struct Queue {
        private var entries: [(number: Int, waiter: (any ConnectionRequester)?)] = []
        private var start = 0
        /// Number of entries that are not holes.
        private var count = 0
        /// The numbers of the loads that have not been notified that no connection is being opened for them.
        private(set) var hopeful: Set<Int> = []

        mutating func append(_ waiter: any ConnectionRequester, number: Int) {
            entries.append((number, waiter))
            hopeful.insert(number)
            count += 1
        }

        var first: (any ConnectionRequester)? {
            for entry in entries[start...] {
                if let waiter = entry.waiter { return waiter }
            }
            return nil
        }

        mutating func takeLastHopeful() -> (any ConnectionRequester)? {
            guard let number = hopeful.max(), let index = index(of: number) else { return nil }
            hopeful.remove(number)
            return entries[index].waiter
        }

        /// - Returns: the first load without an attempt.
        mutating func giveHopeToFirst() -> (any ConnectionRequester)? {
            guard hopeful.count < count else { return nil }
            for (number, waiter) in entries[start...] where !hopeful.contains(number) {
                guard let waiter else { continue }
                hopeful.insert(number)
                return waiter
            }
            return nil
        }

        mutating func popFirst() -> (any ConnectionRequester)? {
            while start < entries.count {
                let (number, waiter) = entries[start]
                entries[start].waiter = nil
                start += 1
                if start > 64, start * 2 > entries.count {
                    entries.removeFirst(start)
                    start = 0
                }
                if let waiter {
                    count -= 1
                    hopeful.remove(number)
                    return waiter
                }
            }
            return nil
        }

        func number(of waiter: any ConnectionRequester) -> Int? {
            entries[start...].first { $0.waiter === waiter }?.number
        }

        private func index(of number: Int) -> Int? {
            var (low, high) = (start, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].number < number { low = middle + 1 } else { high = middle }
            }
            return low < entries.count && entries[low].number == number ? low : nil
        }

        mutating func remove(number: Int) -> Bool {
            guard let index = index(of: number), entries[index].waiter != nil else { return false }
            entries[index].waiter = nil
            hopeful.remove(number)
            count -= 1
            if count == 0 { (entries, start) = ([], 0) }
            return true
        }

        mutating func take(before number: Int) -> [any ConnectionRequester] {
            var taken: [any ConnectionRequester] = []
            while start < entries.count, entries[start].number < number {
                if let waiter = entries[start].waiter { taken.append(waiter) }
                start += 1
            }
            entries.removeFirst(start)
            start = 0
            count -= taken.count
            hopeful = hopeful.filter { $0 >= number }
            return taken
        }
    }
}

/// A load that waits for a connection. On the pool's event loop.
///
/// Code that opens the connection may send it challenges: for a proxy's authentication, for server trust, and for the
/// client certificate.
protocol ConnectionRequester: ChallengeHandler {
    /// The connection accepts an exchange now. The load must take the room (``PooledConnection/makeStream(for:)``)
    /// before this returns.
    func use(_ connection: any PooledConnection)
    /// Whether the request can be sent again if the connection turns out to have ended.
    var isRepeatable: Bool { get }
    func connectionFailed(_ error: LoadError)
    /// No connection is being opened for the load, and it waits for one to become free. This lasts until
    /// ``didLeaveQueue()``, ``use(_:)`` or ``connectionFailed(_:)``.
    func didQueue(_ wait: QueueWait)
    /// A connection is being opened for it after all.
    func didLeaveQueue()
    /// The progress of the connection that is being opened for this load.
    func didReach(_ step: LoadStep)
}

/// A connection to which the pool can give exchanges. On its event loop only.
protocol PooledConnection: AnyObject {
    /// How many exchanges it can take now.
    var room: Int { get }
    /// Whether the peer has not ended it. Checked anew, for loads that can't be sent again.
    var isAlive: Bool { get }
    /// Makes the carrier of `transaction`. It takes the room from now on, and must be started.
    func makeStream(for transaction: any HTTPTransaction) -> any HTTPStream
    /// Whether it can carry several exchanges at once.
    var isMultiplexed: Bool { get }
    /// The server at the other end; `nil` if the connection is not secure.
    var trust: ServerTrust? { get }
    /// Closes it at once. Its exchanges fail.
    func close()
    /// When it became idle, in nanoseconds of the loop's clock; `nil` while it carries an exchange.
    var idleSince: UInt64? { get }
}
