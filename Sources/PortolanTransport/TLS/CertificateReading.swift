// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Evaluates certificates without a handshake, for fuzzers.
@_spi(Fuzzing) public enum CertificateReading {
    /// Whether the certificate's alternative names contain the host.
    public static func isNamed(_ host: String, by certificate: ServerCertificate) -> Bool {
        ServerName(host: host).isNamed(by: certificate)
    }

    /// The reason why the chain is not trusted; `nil` if it is trusted.
    ///
    /// - Parameters:
    ///   - chain: DER, leaf first.
    ///   - finding: OpenSSL's error for the chain, and the depth of the certificate at fault; `nil` if OpenSSL trusts
    ///     the chain.
    ///   - now: in seconds since 1970.
    public static func error(of chain: [[UInt8]], host: String, finding: (code: Int32, depth: Int)?, now: Int64) -> LoadError? {
        let peer = TLSPeer(host: host, port: 443, description: "https://\(host)")
        let chainError = finding.map { ChainError(code: $0.code, depth: $0.depth) }
        return CertificateProblem.error(CertificateProblem.find(in: chain, for: peer.name, chainError, now: now), of: peer, chain: chain)
    }
}
