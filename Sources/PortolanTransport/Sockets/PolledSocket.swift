// SPDX-License-Identifier: Apache-2.0

/// A socket that receives events from the poller of an event loop. Use it on that event loop only.
protocol PolledSocket: AnyObject {
    /// Identifies the socket for the poller. The result of ``SocketEventLoop/add(_:)``.
    var pollID: UInt64 { get }
    func handle(_ events: SocketPoller.Interest)
}
