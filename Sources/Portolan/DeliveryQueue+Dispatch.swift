// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import PortolanCore

extension DeliveryQueue {
    /// A serial dispatch queue.
    ///
    /// - Parameter queue: must be serial: on a concurrent one a delegate's calls would overtake each other.
    public init(_ queue: DispatchQueue) {
        self.init { job in queue.async(execute: job) }
    }
}
