// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

/// Writes TLS 1.3 records that OpenSSL would not write. Uses TLS_AES_128_GCM_SHA256 and a traffic secret (RFC 8446
/// §5.2, §7.3).
struct RecordSealer {
    private let key: [UInt8]
    private let iv: [UInt8]
    private var sequence: UInt64 = 0
    /// The length of the authentication tag, in bytes.
    private static let tagLength = 16

    init(secret: [UInt8]) {
        key = Self.expand(secret, "key", 16)
        iv = Self.expand(secret, "iv", 12)
    }

    mutating func seal(_ record: ScriptedServer.Plaintext) throws -> [UInt8] {
        let plaintext = record.content + [record.type]
        let length = plaintext.count + Self.tagLength
        let header: [UInt8] = [23, 3, 3, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
        var nonce = iv
        for index in 0..<8 { nonce[4 + index] ^= UInt8(truncatingIfNeeded: sequence >> (56 - 8 * UInt64(index))) }
        sequence += 1
        return header + (try encrypt(plaintext, nonce, header))
    }

    /// EVP_EncryptInit(3)
    private func encrypt(_ plaintext: [UInt8], _ nonce: [UInt8], _ header: [UInt8]) throws -> [UInt8] {
        let cipher = unsafe EVP_CIPHER_CTX_new()
        defer { unsafe EVP_CIPHER_CTX_free(cipher) }
        var sealed = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        var count: Int32 = 0
        guard unsafe EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), nil, key, nonce) > 0,
            unsafe EVP_EncryptUpdate(cipher, nil, &count, header, Int32(header.count)) > 0,
            unsafe EVP_EncryptUpdate(cipher, &sealed, &count, plaintext, Int32(plaintext.count)) > 0,
            unsafe EVP_EncryptFinal_ex(cipher, nil, &count) > 0,
            unsafe EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), &tag) > 0
        else { throw ServerError(openSSL: "the record that a script sends sealed") }
        return sealed + tag
    }

    /// HKDF-Expand-Label without a context, for at most one hash length of output (RFC 8446 §7.1, RFC 5869 §2.3).
    private static func expand(_ secret: [UInt8], _ label: String, _ count: Int) -> [UInt8] {
        let fullLabel = Array("tls13 \(label)".utf8)
        let info = [0, UInt8(count), UInt8(fullLabel.count)] + fullLabel + [0, 1]
        var hash = [UInt8](repeating: 0, count: 32)
        _ = unsafe HMAC(EVP_sha256(), secret, Int32(secret.count), info, info.count, &hash, nil)
        return Array(hash.prefix(count))
    }
}
