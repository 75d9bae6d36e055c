// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore
import PortolanHTTPSyntax

/// A supported authentication scheme that a peer offers.
package enum AuthenticationOffer: Hashable, Sendable {
    /// RFC 7617
    case basic(realm: String?)
    /// RFC 7616
    case digest(DigestChallenge)
    /// User name and password of SOCKS5 (RFC 1929).
    case socks

    /// `nil` for a scheme that is not supported, and for an invalid challenge.
    init?(_ challenge: HTTPChallenge) {
        switch challenge.scheme {
        case "basic": self = .basic(realm: challenge["realm"])
        default:
            guard let digest = DigestChallenge(challenge) else { return nil }
            self = .digest(digest)
        }
    }

    /// The offers in the fields of a response, the strongest first. For each scheme and realm, only the strongest offer
    /// is returned.
    ///
    /// RFC 7616 §3.7
    package static func all(in name: HTTPField.Name, of fields: HTTPFields) -> [AuthenticationOffer] {
        let offers = HTTPChallenge.parse(name, of: fields).compactMap(AuthenticationOffer.init)
        // Sorted by strength and position, because Swift does not promise that a sort is stable.
        let sorted = offers.enumerated().sorted { ($1.element.strength, $0.offset) < ($0.element.strength, $1.offset) }.map(\.element)
        var spaces: Set<Space> = []
        return sorted.filter { spaces.insert($0.space).inserted }
    }

    /// The schemes that a response offers, in lower case, if none of them is supported; otherwise empty.
    package static func unsupportedSchemes(in name: HTTPField.Name, of fields: HTTPFields) -> [String] {
        let challenges = HTTPChallenge.parse(name, of: fields)
        guard challenges.allSatisfy({ AuthenticationOffer($0) == nil }) else { return [] }
        return HTTPChallenge.schemes(name, of: fields)
    }

    package var realm: String? {
        switch self {
        case .basic(let realm): realm
        case .digest(let challenge): challenge.realm
        case .socks: nil
        }
    }

    /// The scheme in ``ProtectionSpace/Kind/password(scheme:)``.
    package var scheme: String {
        switch self {
        case .basic: "basic"
        case .digest: "digest"
        case .socks: ""
        }
    }

    /// A higher number means that the scheme protects the password better.
    package var strength: Int {
        switch self {
        case .basic, .socks: 0
        case .digest(let challenge): challenge.algorithm.function.rawValue + 1
        }
    }

    /// The scheme and realm at the peer in which a credential is valid.
    package struct Space: Hashable, Sendable {
        private let scheme: String
        private let realm: OctetText?

        fileprivate init(_ offer: AuthenticationOffer) { (scheme, realm) = (offer.scheme, offer.realm.map(OctetText.init)) }
    }

    package var space: Space { Space(self) }

    /// The same offer, which counts the uses of its nonce together with other loads.
    ///
    /// - Parameter peer: a text that identifies the server or proxy.
    package func counted(by nonceCounts: DigestNonceCounts, for peer: String) -> AuthenticationOffer {
        if case .digest(let challenge) = self { .digest(challenge.counted(by: nonceCounts, for: peer)) } else { self }
    }

    /// Ends the session of a session algorithm: a new challenge begins a new one (RFC 7616 §3.6).
    package func endSession() { if case .digest(let challenge) = self { challenge.endSession() } }

    /// Whether the peer refused the request only because its nonce is too old.
    package var isStale: Bool { if case .digest(let challenge) = self { challenge.isStale } else { false } }

    /// Throws if the credential can't be sent with this scheme.
    package func check(_ credential: PasswordCredential) throws(LoadError) {
        switch self {
        case .basic: try credential.checkForBasic()
        case .digest: break
        case .socks: _ = try credential.socksMessage()
        }
    }
}
