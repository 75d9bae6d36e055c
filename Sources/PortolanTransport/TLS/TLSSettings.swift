// SPDX-License-Identifier: Apache-2.0

/// Settings for secure connections.
///
/// Files are read when the first secure connection is opened. If a file can't be used, the loads that need it fail, and
/// the message names the file.
public struct TLSSettings: Sendable {
    /// TLS 1.0 and 1.1 are deprecated (RFC 8996). Use them only for devices that support no other version.
    public enum Version: Int, Hashable, Sendable, Comparable {
        case tls10 = 10
        case tls11, tls12, tls13

        public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    public enum Verification: Hashable, Sendable {
        /// The chain must lead to a trusted authority, and the server's certificate must name the host.
        case full
        /// Every certificate is accepted. An attacker between client and server is not detected. Delegates still
        /// receive server-trust challenges.
        case none
    }

    public var minimumVersion = Version.tls12
    public var maximumVersion = Version.tls13
    public var trustRoots = TrustRoots.system
    public var verification = Verification.full
    /// The client's certificate, for servers that request one. If it is `nil` and a server requests one, the load's
    /// delegate receives a challenge.
    public var identity: TLSIdentity?

    public init() {}
}

/// The certificate authorities that are trusted.
public struct TrustRoots: Hashable, Sendable {
    /// The system's roots. If `SSL_CERT_FILE` or `SSL_CERT_DIR` (folders between colons) is set, the named files and
    /// folders replace them.
    public static let system = Self(includesSystem: true, sources: [])

    let includesSystem: Bool
    let sources: [CertificateSource]

    /// Trusts only these roots.
    public static func only(_ sources: [CertificateSource]) -> Self { Self(includesSystem: false, sources: sources) }

    /// Trusts the system's roots, and these.
    public static func system(adding sources: [CertificateSource]) -> Self { Self(includesSystem: true, sources: sources) }
}

/// Where certificates come from.
public enum CertificateSource: Hashable, Sendable {
    /// A file with one or more certificates in PEM, or one in DER; or a folder of such files.
    case file(path: String)
    /// One certificate in DER.
    case der([UInt8])
}
