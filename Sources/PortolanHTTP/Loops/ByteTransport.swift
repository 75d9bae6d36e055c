// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// The bytes of a connection, both ways. In the turns of its loop only.
protocol ByteTransport: AnyObject {
    var loop: any SerialLoop { get }
    /// Whether more would leave soon: a body is sent while it is.
    var isWritable: Bool { get }
    /// Whether the receiver is told of the end as soon as it comes.
    var isWatched: Bool { get }
    /// Whether the peer has not ended it, nor said anything, as far as can be seen without waiting.
    var isAlive: Bool { get }
    /// Keeps `bytes` for ``flush()``.
    func write(_ bytes: ByteBuffer)
    func flush()
    /// Both in one.
    func send(_ bytes: ByteBuffer)
    /// Reads no more until ``resume()``. What is being lent just now may be followed by more that was read with it.
    func pause()
    func resume()
    /// Nothing is read or written any more. The receiver hears of the end later, not inside this call.
    func close()
}

/// What a transport reports to.
protocol ByteReceiver: AnyObject {
    /// Whether nothing is expected of the peer.
    var isIdle: Bool { get }
    func didReceive(_ bytes: borrowing RawSpan)
    func transportIsWritable()
    /// The transport has ended, by the peer's wish or ours. Once, at last.
    func transportDidEnd(_ failure: (any Error)?)
}
