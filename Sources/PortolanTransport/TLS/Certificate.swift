// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

/// An X.509 certificate of OpenSSL. Can be used on any thread.
@safe
final class Certificate: @unchecked Sendable {  // … because OpenSSL counts its references atomically, and nothing changes it
    let x509: OpaquePointer

    /// Takes over the reference.
    init(owning x509: OpaquePointer) { unsafe self.x509 = x509 }

    /// Adds a reference.
    init(sharing x509: OpaquePointer) {
        unsafe X509_up_ref(x509)
        unsafe self.x509 = x509
    }

    /// - Returns: `nil` if the bytes are not exactly one certificate in DER: `d2i_X509(3)`.
    convenience init?(der: [UInt8]) {
        OpenSSL.start()
        let certificate = unsafe der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var position = bytes.baseAddress
            guard let certificate = unsafe d2i_X509(nil, &position, bytes.count) else { return nil }
            guard unsafe position == bytes.baseAddress.map({ unsafe $0 + bytes.count }) else {
                unsafe X509_free(certificate)
                return nil
            }
            return unsafe certificate
        }
        ERR_clear_error()
        guard let certificate = unsafe certificate else { return nil }
        unsafe self.init(owning: certificate)
    }

    deinit { unsafe X509_free(x509) }

    var der: [UInt8] { unsafe DER.bytes { unsafe i2d_X509(x509, &$0) } }
}

/// A private key. Can be used on any thread.
@safe
final class PrivateKey: @unchecked Sendable {  // … because OpenSSL counts its references atomically, and nothing changes it
    let key: OpaquePointer

    /// Takes over the reference.
    init(owning key: OpaquePointer) { unsafe self.key = key }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Whether the certificate is for this key: `X509_check_private_key(3)`.
    func belongs(to certificate: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_private_key(certificate.x509, key) == 1
    }
}

enum DER {
    /// The output of one of OpenSSL's `i2d` functions; empty if it fails.
    static func bytes(_ write: (inout UnsafeMutablePointer<UInt8>?) -> CInt) -> [UInt8] {
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe write(&output)
        guard count > 0, let output = unsafe output else { return [] }
        defer { unsafe CRYPTO_free(output, #file, #line) }
        return unsafe Array(UnsafeBufferPointer(start: output, count: Int(count)))
    }
}
