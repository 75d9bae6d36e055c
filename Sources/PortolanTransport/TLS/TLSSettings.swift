// SPDX-License-Identifier: Apache-2.0

/// How connections are made secure.
///
/// Files are read when the first secure connection is opened; one that can't be used fails the loads that need it, with its name in the message.
public struct TLSSettings: Sendable {
    /// RFC 8446, RFC 5246. The two oldest are for devices that know no other (RFC 8996 deprecates them).
    public enum Version: Int, Hashable, Sendable, Comparable {
        case tls10 = 10
        case tls11, tls12, tls13

        public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    public enum Verification: Hashable, Sendable {
        /// The chain has to lead to a trusted authority, and to name the host.
        case full
        /// Every certificate is accepted, whoever's it is: protects from nobody who can stand between. Delegates are still asked.
        case none
    }

    public var minimumVersion = Version.tls12
    public var maximumVersion = Version.tls13
    public var trustRoots = TrustRoots.system
    public var verification = Verification.full
    /// Who the client is, for servers that ask; without one, the load's delegate is asked.
    public var identity: ClientIdentity?

    public init() {}
}

/// The authorities that may vouch for servers.
public struct TrustRoots: Hashable, Sendable {
    /// The system's; where `SSL_CERT_FILE` or `SSL_CERT_DIR` (folders between colons) is set, what they name in their place.
    public static let system = Self(includesSystem: true, sources: [])

    let includesSystem: Bool
    let sources: [CertificateSource]

    /// These and no others.
    public static func only(_ sources: [CertificateSource]) -> Self { Self(includesSystem: false, sources: sources) }

    /// The system's, and these.
    public static func system(adding sources: [CertificateSource]) -> Self { Self(includesSystem: true, sources: sources) }
}

/// Where certificates come from.
public enum CertificateSource: Hashable, Sendable {
    /// A file with one or more certificates in PEM, or one in DER; or a folder of such files.
    case file(path: String)
    /// One certificate, DER.
    case der([UInt8])
}
