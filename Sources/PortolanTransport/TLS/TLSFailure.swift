// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension LoadError {
    /// The reason why the connection could not be made secure, as reported by OpenSSL, the server or the system.
    static func securing(_ peer: TLSPeer, _ error: SocketError) -> LoadError {
        switch error {
        case .system(let number):
            LoadError(
                .secureConnectionFailed,
                message: "the connection to \(peer) broke in the TLS handshake: \(LoadError.text(of: number)); try again")
        case .closedWithoutNotice:
            LoadError(
                .secureConnectionFailed,
                message: "\(peer) closed the connection in the TLS handshake; check that it speaks TLS on that port")
        case .flooded: flooded(by: peer)
        case .tls(let error): error.error("no secure connection to \(peer)", isOfProxy: peer.isProxy)
        }
    }

    /// The reason why a secure connection has ended: the peer's alert, or an error in its records; `nil` for other
    /// reasons.
    ///
    /// In TLS 1.3 a server checks the client's certificate only when the client considers the handshake complete
    /// (RFC 8446 §4.4.2.4).
    static func alert(from peer: TLSPeer, _ error: SocketError?) -> LoadError? {
        if case .flooded? = error { return flooded(by: peer) }
        guard case .tls(let error)? = error else { return nil }
        guard error.isAlert else {
            return LoadError(.secureConnectionFailed, message: "the secure connection to \(peer) broke: \(error.libraryWords); try again")
        }
        return error.error("\(peer) ended the secure connection", isOfProxy: peer.isProxy)
    }

    private static func flooded(by peer: TLSPeer) -> LoadError {
        LoadError(
            .secureConnectionFailed,
            message: "\(peer) sent too many TLS messages that carry no data, so the connection was closed; it is broken or hostile")
    }
}
