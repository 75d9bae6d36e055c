// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The reasons why a connection can't be made or used any more.
package enum SocketError: Error, Equatable {
    /// The system's error: an errno.
    case system(CInt)
    /// The peer closed the connection without ending TLS first (RFC 8446 §6.1).
    case closedWithoutNotice
    case tls(TLSError)
    /// The peer sent more TLS messages without data than a correct peer has reason to.
    case flooded

    /// The reason, for a message.
    var reason: String? {
        if case .system(let number) = self { LoadError.text(of: number) } else { nil }
    }

    /// Whether the peer sent the reason for ending the connection. That says more than a reset, which may come first if
    /// bytes were written.
    var isAlert: Bool { if case .tls(let error) = self { error.isAlert } else { false } }

    package var isSystem: Bool { if case .system = self { true } else { false } }
}
