// SPDX-License-Identifier: Apache-2.0

/// What a handshake waits for.
enum HandshakeWait {
    case reading, writing
    /// It is over, or an answer is awaited, after which ``SocketConnection/continueHandshake()`` is called.
    case nothing
}

/// Takes a handshake further whenever its socket is ready. In the turns of its loop only.
protocol TLSHandshakeDriver: AnyObject {
    func proceed() -> HandshakeWait
    func peerClosed()
    /// The connection was closed on this side.
    func connectionClosed()
}
