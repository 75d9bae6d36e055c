// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Negotiates a tunnel to an origin with a proxy. A state machine without I/O.
protocol TunnelNegotiation: Sendable {
    /// The first bytes to send.
    var greeting: [UInt8] { get }
    /// Consumes bytes of `input` from `offset` on.
    ///
    /// - Throws: the reason why the proxy opened no tunnel. If the proxy requires a credential, the `underlyingError`
    ///   is a ``ProxyChallenge``.
    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(LoadError) -> TunnelStep
    /// The error if the proxy closes the connection now.
    var errorAtEnd: LoadError { get }
}

enum TunnelStep: Equatable {
    /// All bytes were consumed.
    case needsMore
    case send([UInt8])
    /// The tunnel is open. Bytes after the offset are from the origin.
    case established
}

/// The proxy requires a credential. Used as the `underlyingError` of a ``LoadError``.
package struct ProxyChallenge: Error {
    package let offers: [AuthenticationOffer]
}
