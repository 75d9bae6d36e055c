// SPDX-License-Identifier: Apache-2.0

/// The socket event that a handshake waits for.
enum HandshakeWait {
    case reading, writing
    /// The handshake has ended, or it waits for the answer to a challenge. After the answer, it calls
    /// ``SocketConnection/continueHandshake()``.
    case nothing
}

/// Continues a handshake when its socket is ready. Called on its event loop only.
protocol TLSHandshakeDriver: AnyObject {
    func proceed() -> HandshakeWait
    /// The peer closed the connection while the handshake waited for an answer.
    func peerClosed()
    /// The connection was closed on this side.
    func connectionClosed()
}
