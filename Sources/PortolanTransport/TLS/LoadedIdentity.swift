// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A client's certificate chain and key in memory. The client's own certificate is the first.
struct LoadedIdentity: Sendable {
    let chain: [Certificate]
    let key: PrivateKey

    /// Blocks if the identity is in files.
    init(_ identity: ClientIdentity) throws(LoadError) {
        switch identity.source {
        case .files(let path, let keyPath, let passphrase):
            if path == keyPath, let bundle = try CertificateFiles.bundle(in: path, passphrase: passphrase) {
                (chain, key) = (bundle.chain, bundle.key)
            } else {
                chain = try CertificateFiles.certificates(from: .file(path: path), for: .clientCertificate)
                key = try CertificateFiles.privateKey(in: keyPath, passphrase: passphrase, hasCertificate: path == keyPath)
            }
        case .der(let ders, let keyBytes):
            chain = try ders.map { der throws(LoadError) in try CertificateFiles.certificate(der, for: .clientCertificate) }
            key = try CertificateFiles.privateKey(keyBytes, "the client certificate's private key")
        }
        guard let leaf = chain.first else {
            throw CertificateFiles.unusable(
                .clientCertificateUnusable, "the client identity has no certificate in its chain; put the client's certificate first")
        }
        // A handshake would fail without naming this reason.
        guard key.belongs(to: leaf) else {
            throw LoadError(
                .clientCertificateUnusable, message: "certificate and key do not belong together: \(identity)", remedy: .nameKeyFile)
        }
    }
}
