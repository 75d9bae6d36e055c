// SPDX-License-Identifier: Apache-2.0

/// Where a delegate is called.
public struct DeliveryQueue: Sendable {
    /// Starts a job on the queue. `nil` if the delegate is called on the load's own threads, without a copy of the
    /// bytes.
    package let enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// Makes a queue from the caller's own queue or executor.
    ///
    /// - Parameter enqueue: runs each closure later, in order, one at a time, as in `{ queue.async(execute: $0) }`.
    public init(_ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.enqueue = enqueue
    }

    private init() {
        enqueue = nil
    }

    /// Calls the delegate on the thread where the event occurs. The fastest queue, because bytes are not copied.
    ///
    /// A delegate that blocks such a thread delays its own load. If the thread belongs to an event loop, it delays all
    /// loads of that loop. There, a delegate cannot wait for another load: ``Loader/waitForData(for:delegate:)`` fails
    /// with ``LoadError/Code/noResources``.
    public static let immediate = DeliveryQueue()

    /// Calls the delegate on threads of a pool, never on the thread of an event loop. A delegate or completion handler
    /// may block such a thread, for example to wait for other loads.
    ///
    /// The pool has 8 threads. While all of them are blocked, it starts more, up to 512. Calls for one load are serial
    /// and in order. Calls for different loads can be concurrent.
    public static let background = DeliveryQueue { DeliveryThreads.shared.run($0) }
}
