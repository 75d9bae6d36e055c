// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// A byte connection. The receiver borrows what is read for the length of a call; what is written waits until the peer takes it. In the turns of
/// its loop only.
package protocol ByteConnection: AnyObject {
    var loop: any EventLoop { get }
    /// Whether more would leave soon: a body is sent while it is.
    var isWritable: Bool { get }
    /// Whether the receiver is told of the end as soon as it comes.
    var isWatched: Bool { get }
    /// Whether the peer has not ended it, nor said anything, as far as can be seen without waiting.
    var isAlive: Bool { get }
    /// Sends as much as the socket takes now, after all that was written before, and keeps a copy of the rest.
    ///
    /// - Parameter hasMore: whether more is written at once: small pieces then leave together with that.
    func write(_ bytes: borrowing RawSpan, hasMore: Bool)
    /// Sends no more, after everything that was written (half-close). What the peer sends is still received, to its end.
    ///
    /// With TLS a close_notify goes before it (RFC 8446 §6.1).
    func finishWriting()
    /// Has the kernel send bytes of a file, after all that was written (`sendfile(2)`).
    func write(file: CInt, from offset: Int64, atMost count: Int) -> FileTransfer
    /// The thread that has the turn is going to ``carryOn(for:while:)``.
    func promiseCarrier()
    /// Does in this thread what the loop would do for the transport, and sleeps in between. In a turn, which it gives away meanwhile.
    ///
    /// - Parameter isNeeded: asked in a turn: whether the waiter's load still waits for this transport.
    /// - Returns: `false` where nothing can be done here.
    func carryOn(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool
    /// Reads no more until ``resume()``. What is being lent just now may be followed by more that was read with it.
    func pause()
    func resume()
    /// Nothing is read or written any more. The receiver hears of the end later, not inside this call.
    func close()
}

/// What a transport reports to.
package protocol ByteConnectionReceiver: AnyObject {
    /// Whether nothing is expected of the peer.
    var isIdle: Bool { get }
    func didReceive(_ bytes: borrowing RawSpan)
    func transportIsWritable()
    /// The transport has ended, by the peer's wish or ours. Once, at last.
    func transportDidEnd(_ failure: SocketError?)
}

extension ByteConnection {
    package func write(_ bytes: [UInt8], hasMore: Bool = false) {
        unsafe bytes.withUnsafeBytes { write(unsafe RawSpan(_unsafeBytes: $0), hasMore: hasMore) }
    }
}
