// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A certificate chain and its key in memory. The owner's certificate is the first.
struct LoadedIdentity: Sendable {
    let chain: [Certificate]
    let key: PrivateKey

    /// Blocks if the identity is in files.
    init(_ identity: TLSIdentity, for purpose: CertificateFiles.Purpose = .clientCertificate) throws(LoadError) {
        switch identity.source {
        case .files(let path, let keyPath, let passphrase):
            if path == keyPath, let bundle = try CertificateFiles.bundle(in: path, passphrase: passphrase, for: purpose) {
                (chain, key) = (bundle.chain, bundle.key)
            } else {
                chain = try CertificateFiles.certificates(from: .file(path: path), for: purpose)
                key = try CertificateFiles.privateKey(in: keyPath, passphrase: passphrase, hasCertificate: path == keyPath, purpose.code)
            }
        case .der(let ders, let keyBytes):
            chain = try ders.map { der throws(LoadError) in try CertificateFiles.certificate(der, for: purpose) }
            key = try CertificateFiles.privateKey(keyBytes, "\(purpose.phrase)'s private key", purpose.code)
        }
        guard let leaf = chain.first else {
            throw CertificateFiles.unusable(
                purpose.code, "the identity has no certificate in its chain; put its own certificate first, and then those of the issuers")
        }
        // A handshake would fail without naming this reason.
        guard key.belongs(to: leaf) else {
            throw LoadError(
                purpose.code, message: "certificate and key do not belong together: \(identity)", remedy: .nameKeyFile)
        }
    }
}
