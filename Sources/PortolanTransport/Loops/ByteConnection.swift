// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// A byte connection. Read bytes are passed to the receiver, which borrows them during the call. Written bytes are
/// buffered until the socket accepts them. Use it on its event loop only.
package protocol ByteConnection: AnyObject {
    var loop: any EventLoop { get }
    /// Whether the socket accepts more bytes now.
    var isWritable: Bool { get }
    /// Whether the poller watches the connection, so that the receiver is notified immediately of its end.
    var isWatched: Bool { get }
    /// Whether the peer has not closed the connection, and has sent nothing. Checks the socket without waiting.
    var isAlive: Bool { get }
    /// Sends as many bytes as the socket accepts now, after all earlier bytes. Buffers a copy of the rest.
    ///
    /// - Parameter hasMore: whether another write follows immediately. Then small pieces are sent together.
    func write(_ bytes: borrowing RawSpan, hasMore: Bool)
    /// Closes the sending direction after all written bytes (half-close). Bytes from the peer are still received.
    ///
    /// With TLS, a close_notify is sent first (RFC 8446 §6.1).
    func finishWriting()
    /// Makes the kernel send bytes of a file, after all earlier bytes (`sendfile(2)`).
    func write(file: CInt, from offset: Int64, atMost count: Int) -> FileSendResult
    /// Announces that the current thread will call ``drive(for:while:)``.
    func promiseDriver()
    /// Waits for the events of this connection in the calling thread, and handles them. Call it on the event loop. The
    /// thread leaves the loop while it waits.
    ///
    /// - Parameter isNeeded: called on the event loop. Returns whether the waiter's load still uses this
    ///   connection.
    /// - Returns: `false` if the thread can't wait for the connection.
    func drive(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool
    /// Stops reading until ``resume()``. The receiver can still receive more bytes of the current read.
    func pause()
    func resume()
    /// Closes the connection. The receiver is notified of the end later, not inside this call.
    func close()
}

/// Receives the events of a byte connection.
package protocol ByteConnectionReceiver: AnyObject {
    /// Whether the receiver expects nothing from the peer.
    var isIdle: Bool { get }
    func didReceive(_ bytes: borrowing RawSpan)
    func transportIsWritable()
    /// The peer has closed its sending direction. Called only if ``SocketConnection/isWrittenAfterEnd`` is set; bytes
    /// can still be written.
    func transportDidEndInput()
    /// No more bytes can be written. Called only if ``SocketConnection/isWrittenAfterEnd`` is set; bytes from the peer
    /// are still received.
    func transportDidFailWriting(_ failure: SocketError)
    /// The connection has ended. This side, or the peer, has closed it. Called once, as the last call.
    func transportDidEnd(_ failure: SocketError?)
}

extension ByteConnectionReceiver {
    package func transportDidEndInput() {}
    package func transportDidFailWriting(_ failure: SocketError) {}
}

extension ByteConnection {
    package func write(_ bytes: [UInt8], hasMore: Bool = false) {
        unsafe bytes.withUnsafeBytes { write(unsafe RawSpan(_unsafeBytes: $0), hasMore: hasMore) }
    }
}
