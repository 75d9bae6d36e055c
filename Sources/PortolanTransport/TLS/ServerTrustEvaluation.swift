// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What a server showed in a handshake, and what default handling makes of it.
package struct ServerTrustEvaluation: Sendable {
    /// DER, leaf first: all that the server showed.
    let chain: [[UInt8]]
    /// Why default handling would fail; `nil` where it trusts the server.
    package let verdict: LoadError?
    /// When the server showed it, in seconds since 1970. Resumed sessions keep it.
    let time: Int64
    /// When the leaf expires, in seconds since 1970.
    private let end: Int64
    /// A server's certificate is verified again after this time, in seconds, whatever its tickets say.
    private static let longestAge: Int64 = 24 * 3600

    /// - Parameter time: in seconds since 1970.
    init(chain: [[UInt8]], verdict: LoadError?, time: Int64) {
        self.chain = chain
        self.verdict = verdict
        self.time = time
        end = chain.first.flatMap(ServerCertificate.init(der:))?.notAfter.seconds ?? 0
    }

    /// Whether a session may be resumed with it.
    func isValid(at now: Int64) -> Bool { time <= now && now < time + Self.longestAge && now <= end }
}
