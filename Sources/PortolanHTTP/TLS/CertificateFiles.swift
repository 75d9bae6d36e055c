// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOSSL
import PortolanCore

/// Reads certificates and keys from files. Waits for the disk.
enum CertificateFiles {
    /// What certificates are for.
    enum Purpose {
        case trustRoot, clientCertificate
        /// As ``trustRoot``, where the environment names it.
        case trustRootOfEnvironment

        /// As a message begins.
        var words: String {
            switch self {
            case .trustRoot: "the trust root"
            case .trustRootOfEnvironment: "the trust root of SSL_CERT_FILE or SSL_CERT_DIR"
            case .clientCertificate: "the client certificate"
            }
        }

        var code: LoadError.Code {
            switch self {
            case .trustRoot, .trustRootOfEnvironment: .trustRootsUnusable
            case .clientCertificate: .clientCertificateUnusable
            }
        }
    }

    /// Large enough for every authority of a system, several times.
    private static let limit = 16 << 20

    static func certificates(from source: CertificateSource, for purpose: Purpose) throws(LoadError) -> [NIOSSLCertificate] {
        switch source {
        case .file(let path):
            return isFolder(path)
                ? try folder(path, for: purpose) : try certificates(in: try contents(path, purpose.words, purpose.code), path, for: purpose)
        case .der(let bytes):
            return [try certificate(bytes, for: purpose)]
        }
    }

    /// One certificate, DER.
    ///
    /// - Parameter name: what the message calls it; its purpose's words without one.
    static func certificate(_ der: [UInt8], for purpose: Purpose, name: String? = nil) throws(LoadError) -> NIOSSLCertificate {
        // `try?` because BoringSSL says no more than that it is none.
        guard !der.isEmpty, der.count <= limit, let certificate = try? NIOSSLCertificate(bytes: der, format: .der) else {
            throw unusable(purpose.code, "\(name ?? purpose.words) is no certificate in DER")
        }
        return certificate
    }

    static func privateKey(in path: String, passphrase: String?) throws(LoadError) -> NIOSSLPrivateKey {
        let bytes = try contents(path, "the private key", .clientCertificateUnusable)
        guard isPEM(bytes) else { return try privateKey(bytes, "the private key '\(path)'") }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("PRIVATE KEY-----") else {
            throw unusable(.clientCertificateUnusable, "'\(path)' has no private key in it; name the file that has")
        }
        let isEncrypted = text.contains("ENCRYPTED")
        let secret = Array((passphrase ?? "").utf8)
        // NIOSSL takes a passphrase as CChar, and ends the process where a byte does not fit.
        guard secret.allSatisfy({ $0 < 0x80 }) else {
            throw unusable(
                .clientCertificateUnusable,
                "the passphrase of the private key '\(path)' has other characters than ASCII; give the key another one")
        }
        // `try?` because BoringSSL says no more than that it failed.
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem, passphraseCallback: { $0(secret) }) else {
            throw unusable(
                .clientCertificateUnusable,
                isEncrypted
                    ? "the private key '\(path)' is encrypted, and \(passphrase == nil ? "no passphrase was given" : "the passphrase does not open it")"
                    : "the private key '\(path)' can't be read; it has to be in PEM or DER")
        }
        return key
    }

    /// - Parameter name: what the message calls it.
    static func privateKey(_ der: [UInt8], _ name: String) throws(LoadError) -> NIOSSLPrivateKey {
        // `try?` because BoringSSL says no more than that it is none.
        guard !der.isEmpty, der.count <= limit, let key = try? NIOSSLPrivateKey(bytes: der, format: .der) else {
            throw unusable(.clientCertificateUnusable, "\(name) can't be read; it has to be in PEM, or in DER and not encrypted")
        }
        return key
    }

    private static func certificates(in bytes: [UInt8], _ path: String, for purpose: Purpose) throws(LoadError) -> [NIOSSLCertificate] {
        guard isPEM(bytes) else { return [try certificate(bytes, for: purpose, name: "\(purpose.words) '\(path)'")] }
        // `try?` because BoringSSL says no more than that it failed.
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
            throw unusable(purpose.code, "\(purpose.words) '\(path)' has no certificate in PEM that can be read")
        }
        return certificates
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
    }

    /// Of a folder, whatever is a certificate: other files lie there too, and links that lead nowhere.
    private static func folder(_ path: String, for purpose: Purpose) throws(LoadError) -> [NIOSSLCertificate] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw unusable(purpose.code, "\(purpose.words)s in the folder '\(path)' can't be listed", error)
        }
        let found = names.sorted().flatMap { name -> [NIOSSLCertificate] in
            // `try?` because of the above.
            (try? certificates(from: .file(path: "\(path)/\(name)"), for: purpose)) ?? []
        }
        guard !found.isEmpty else {
            throw unusable(purpose.code, "the folder '\(path)' has no \(purpose.words.replacingPrefix("the ")) in it")
        }
        return found
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
        LoadError(code, message: message, cause: cause)
    }
}

extension String {
    fileprivate func replacingPrefix(_ prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}
