// SPDX-License-Identifier: Apache-2.0

/// The socket event that a handshake waits for.
enum HandshakeWait {
    case reading, writing
    /// The handshake has ended, or waits for the answer to a challenge. After the answer, the handshake calls
    /// ``SocketConnection/continueHandshake()``.
    case nothing
}

/// Continues a handshake when its socket is ready. Called on its event loop only.
protocol TLSHandshakeDriver: AnyObject {
    /// Continues the handshake as far as possible, and returns what it then waits for.
    func proceed() -> HandshakeWait
    /// The peer closed the connection while the handshake waited for an answer.
    func peerClosed()
    /// The connection was closed on this side.
    func connectionClosed()
}
