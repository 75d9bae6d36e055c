// SPDX-License-Identifier: Apache-2.0

/// Settings for secure connections.
///
/// Files are read when the first secure connection is opened. A file that can't be used fails the loads that need it,
/// with its name in the message.
public struct TLSSettings: Sendable {
    /// RFC 8446, RFC 5246. The two oldest versions are for devices that support no other (RFC 8996 deprecates them).
    public enum Version: Int, Hashable, Sendable, Comparable {
        case tls10 = 10
        case tls11, tls12, tls13

        public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    public enum Verification: Hashable, Sendable {
        /// The chain must lead to a trusted authority, and must name the host.
        case full
        /// Every certificate is accepted. An attacker between client and server is not detected. Delegates are still
        /// asked.
        case none
    }

    public var minimumVersion = Version.tls12
    public var maximumVersion = Version.tls13
    public var trustRoots = TrustRoots.system
    public var verification = Verification.full
    /// The client's identity, for servers that request one. Without one, the load's delegate is asked.
    public var identity: ClientIdentity?

    public init() {}
}

/// The authorities that may vouch for servers.
public struct TrustRoots: Hashable, Sendable {
    /// The system's roots. If `SSL_CERT_FILE` or `SSL_CERT_DIR` (folders between colons) is set, the named files and
    /// folders replace them.
    public static let system = Self(includesSystem: true, sources: [])

    let includesSystem: Bool
    let sources: [CertificateSource]

    /// Only these roots.
    public static func only(_ sources: [CertificateSource]) -> Self { Self(includesSystem: false, sources: sources) }

    /// The system's roots, and these.
    public static func system(adding sources: [CertificateSource]) -> Self { Self(includesSystem: true, sources: sources) }
}

/// The source of certificates.
public enum CertificateSource: Hashable, Sendable {
    /// A file with one or more certificates in PEM, or one in DER; or a folder of such files.
    case file(path: String)
    /// One certificate, DER.
    case der([UInt8])
}
