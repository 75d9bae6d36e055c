// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Why a connection can't be made or used any more.
package enum SocketError: Error, Equatable {
    /// What the system says: an errno.
    case system(CInt)
    /// The peer closed the connection and did not end TLS before (RFC 8446 §6.1).
    case closedWithoutNotice
    case tls(TLSError)
    /// The peer sent more TLS messages that carry no data than a sound one has reason to.
    case flooded

    /// For a message.
    var reason: String? {
        if case .system(let number) = self { LoadError.text(of: number) } else { nil }
    }

    /// Whether the peer said why it ends the connection. That says more than a reset, which may come first where something was written.
    var isAlert: Bool { if case .tls(let error) = self { error.isAlert } else { false } }

    package var isSystem: Bool { if case .system = self { true } else { false } }
}
