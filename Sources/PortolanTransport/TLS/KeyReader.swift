// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore

/// Reads keys and certificates from memory with OpenSSL. Never reads a passphrase from a terminal.
enum KeyReader {
    /// Reads all certificates of a PEM text, up to the first malformed one: `PEM_read_bio_X509(3)`.
    static func certificates(pem: [UInt8]) -> [Certificate] {
        unsafe withMemory(pem) { memory in
            var certificates: [Certificate] = []
            while let certificate = unsafe PEM_read_bio_X509(memory, nil, noPassphrase, nil) {
                certificates.append(unsafe Certificate(owning: certificate))
            }
            return certificates
        } ?? []
    }

    /// `PEM_read_bio_PrivateKey(3)`
    static func key(pem: [UInt8], passphrase: String?) -> PrivateKey? {
        unsafe withMemory(pem) { memory in
            unsafe withPassphrase(passphrase) { context in
                unsafe PEM_read_bio_PrivateKey(memory, nil, givePassphrase, context)
            }.map { unsafe PrivateKey(owning: $0) }
        } ?? nil
    }

    /// Reads PKCS #8, and the older forms of RSA and EC keys: `d2i_AutoPrivateKey(3)`.
    static func key(der: [UInt8]) -> PrivateKey? {
        OpenSSL.start()
        defer { ERR_clear_error() }
        return unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, bytes.count)
        }.map { unsafe PrivateKey(owning: $0) }
    }

    /// Reads an encrypted PKCS #8: `d2i_PKCS8PrivateKey_bio(3)`.
    static func key(encrypted der: [UInt8], passphrase: String?) -> PrivateKey? {
        guard isEncrypted(der), passphrase != nil else { return nil }
        return unsafe withMemory(der) { memory in
            unsafe withPassphrase(passphrase) { context in
                unsafe d2i_PKCS8PrivateKey_bio(memory, nil, givePassphrase, context)
            }.map { unsafe PrivateKey(owning: $0) }
        } ?? nil
    }

    /// Whether the bytes are an EncryptedPrivateKeyInfo (RFC 5958 §3).
    static func isEncrypted(_ der: [UInt8]) -> Bool {
        OpenSSL.start()
        defer { ERR_clear_error() }
        return unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard let encryptedKey = unsafe d2i_X509_SIG(nil, &position, bytes.count) else { return false }
            unsafe X509_SIG_free(encryptedKey)
            return true
        }
    }

    fileprivate static func withMemory<Value>(_ bytes: [UInt8], _ body: (OpaquePointer) -> Value) -> Value? {
        OpenSSL.start()
        defer { ERR_clear_error() }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let memory = unsafe BIO_new_mem_buf(bytes.baseAddress, CInt(clamping: bytes.count)) else { return nil }
            defer { unsafe BIO_free(memory) }
            return unsafe body(memory)
        }
    }

    private static func withPassphrase<Value>(_ passphrase: String?, _ body: (UnsafeMutableRawPointer?) -> Value) -> Value {
        var passphrase = passphrase
        return unsafe withUnsafeMutablePointer(to: &passphrase) { unsafe body(UnsafeMutableRawPointer($0)) }
    }
}

/// A `pem_password_cb(3)`. The user data is the optional passphrase. If there is no passphrase, or if it is too long,
/// reading fails.
private let givePassphrase: @convention(c) (UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?) -> CInt = {
    buffer, size, _, context in
    guard let passphrase = unsafe context?.assumingMemoryBound(to: String?.self).pointee, let buffer = unsafe buffer else { return -1 }
    let bytes = Array(passphrase.utf8)
    guard bytes.count <= Int(size) else { return -1 }
    for (index, byte) in bytes.enumerated() { unsafe buffer[index] = CChar(bitPattern: byte) }
    return CInt(bytes.count)
}

private let noPassphrase: @convention(c) (UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?) -> CInt = { _, _, _, _ in -1 }

/// A PKCS #12 file (RFC 7292).
@safe
struct KeyBundle: ~Copyable {
    private let bundle: OpaquePointer

    /// - Returns: `nil` if the bytes are not such a file: `d2i_PKCS12(3)`.
    init?(_ bytes: [UInt8]) {
        OpenSSL.start()
        let bundle = unsafe bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_PKCS12(nil, &position, bytes.count)
        }
        ERR_clear_error()
        guard let bundle = unsafe bundle else { return nil }
        unsafe self.bundle = bundle
    }

    deinit { unsafe PKCS12_free(bundle) }

    /// Why the certificate and the key can't be read from the file.
    enum Fault: Error {
        case passphrase
        /// The encryption is only in the legacy provider of OpenSSL 3: OSSL_PROVIDER-legacy(7).
        case oldEncryption
        /// The certificate or the key is missing.
        case incomplete
        /// OpenSSL's text for another error.
        case unreadable(String)
    }

    /// `PKCS12_parse(3)`
    func open(passphrase: String?) throws(Fault) -> (chain: [Certificate], key: PrivateKey) {
        defer { ERR_clear_error() }
        var (key, certificate, others): (OpaquePointer?, OpaquePointer?, OpaquePointer?) = (nil, nil, nil)
        guard unsafe PKCS12_parse(bundle, passphrase ?? "", &key, &certificate, &others) == 1 else { throw Self.takeFault() }
        defer { if let others = unsafe others { unsafe portolan_X509_free_all(others) } }
        let privateKey = unsafe key.map { unsafe PrivateKey(owning: $0) }
        let leaf = unsafe certificate.map { unsafe Certificate(owning: $0) }
        guard let privateKey, let leaf else { throw .incomplete }
        var chain = [leaf]
        if let others = unsafe others {
            for index in 0..<(unsafe portolan_X509_count(others)) {
                if let next = unsafe portolan_X509_at(others, index) { chain.append(unsafe Certificate(sharing: next)) }
            }
        }
        return (chain, privateKey)
    }

    /// Finds the fault in OpenSSL's error queue, and empties the queue.
    private static func takeFault() -> Fault {
        var phrase = "no reason given"
        while case let code = ERR_get_error(), code != 0 {
            switch (portolan_ERR_library(code), portolan_ERR_reason(code)) {
            case (ERR_LIB_PKCS12, PKCS12_R_MAC_VERIFY_FAILURE): return .passphrase
            case _ where portolan_is_unsupported(code) == 1: return .oldEncryption
            default: phrase = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            }
        }
        return .unreadable("OpenSSL says '\(DisplayText.line(phrase))'")
    }
}
