// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What a TLS handshake has negotiated.
package struct TLSProperties: Sendable {
    /// The version, written as by IANA: `TLSv1.3`.
    package let version: String?
    /// The protocol that ALPN chose (RFC 7301).
    package let applicationProtocol: String?
    /// The certificates that the peer has shown, its own first.
    package let peerCertificates: [ServerCertificate]
    /// Why default handling does not trust the peer; `nil` if it does, or if there is no certificate.
    package let trustError: LoadError?

    init(version: String?, applicationProtocol: String?, chain: [[UInt8]], trustError: LoadError? = nil) {
        (self.version, self.applicationProtocol, self.trustError) = (version, applicationProtocol, trustError)
        peerCertificates = chain.compactMap(ServerCertificate.init(der:))
    }

    init(_ security: ConnectionSecurity) {
        self.init(
            version: security.version, applicationProtocol: security.applicationProtocol, chain: security.trust.evaluation.chain,
            trustError: security.trust.evaluation.error)
    }
}
