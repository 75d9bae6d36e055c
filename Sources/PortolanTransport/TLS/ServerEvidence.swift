// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What a server showed in a handshake, and what default handling makes of it.
package struct ServerEvidence: Sendable {
    /// DER, leaf first: all that the server showed.
    let chain: [[UInt8]]
    /// Why default handling would fail; `nil` where it trusts the server.
    package let verdict: LoadError?
    /// When the leaf expires, in seconds since 1970.
    private let end: Int64

    init(chain: [[UInt8]], verdict: LoadError?) {
        self.chain = chain
        self.verdict = verdict
        end = chain.first.flatMap(ServerCertificate.init(der:))?.notAfter.seconds ?? 0
    }

    func isValid(at now: Int64) -> Bool { now <= end }
}
