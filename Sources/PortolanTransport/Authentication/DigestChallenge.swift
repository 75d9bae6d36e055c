// SPDX-License-Identifier: Apache-2.0

import PortolanHTTPSyntax
import Synchronization

/// A challenge for Digest authentication.
///
/// A class, because it is a part of connection keys, which are copied for each load.
///
/// RFC 7616 §3.3; RFC 2069 without `qop`
package final class DigestChallenge: Hashable, Sendable {
    /// The parts of a request that the Digest response protects (`qop`).
    enum Protection: String, Sendable {
        /// Without `qop` and client nonce (RFC 2069).
        case none = ""
        case authentication = "auth"
        /// Method, target and body.
        case integrity = "auth-int"
    }

    let realm: String
    /// The octets of the realm as received. They are hashed and sent back unchanged, because not every server
    /// sends UTF-8.
    let realmOctets: [UInt8]
    let nonce: [UInt8]
    let opaque: [UInt8]?
    /// The URIs of the protection space, separated by blanks; `nil` if the space is the whole server.
    package let domain: String?
    let algorithm: DigestAlgorithm
    let protection: Protection
    /// Whether the user name is sent as a hash.
    let hashesUser: Bool
    /// Whether the peer refused the request only because its nonce is too old.
    let isStale: Bool
    /// How often all loads with this challenge have used the nonce.
    private let uses = Atomic<UInt32>(0)

    /// - Returns: `nil` for another scheme, and for an invalid challenge: without a realm or a nonce, with an unknown
    ///   algorithm, or with no known `qop`.
    init?(_ challenge: HTTPChallenge) {
        guard challenge.scheme == "digest", let realm = challenge["realm"], let nonce = challenge.octets(of: "nonce"),
            let algorithm = DigestAlgorithm(challenge["algorithm"])
        else { return nil }
        (self.realm, self.nonce, self.algorithm) = (realm, nonce, algorithm)
        realmOctets = challenge.octets(of: "realm") ?? []
        opaque = challenge.octets(of: "opaque")
        domain = challenge["domain"]
        hashesUser = challenge["userhash"]?.lowercased() == "true"
        isStale = challenge["stale"]?.lowercased() == "true"
        let names = (challenge["qop"] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        guard !names.isEmpty else {
            protection = .none
            return
        }
        let offeredProtections = names.compactMap { Protection(rawValue: String($0)) }
        guard let protection = [.authentication, .integrity].first(where: offeredProtections.contains) else { return nil }
        self.protection = protection
    }

    /// A challenge with another nonce of the same server (RFC 7616 §3.5, `nextnonce`).
    private init(_ other: DigestChallenge, nonce: [UInt8]) {
        (realm, realmOctets, opaque, domain) = (other.realm, other.realmOctets, other.opaque, other.domain)
        (algorithm, protection, hashesUser) = (other.algorithm, other.protection, other.hashesUser)
        self.nonce = nonce
        isStale = false
    }

    package func with(nonce: [UInt8]) -> DigestChallenge { DigestChallenge(self, nonce: nonce) }

    /// Counts a use of the nonce, and returns its number, from 1, in eight hexadecimal digits (`nc`).
    func nextUse() -> String {
        let digits = String(uses.wrappingAdd(1, ordering: .relaxed).newValue, radix: 16)
        return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// Whether both are equal, apart from `isStale`.
    package static func == (a: DigestChallenge, b: DigestChallenge) -> Bool {
        (a.realmOctets, a.nonce, a.opaque, a.protection) == (b.realmOctets, b.nonce, b.opaque, b.protection) && a.algorithm == b.algorithm
            && a.hashesUser == b.hashesUser
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(realm)
        hasher.combine(nonce)
    }
}
