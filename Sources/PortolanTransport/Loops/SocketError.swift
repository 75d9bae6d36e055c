// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The reason why a connection failed.
package enum SocketError: Error, Equatable {
    /// An errno of the system.
    case system(CInt)
    /// The peer closed the connection without close_notify (RFC 8446 §6.1).
    case closedWithoutNotice
    case tls(TLSError)
    /// The peer sent too many TLS messages without data.
    case flooded

    /// The system's text for the error, for a message; `nil` for an error that has no errno.
    package var reason: String? {
        if case .system(let number) = self { LoadError.text(of: number) } else { nil }
    }

    /// Whether no route leads to the peer.
    var isForLackOfNetwork: Bool {
        if case .system(let number) = self { number == ENETUNREACH || number == ENETDOWN } else { false }
    }

    /// Whether the peer sent a TLS alert. An alert describes the reason better than a connection reset, which can be
    /// reported first.
    var isAlert: Bool { if case .tls(let error) = self { error.isAlert } else { false } }

    package var isSystem: Bool { if case .system = self { true } else { false } }
}
