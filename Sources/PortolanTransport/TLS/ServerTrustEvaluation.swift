// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The certificates that a server showed in a handshake, and the result of default handling.
package struct ServerTrustEvaluation: Sendable {
    /// All certificates that the server showed, in DER, leaf first.
    package let chain: [[UInt8]]
    /// The error of default handling; `nil` if default handling trusts the server.
    package let error: LoadError?
    /// When the server showed the certificates, in seconds since 1970. A resumed session has the time of the original
    /// handshake.
    let time: Int64
    /// When the leaf expires, in seconds since 1970; 0 if the leaf can't be read.
    private let expiryTime: Int64
    /// The maximum age of a session that is resumed, in seconds. After this time the certificate is verified again.
    private static let maximumAge: Int64 = 24 * 3600

    /// - Parameter time: in seconds since 1970.
    init(chain: [[UInt8]], error: LoadError?, time: Int64) {
        self.chain = chain
        self.error = error
        self.time = time
        expiryTime = chain.first.flatMap(ServerCertificate.init(der:))?.notAfter.seconds ?? 0
    }

    /// Whether a session with this evaluation can be resumed.
    func isValid(at now: Int64) -> Bool { time <= now && now < time + Self.maximumAge && now <= expiryTime }
}
