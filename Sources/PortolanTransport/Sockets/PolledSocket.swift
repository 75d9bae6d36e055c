// SPDX-License-Identifier: Apache-2.0

/// A socket that receives events from the poller of an event loop. Use it on that event loop only.
protocol PolledSocket: AnyObject {
    /// Identifies the socket for the poller: ``SocketEventLoop/add(_:)``.
    var mark: UInt64 { get }
    func handle(_ happened: SocketPoller.Interest)
}
