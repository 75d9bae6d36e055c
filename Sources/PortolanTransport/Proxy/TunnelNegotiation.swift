// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Negotiates a route to an origin with a proxy, up to the first byte of the route. A state machine without I/O.
protocol TunnelNegotiation: Sendable {
    /// The first bytes to send.
    var greeting: [UInt8] { get }
    /// Takes bytes of `input` from `offset` on.
    ///
    /// - Throws: the reason why there is no route. Its cause is a ``ProxyChallenge`` if the proxy requires a
    ///   credential.
    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(LoadError) -> TunnelStep
    /// The error if the proxy closes the connection now.
    var errorAtEnd: LoadError { get }
}

enum TunnelStep: Equatable {
    /// All bytes are taken.
    case needsMore
    case send([UInt8])
    /// Bytes after the offset are from the origin.
    case established
}

/// The proxy requires a credential before it goes on. This is the cause of an error.
package struct ProxyChallenge: Error {
    package let offers: [AuthenticationOffer]
}
