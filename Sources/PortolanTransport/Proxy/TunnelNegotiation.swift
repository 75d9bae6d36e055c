// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// How a proxy is asked for a way to an origin, up to the first byte of the way. A pure machine.
protocol TunnelNegotiation: Sendable {
    /// What is sent first.
    var greeting: [UInt8] { get }
    /// Takes bytes of `input` from `offset` on.
    ///
    /// - Throws: why there is no way; with a ``ProxyChallenge`` as the cause where the proxy wants to know who we are.
    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(LoadError) -> TunnelStep
    /// What it means when the proxy closes the connection now.
    var errorAtEnd: LoadError { get }
}

enum TunnelStep: Equatable {
    /// All bytes are taken.
    case needsMore
    case send([UInt8])
    /// What lies behind the offset is the origin's.
    case established
}

/// A proxy does not go on before it knows who we are; the cause of an error.
package struct ProxyChallenge: Error {
    package let offers: [AuthenticationOffer]
}
