// SPDX-License-Identifier: Apache-2.0

/// The event that a handshake waits for.
enum HandshakeWait {
    case reading, writing
    /// The handshake is over, or it waits for an answer. After the answer, ``SocketConnection/continueHandshake()`` is
    /// called.
    case nothing
}

/// Continues a handshake whenever its socket is ready. Runs on its event loop only.
protocol TLSHandshakeDriver: AnyObject {
    func proceed() -> HandshakeWait
    func peerClosed()
    /// The connection was closed on this side.
    func connectionClosed()
}
