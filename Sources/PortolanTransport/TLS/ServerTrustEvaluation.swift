// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The certificates that a server showed in a handshake, and the verdict of default handling.
package struct ServerTrustEvaluation: Sendable {
    /// All certificates that the server showed; DER, leaf first.
    let chain: [[UInt8]]
    /// The error of default handling; `nil` if it trusts the server.
    package let verdict: LoadError?
    /// The time when the server showed the certificates, in seconds since 1970. Resumed sessions keep it.
    let time: Int64
    /// The time when the leaf expires, in seconds since 1970.
    private let end: Int64
    /// The age, in seconds, after which a server's certificate is verified again, whatever its tickets say.
    private static let longestAge: Int64 = 24 * 3600

    /// - Parameter time: in seconds since 1970.
    init(chain: [[UInt8]], verdict: LoadError?, time: Int64) {
        self.chain = chain
        self.verdict = verdict
        self.time = time
        end = chain.first.flatMap(ServerCertificate.init(der:))?.notAfter.seconds ?? 0
    }

    /// Whether a session may be resumed with this evaluation.
    func isValid(at now: Int64) -> Bool { time <= now && now < time + Self.longestAge && now <= end }
}
