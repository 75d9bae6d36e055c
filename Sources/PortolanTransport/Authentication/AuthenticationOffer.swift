// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore
import PortolanHTTPSyntax

/// An authentication scheme that a peer offers and that is known here. Each scheme is one case.
package enum AuthenticationOffer: Hashable, Sendable {
    /// RFC 7617
    case basic(realm: String?)
    /// User name and password of SOCKS5 (RFC 1929).
    case socks

    /// `nil` for a scheme that is not known here.
    init?(_ challenge: HTTPChallenge) {
        switch challenge.scheme {
        case "basic": self = .basic(realm: challenge["realm"])
        default: return nil
        }
    }

    /// The offers of known schemes in the fields of a response, in their order.
    package static func all(in name: HTTPField.Name, of fields: HTTPFields) -> [AuthenticationOffer] {
        HTTPChallenge.parse(name, of: fields).compactMap(AuthenticationOffer.init)
    }

    package var realm: String? {
        switch self {
        case .basic(let realm): realm
        case .socks: nil
        }
    }

    /// The scheme in ``ProtectionSpace/Kind/password(scheme:)``.
    package var scheme: String {
        switch self {
        case .basic: "basic"
        case .socks: ""
        }
    }

    /// Throws if the credential can't be sent with this scheme.
    package func check(_ credential: PasswordCredential) throws(LoadError) {
        switch self {
        case .basic: _ = try credential.basicValue()
        case .socks: _ = try credential.socksMessage()
        }
    }
}
