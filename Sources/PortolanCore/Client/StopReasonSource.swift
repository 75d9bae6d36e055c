// SPDX-License-Identifier: Apache-2.0

/// A client that knows why its load is being stopped.
package protocol StopReasonSource: ProtocolClient {
    /// `nil` if it does not know.
    var stopReason: LoadError? { get }
}

extension StopReasonSource where Self: ForwardingClient {
    var stopReason: LoadError? { (next as? any StopReasonSource)?.stopReason }
}
