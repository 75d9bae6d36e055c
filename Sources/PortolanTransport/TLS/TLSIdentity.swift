// SPDX-License-Identifier: Apache-2.0

/// A certificate with its chain and its key: of a client, for servers that request one, or of a server.
///
/// The descriptions contain neither the key nor the passphrase.
public struct TLSIdentity: Hashable, Sendable {
    enum Source: Hashable, Sendable {
        case files(certificates: String, key: String, passphrase: String?)
        case der(chain: [[UInt8]], key: [UInt8])
    }

    let source: Source

    /// A chain and a key in files, which are read when they are first needed. Each file is in PEM, or in DER with one
    /// certificate or one key. Alternatively, one PKCS #12 file (RFC 7292) contains both.
    ///
    /// - Parameters:
    ///   - certificatePath: the path of the chain, leaf first.
    ///   - keyPath: the path of the key; `nil` if the key is in the certificate's file.
    ///   - passphrase: for an encrypted key or PKCS #12 file.
    public init(certificatePath: String, keyPath: String? = nil, passphrase: String? = nil) {
        source = .files(certificates: certificatePath, key: keyPath ?? certificatePath, passphrase: passphrase)
    }

    /// - Parameters:
    ///   - chain: DER, leaf first.
    ///   - privateKey: DER: PKCS #8, or the older forms of RSA (PKCS #1) and EC (RFC 5915) keys.
    public init(chain: [[UInt8]], privateKey: [UInt8]) {
        source = .der(chain: chain, key: privateKey)
    }
}

extension TLSIdentity: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch source {
        case .files(let certificates, let key, _): "the certificate in '\(certificates)' with the key in '\(key)'"
        case .der(let chain, _): "a certificate (chain of \(chain.count)), key hidden"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
