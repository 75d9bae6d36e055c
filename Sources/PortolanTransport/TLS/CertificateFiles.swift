// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import FoundationEssentials
import PortolanCore

/// Reads certificates and keys from files. The calls block.
enum CertificateFiles {
    /// What a certificate is used for.
    enum Purpose {
        case trustRoot, clientCertificate, serverCertificate
        /// As ``trustRoot``, but the path comes from the environment.
        case trustRootOfEnvironment

        /// The beginning of a message.
        var phrase: String {
            switch self {
            case .trustRoot: "the trust root"
            case .trustRootOfEnvironment: "the trust root of SSL_CERT_FILE or SSL_CERT_DIR"
            case .clientCertificate: "the client certificate"
            case .serverCertificate: "the server certificate"
            }
        }

        /// The possible formats of a file with such certificates.
        fileprivate var formats: String {
            switch self {
            case .trustRoot, .trustRootOfEnvironment: "PEM or DER"
            case .clientCertificate, .serverCertificate: "PEM, DER or PKCS #12"
            }
        }

        var code: LoadError.Code {
            switch self {
            case .trustRoot, .trustRootOfEnvironment: .trustRootsUnusable
            case .clientCertificate: .clientCertificateUnusable
            case .serverCertificate: .secureConnectionFailed
            }
        }
    }

    /// The maximum size of a file in bytes. A file with all authorities of a system is several times smaller.
    private static let limit = 16 << 20

    static func certificates(from source: CertificateSource, for purpose: Purpose) throws(LoadError) -> [Certificate] {
        switch source {
        case .file(let path):
            return isFolder(path)
                ? try certificates(inFolder: path, for: purpose)
                : try certificates(in: try contents(path, purpose.phrase, purpose.code), path, for: purpose)
        case .der(let bytes):
            return [try certificate(bytes, for: purpose)]
        }
    }

    /// Reads one certificate in DER.
    static func certificate(_ der: [UInt8], for purpose: Purpose) throws(LoadError) -> Certificate {
        guard !der.isEmpty, der.count <= limit, let certificate = Certificate(der: der) else {
            throw unusable(purpose.code, "\(purpose.phrase) is not a certificate in DER")
        }
        return certificate
    }

    /// - Parameters:
    ///   - passphrase: for an encrypted key.
    ///   - hasCertificate: whether the certificate was read from the same file.
    static func privateKey(
        in path: String, passphrase: String?, hasCertificate: Bool, _ code: LoadError.Code
    ) throws(LoadError) -> PrivateKey {
        let bytes = try contents(path, "the private key", code)
        let text = isPEM(bytes) ? String(decoding: bytes, as: UTF8.self) : nil
        // A DER file contains only one object.
        guard text?.contains("PRIVATE KEY-----") ?? !hasCertificate else {
            throw LoadError(code, message: "'\(path)' contains no private key", remedy: .nameKeyFile)
        }
        guard let text else { return try privateKey(bytes, "the private key '\(path)'", code, passphrase: passphrase) }
        if let key = KeyReader.key(pem: bytes, passphrase: passphrase) { return key }
        if text.contains("ENCRYPTED") { throw encryptionError("the private key '\(path)'", code, passphrase) }
        throw unusable(code, "the private key '\(path)' can't be read; it has to be in PEM or DER")
    }

    /// - Parameter name: the name of the key in the message.
    static func privateKey(
        _ der: [UInt8], _ name: String, _ code: LoadError.Code, passphrase: String? = nil
    ) throws(LoadError) -> PrivateKey {
        guard !der.isEmpty, der.count <= limit else {
            throw unusable(code, "\(name) can't be read; it has to be in PEM or DER")
        }
        if let key = KeyReader.key(der: der) ?? KeyReader.key(encrypted: der, passphrase: passphrase) { return key }
        guard KeyReader.isEncrypted(der) else {
            throw unusable(code, "\(name) can't be read; it has to be in PEM or DER")
        }
        throw encryptionError(name, code, passphrase)
    }

    private static func encryptionError(_ name: String, _ code: LoadError.Code, _ passphrase: String?) -> LoadError {
        passphrase == nil
            ? LoadError(code, message: "\(name) is encrypted, and no passphrase was given", remedy: .givePassphrase)
            : LoadError(code, message: "\(name) is encrypted, and the passphrase does not open it", remedy: .checkPassphrase)
    }

    /// Reads the certificates and the key of a PKCS #12 file (RFC 7292). The certificate of the key is the first.
    /// Returns `nil` if the file has another format.
    static func bundle(
        in path: String, passphrase: String?, for purpose: Purpose
    ) throws(LoadError) -> (chain: [Certificate], key: PrivateKey)? {
        let bytes = try contents(path, purpose.phrase, purpose.code)
        guard !isPEM(bytes), let bundle = KeyBundle(bytes) else { return nil }
        let name = "\(purpose.phrase) '\(path)'"
        do throws(KeyBundle.Fault) { return try bundle.open(passphrase: passphrase) } catch {
            switch error {
            case .passphrase: throw encryptionError(name, purpose.code, passphrase)
            case .oldEncryption:
                throw unusable(
                    purpose.code,
                    "\(name) is encrypted in an old way that OpenSSL 3 does not support by default, such as RC2; convert it with "
                        + "'openssl pkcs12 -legacy -in OLD.p12 -out NEW.pem', and use NEW.pem")
            case .incomplete:
                throw unusable(purpose.code, "\(name) has to contain a certificate and its private key, but does not")
            case .unreadable(let phrase): throw unusable(purpose.code, "\(name) can't be read: \(phrase)")
            }
        }
    }

    private static func certificates(in bytes: [UInt8], _ path: String, for purpose: Purpose) throws(LoadError) -> [Certificate] {
        guard isPEM(bytes) else {
            guard !bytes.isEmpty, let certificate = Certificate(der: bytes) else {
                let fault = bytes.isEmpty ? "is empty" : "is not a readable certificate"
                throw unusable(purpose.code, "\(purpose.phrase) '\(path)' \(fault); it has to be in \(purpose.formats)")
            }
            return [certificate]
        }
        let certificates = KeyReader.certificates(pem: bytes)
        guard !certificates.isEmpty else {
            throw unusable(purpose.code, "\(purpose.phrase) '\(path)' contains no readable certificate in PEM")
        }
        return certificates
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
    }

    /// Reads all certificates in a folder. Skips other files, and links without a target.
    private static func certificates(inFolder path: String, for purpose: Purpose) throws(LoadError) -> [Certificate] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw unusable(purpose.code, "\(purpose.phrase)s in the folder '\(path)' can't be listed", error)
        }
        let certificates = names.sorted().flatMap { name -> [Certificate] in
            // `try?` because other files and links without a target are skipped.
            (try? self.certificates(from: .file(path: "\(path)/\(name)"), for: purpose)) ?? []
        }
        guard !certificates.isEmpty else {
            throw unusable(purpose.code, "the folder '\(path)' has no \(purpose.phrase.droppingPrefix("the ")) in it")
        }
        return certificates
    }

    private static func contents(_ path: String, _ name: String, _ code: LoadError.Code) throws(LoadError) -> [UInt8] {
        guard let local = LocalPath(path) else { throw unusable(code, "\(name) has an empty path, or one with a NUL character in it") }
        do throws(LoadError) {
            let file = try RegularFile(at: local)
            guard file.size.map({ $0 <= Int64(limit) }) ?? true else { throw unusable(code, "it is larger than \(limit >> 20) MiB") }
            return try file.contents(atMost: limit)
        } catch {
            throw unusable(code, "\(name) '\(path)' can't be read: \(error.message)")
        }
    }

    private static func isPEM(_ bytes: [UInt8]) -> Bool { String(decoding: bytes, as: UTF8.self).contains("-----BEGIN ") }

    static func unusable(_ code: LoadError.Code, _ message: String, _ cause: (any Error)? = nil) -> LoadError {
        LoadError(code, message: message, underlyingError: cause)
    }
}

extension String {
    fileprivate func droppingPrefix(_ prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}
