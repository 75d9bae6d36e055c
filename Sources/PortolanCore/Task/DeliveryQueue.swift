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

    /// On whatever thread the event happens: the fastest, and bytes are lent. A delegate that blocks holds up its own load, and possibly others.
    public static let immediate = DeliveryQueue()
}
