// SPDX-License-Identifier: Apache-2.0

/// Where a delegate is called.
public struct DeliveryQueue: Sendable {
    /// Runs jobs one after another, in order; `nil`: on the load's own threads, without a copy of the bytes.
    let enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// A queue of the caller's.
    ///
    /// - Parameter enqueue: runs what it is given later, in order, one at a time: `{ queue.async(execute: $0) }`.
    public init(_ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.enqueue = enqueue
    }

    private init() {
        enqueue = nil
    }

    /// On whatever thread the event happens: the fastest, and bytes are lent.
    ///
    /// A delegate that blocks there holds up its own load, and possibly others: on the thread of an event loop, all loads of the loop. To
    /// wait there for another load fails with ``LoadError/Code/noResources`` (``Loader/waitForData(for:delegate:)``).
    public static let immediate = DeliveryQueue()

    /// On threads of Portolan's own, never those of event loops: a delegate or completion handler may block there, for other loads, too.
    ///
    /// 8 threads, and more while all of them are blocked, up to 512. Calls for one load are serial and in order; those for different loads
    /// are neither.
    public static let background = DeliveryQueue { DeliveryThreads.shared.run($0) }
}
