// SPDX-License-Identifier: Apache-2.0

/// Where a delegate is called.
public struct DeliveryQueue: Sendable {
    /// Runs jobs one after another, in order. `nil`: on the load's own threads, without a copy of the bytes.
    let enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// A queue that the caller provides.
    ///
    /// - Parameter enqueue: runs each closure later, in order, one at a time: `{ queue.async(execute: $0) }`.
    public init(_ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.enqueue = enqueue
    }

    private init() {
        enqueue = nil
    }

    /// Calls the delegate on the thread where the event happens. The fastest queue: bytes are borrowed.
    ///
    /// A delegate that blocks there delays its own load, and possibly others: on the thread of an event loop, all loads
    /// of that loop. Waiting there for another load fails with ``LoadError/Code/noResources``
    /// (``Loader/waitForData(for:delegate:)``).
    public static let immediate = DeliveryQueue()

    /// Calls the delegate on Portolan's own threads, never on those of event loops. A delegate or completion handler
    /// may block there, also for other loads.
    ///
    /// 8 threads, and more while all of them are blocked, up to 512. Calls for one load are serial and in order. Calls
    /// for different loads are neither.
    public static let background = DeliveryQueue { DeliveryThreads.shared.run($0) }
}
