// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// A byte connection. The receiver borrows read bytes for the length of a call. Written bytes are buffered until the
/// peer accepts them. Use it on its event loop only.
package protocol ByteConnection: AnyObject {
    var loop: any EventLoop { get }
    /// Whether more bytes would be sent soon. A body is sent while this is true.
    var isWritable: Bool { get }
    /// Whether the receiver is notified of the end as soon as it comes.
    var isWatched: Bool { get }
    /// Whether the peer has neither ended the connection nor sent anything, as far as can be seen without waiting.
    var isAlive: Bool { get }
    /// Sends as many bytes as the socket accepts now, after all earlier bytes, and buffers a copy of the rest.
    ///
    /// - Parameter hasMore: whether more bytes are written at once. Small pieces are then sent together with them.
    func write(_ bytes: borrowing RawSpan, hasMore: Bool)
    /// Sends no more after all written bytes (half-close). Bytes from the peer are still received, to their end.
    ///
    /// With TLS, a close_notify is sent first (RFC 8446 §6.1).
    func finishWriting()
    /// Makes the kernel send bytes of a file, after all earlier bytes (`sendfile(2)`).
    func write(file: CInt, from offset: Int64, atMost count: Int) -> FileTransfer
    /// Announces that the thread on the event loop will call ``drive(for:while:)``.
    func promiseDriver()
    /// Does the work of the event loop for this transport in this thread, and sleeps in between. Call it on the event
    /// loop. The thread leaves the loop while it sleeps.
    ///
    /// - Parameter isNeeded: called on the event loop. Returns whether the waiter's load still waits for this
    ///   transport.
    /// - Returns: `false` if nothing can be done here.
    func drive(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool
    /// Reads no more until ``resume()``. More bytes of the current read may still follow the piece that the receiver
    /// borrows now.
    func pause()
    func resume()
    /// Reads and writes nothing from now on. The receiver is notified of the end later, not inside this call.
    func close()
}

/// The receiver of a transport's events.
package protocol ByteConnectionReceiver: AnyObject {
    /// Whether nothing is expected from the peer.
    var isIdle: Bool { get }
    func didReceive(_ bytes: borrowing RawSpan)
    func transportIsWritable()
    /// The transport has ended, because of the peer or of this side. Called once, as the last call.
    func transportDidEnd(_ failure: SocketError?)
}

extension ByteConnection {
    package func write(_ bytes: [UInt8], hasMore: Bool = false) {
        unsafe bytes.withUnsafeBytes { write(unsafe RawSpan(_unsafeBytes: $0), hasMore: hasMore) }
    }
}
