// SPDX-License-Identifier: Apache-2.0

import PortolanCore
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
    private let nonceCounts: DigestNonceCounts
    /// The text that identifies the server or proxy in ``nonceCounts``.
    private let peer: String

    /// The values that all requests of a session share. The session of an algorithm such as `SHA-256-sess` begins with
    /// the first request after a challenge, and ends with the next challenge.
    struct Session: Sendable {
        /// The hash of user name, realm and password.
        fileprivate let secret: String
        let clientNonce: String
        /// The hash of the secret, the challenge's nonce and the client nonce.
        let key: String
    }

    private let session: Mutex<Session?>

    /// - Returns: `nil` for another scheme, and for an invalid challenge: without a realm or a nonce, with an unknown
    ///   algorithm, or with a `qop` that names only unknown protections.
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
        session = Mutex(nil)
        (nonceCounts, peer) = (DigestNonceCounts(), "")
        let names = (challenge["qop"] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        guard !names.isEmpty else {
            protection = .none
            return
        }
        let offeredProtections = names.compactMap { Protection(rawValue: String($0)) }
        guard let protection = [.authentication, .integrity].first(where: offeredProtections.contains) else { return nil }
        self.protection = protection
    }

    private init(_ other: DigestChallenge, nonce: [UInt8], countedBy nonceCounts: DigestNonceCounts, for peer: String, isStale: Bool) {
        (realm, realmOctets, opaque, domain) = (other.realm, other.realmOctets, other.opaque, other.domain)
        (algorithm, protection, hashesUser) = (other.algorithm, other.protection, other.hashesUser)
        (self.nonce, self.nonceCounts, self.peer, self.isStale) = (nonce, nonceCounts, peer, isStale)
        session = Mutex(other.session.withLock { $0 })
    }

    /// A challenge with another nonce of the same server (RFC 7616 §3.5, `nextnonce`). The session continues with its
    /// key.
    package func with(nonce: [UInt8]) -> DigestChallenge {
        DigestChallenge(self, nonce: nonce, countedBy: nonceCounts, for: peer, isStale: false)
    }

    /// The same challenge, which counts the uses of its nonce together with other loads.
    func counted(by nonceCounts: DigestNonceCounts, for peer: String) -> DigestChallenge {
        DigestChallenge(self, nonce: nonce, countedBy: nonceCounts, for: peer, isStale: isStale)
    }

    /// Counts a use of the nonce, and returns its number, from 1, in eight hexadecimal digits (`nc`).
    func nextUse() -> String {
        let digits = String(nonceCounts.next(for: .init(peer: peer, realm: realmOctets, nonce: nonce)), radix: 16)
        return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// Returns the session of a user. The first call begins it.
    ///
    /// All requests of the session have the same client nonce. Some servers make the key of each request from the
    /// nonces in that request, and others keep the key of the first request.
    ///
    /// RFC 7616 §3.4.2
    ///
    /// - Parameter secret: the hash of user name, realm and password.
    func session(with secret: String, newClientNonce clientNonce: String) throws(LoadError) -> Session {
        try session.withLock { (session) throws(LoadError) in
            if let session, session.secret == secret { return session }
            let key = try algorithm.hash([Array(secret.utf8), nonce, Array(clientNonce.utf8)])
            let new = Session(secret: secret, clientNonce: clientNonce, key: key)
            session = new
            return new
        }
    }

    func endSession() { session.withLock { $0 = nil } }

    /// Whether the same Digest response answers both challenges. `isStale` and `domain` are not compared.
    package static func == (a: DigestChallenge, b: DigestChallenge) -> Bool {
        (a.realmOctets, a.nonce, a.opaque, a.protection) == (b.realmOctets, b.nonce, b.opaque, b.protection) && a.algorithm == b.algorithm
            && a.hashesUser == b.hashesUser
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(realm)
        hasher.combine(nonce)
    }
}
