// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension LoadError {
    /// The error if the TLS handshake failed.
    static func handshakeFailed(with peer: TLSPeer, _ error: SocketError) -> LoadError {
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

    /// The error if a secure connection ended because of an alert of the peer, or because of an error in its records;
    /// `nil` for other reasons.
    ///
    /// In TLS 1.3 a server can reject the client's certificate after the client has completed the handshake (RFC 8446
    /// §4.4.2.4).
    static func tlsError(from peer: TLSPeer, _ error: SocketError?) -> LoadError? {
        if case .flooded? = error { return flooded(by: peer) }
        guard case .tls(let error)? = error else { return nil }
        guard error.isAlert else {
            return LoadError(.secureConnectionFailed, message: "the secure connection to \(peer) broke: \(error.libraryPhrase); try again")
        }
        return error.error("\(peer) ended the secure connection", isOfProxy: peer.isProxy)
    }

    private static func flooded(by peer: TLSPeer) -> LoadError {
        LoadError(
            .secureConnectionFailed,
            message: "\(peer) sent too many TLS messages that carry no data, so the connection was closed; it is broken or hostile")
    }
}
