// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import PortolanCore

/// A client's certificates and key, read and ready for a handshake.
struct LoadedIdentity {
    let override: NIOSSLContextConfigurationOverride

    /// Waits for the disk where the identity lies there.
    init(_ identity: ClientIdentity) throws(LoadError) {
        let (certificates, key): ([NIOSSLCertificate], NIOSSLPrivateKey)
        switch identity.source {
        case .files(let path, let keyPath, let passphrase):
            certificates = try CertificateFiles.certificates(from: .file(path: path), for: .clientCertificate)
            key = try CertificateFiles.privateKey(in: keyPath, passphrase: passphrase)
        case .der(let chain, let bytes):
            certificates = try chain.map { one throws(LoadError) in try CertificateFiles.certificate(one, for: .clientCertificate) }
            key = try CertificateFiles.privateKey(bytes, "the client certificate's private key")
        }
        guard !certificates.isEmpty else {
            throw CertificateFiles.unusable(
                .clientCertificateUnusable, "the client identity has no certificate in its chain; give the client's own first")
        }
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = certificates.map { .certificate($0) }
        override.privateKey = .privateKey(key)
        try Self.check(override, identity)
        self.override = override
    }

    /// That the key is the certificate's: in a handshake that would be told by nothing but its failure.
    private static func check(_ override: NIOSSLContextConfigurationOverride, _ identity: ClientIdentity) throws(LoadError) {
        var trial = TLSConfiguration.makeClientConfiguration()
        trial.certificateVerification = .none
        trial.certificateChain = override.certificateChain ?? []
        trial.privateKey = override.privateKey
        do { _ = try NIOSSLContext(configuration: trial) } catch {
            throw CertificateFiles.unusable(.clientCertificateUnusable, "certificate and key do not belong together: \(identity)")
        }
    }
}
