// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import PortolanCore

extension DeliveryQueue {
    /// Delivers on a dispatch queue.
    ///
    /// - Parameter queue: a serial queue. On a concurrent queue, the calls of a delegate could overtake each other.
    public init(_ queue: DispatchQueue) {
        self.init { job in queue.async(execute: job) }
    }
}
