// SPDX-License-Identifier: Apache-2.0

/// What a loop's poller tells of events. In the turns of the loop only.
protocol PolledSocket: AnyObject {
    /// By which the poller names it: ``SocketEventLoop/add(_:)``.
    var mark: UInt64 { get }
    func handle(_ happened: SocketPoller.Interest)
}
