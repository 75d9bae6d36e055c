// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Why a connection can't be made or used any more.
enum SocketError: Error, Equatable {
    /// What the system says: an errno.
    case system(CInt)
    /// The peer closed the connection and did not end TLS before (RFC 8446 §6.1).
    case closedWithoutNotice
    case tls(TLSError)

    /// For a message.
    var reason: String? {
        if case .system(let number) = self { LoadError.text(of: number) } else { nil }
    }

    var isSystem: Bool { if case .system = self { true } else { false } }
}
