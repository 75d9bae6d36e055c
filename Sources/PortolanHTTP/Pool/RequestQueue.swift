// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Loads that wait for a connection. They are sorted by priority. Loads of one priority are in the order of their
/// arrival, after the loads with ``Rank/goesFirstWithinPriority``.
///
/// Each attempt to open a connection belongs to one load. Loads without an attempt wait until a connection becomes
/// available, and their clients are notified of the wait.
struct RequestQueue {
    /// The order of the loads.
    struct Rank: Comparable {
        let priority: LoadPriority
        /// Whether the load goes before other loads of its priority.
        var goesFirstWithinPriority = false

        static func < (a: Rank, b: Rank) -> Bool {
            a.priority == b.priority ? !a.goesFirstWithinPriority && b.goesFirstWithinPriority : a.priority < b.priority
        }
    }

    /// Sorted by rank, the highest first.
    private var queues: [(rank: Rank, waiters: Queue)] = []
    private(set) var count = 0
    /// The number of loads with an attempt.
    private var assignedCount: Int { queues.reduce(0) { $0 + $1.waiters.assignedNumbers.count } }

    var isEmpty: Bool { count == 0 }

    /// - Parameter number: identifies the load. It must be larger than all earlier numbers.
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

    /// Removes all loads with a number below `number`.
    mutating func removeAll(before number: Int) -> [any ConnectionRequester] {
        let removed = queues.indices.flatMap { queues[$0].waiters.removeAll(before: number) }
        count -= removed.count
        return removed
    }

    /// If more loads have an attempt than there are attempts, removes the assignment of the last such load, and returns
    /// that load.
    mutating func unassignExcess(attempts: Int) -> (any ConnectionRequester)? {
        guard assignedCount > attempts else { return nil }
        for index in queues.indices.reversed() {
            if let waiter = queues[index].waiters.unassignLast() { return waiter }
        }
        return nil
    }

    /// If there are more attempts than loads with an attempt, assigns one to the first load without an attempt, and
    /// returns that load.
    mutating func assignNext(attempts: Int) -> (any ConnectionRequester)? {
        guard assignedCount < min(attempts, count) else { return nil }
        for index in queues.indices {
            if let waiter = queues[index].waiters.assignFirst() { return waiter }
        }
        return nil
    }

    /// The loads of one rank, in the order of their arrival. Removed loads leave an empty entry.
    private struct Queue {
        private var entries: [(number: Int, waiter: (any ConnectionRequester)?)] = []
        /// The index of the first entry that was not removed from the front.
        private var start = 0
        /// The number of entries with a load.
        private var count = 0
        /// The numbers of the loads with an attempt. A new load counts as one of them, until
        /// ``RequestQueue/unassignExcess(attempts:)`` finds too few attempts.
        private(set) var assignedNumbers: Set<Int> = []

        mutating func append(_ waiter: any ConnectionRequester, number: Int) {
            entries.append((number, waiter))
            assignedNumbers.insert(number)
            count += 1
        }

        var first: (any ConnectionRequester)? {
            for entry in entries[start...] {
                if let waiter = entry.waiter { return waiter }
            }
            return nil
        }

        mutating func unassignLast() -> (any ConnectionRequester)? {
            guard let number = assignedNumbers.max(), let index = index(of: number) else { return nil }
            assignedNumbers.remove(number)
            return entries[index].waiter
        }

        /// - Returns: the first load without an attempt.
        mutating func assignFirst() -> (any ConnectionRequester)? {
            guard assignedNumbers.count < count else { return nil }
            for (number, waiter) in entries[start...] where !assignedNumbers.contains(number) {
                guard let waiter else { continue }
                assignedNumbers.insert(number)
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
                    assignedNumbers.remove(number)
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
            assignedNumbers.remove(number)
            count -= 1
            if count == 0 { (entries, start) = ([], 0) }
            return true
        }

        mutating func removeAll(before number: Int) -> [any ConnectionRequester] {
            var removed: [any ConnectionRequester] = []
            while start < entries.count, entries[start].number < number {
                if let waiter = entries[start].waiter { removed.append(waiter) }
                start += 1
            }
            entries.removeFirst(start)
            start = 0
            count -= removed.count
            assignedNumbers = assignedNumbers.filter { $0 >= number }
            return removed
        }
    }
}

/// A load that waits for a connection. Called on the pool's event loop.
///
/// While a connection is being opened for the load, the load can receive challenges: for server trust, and for a client
/// certificate.
protocol ConnectionRequester: ChallengeHandler {
    /// The load has acquired the connection. It must call ``PooledConnection/beginTransaction(_:)`` inside this call.
    func didAcquire(_ connection: any PooledConnection)
    /// Whether the request can be sent again if the server has already closed the connection.
    var isRepeatable: Bool { get }
    func connectionFailed(_ error: LoadError)
    /// The load waits until a connection becomes available, because none is being opened for the load. The wait ends
    /// with ``didLeaveQueue()``, ``didAcquire(_:)`` or ``connectionFailed(_:)``.
    func didQueue(_ wait: QueueWait)
    /// A connection is now being opened for the load.
    func didLeaveQueue()
    /// The progress of the connection that is being opened for this load.
    func didReach(_ step: LoadStep)
}

/// A connection of a pool. Use it on its event loop only.
protocol PooledConnection: AnyObject {
    /// How many more transactions the connection accepts now.
    var availableStreamCount: Int { get }
    /// Whether the peer has not closed the connection. Checks the socket, for requests that can't be sent again.
    var isAlive: Bool { get }
    /// Assigns a stream to `transaction`. The caller must call ``HTTPStream/sendRequest()``.
    func beginTransaction(_ transaction: any HTTPTransaction) -> any HTTPStream
    /// Whether the connection can carry several transactions at the same time.
    var isMultiplexed: Bool { get }
    /// The evaluation of the server's certificate. `nil` without TLS.
    var trust: ServerTrust? { get }
    /// Closes the connection immediately. Its transactions fail.
    func close()
    /// When the connection became idle, in nanoseconds of the loop's clock; `nil` while it carries a transaction.
    var idleSince: UInt64? { get }
}
