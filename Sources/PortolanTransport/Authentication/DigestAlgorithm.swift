// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore

/// An algorithm of Digest authentication: a hash function, and whether it is a session algorithm (`-sess`).
///
/// RFC 7616 §3.3, §6.1
package struct DigestAlgorithm: Hashable, Sendable {
    /// From the weakest to the strongest.
    enum Function: Int, Comparable, Sendable {
        case md5, sha256, sha512Part256

        /// The name in OpenSSL.
        fileprivate var name: String {
            switch self {
            case .md5: "MD5"
            case .sha256: "SHA256"
            case .sha512Part256: "SHA512-256"
            }
        }

        static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    let function: Function
    let isSession: Bool
    /// The name as the peer wrote it; `nil` if the challenge has none, which means MD5.
    let name: String?

    /// - Parameter name: from a challenge, in any case.
    /// - Returns: `nil` for an unknown algorithm.
    init?(_ name: String?) {
        self.name = name
        let lowercased = (name ?? "MD5").lowercased()
        isSession = lowercased.hasSuffix("-sess")
        switch isSession ? String(lowercased.dropLast(5)) : lowercased {
        case "md5": function = .md5
        case "sha-256": function = .sha256
        case "sha-512-256": function = .sha512Part256
        default: return nil
        }
    }

    /// Returns the hash in hexadecimal digits, in lower case.
    ///
    /// - Throws: ``LoadError/Code/notOffered`` if OpenSSL does not offer the function, for example MD5 in FIPS mode.
    func hash(_ bytes: [UInt8]) throws(LoadError) -> String {
        OpenSSL.start()
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count = 0
        let hasSucceeded = unsafe EVP_Q_digest(nil, function.name, nil, bytes, bytes.count, &digest, &count) == 1
        guard hasSucceeded else {
            throw LoadError(
                .notOffered, message: "this machine's OpenSSL does not offer \(function.name), which Digest authentication needs")
        }
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.prefix(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The hash of the parts with colons between them.
    func hash(_ parts: [[UInt8]]) throws(LoadError) -> String { try hash(Array(parts.joined(separator: [UInt8(ascii: ":")]))) }
}
