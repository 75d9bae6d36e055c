// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import PortolanCore

/// A cookie, as it is stored.
///
/// Names and values are bytes, and are sent as they were received. RFC 6265bis §5.7
public struct Cookie: Hashable, Sendable {
    /// The bytes of the name; empty for a cookie without a name.
    package var nameBytes: [UInt8]
    /// The bytes of the value.
    package var valueBytes: [UInt8]
    /// The host that set the cookie or, if ``isHostOnly`` is `false`, the domain whose hosts receive it. In lower case,
    /// in the form that URLs have: `xn--bcher-kva.example`, `[::1]`.
    public var domain: String
    /// Whether only the host itself receives the cookie.
    public var isHostOnly: Bool
    /// The path below which the cookie is sent; begins with a slash.
    public var path: String
    /// When the cookie expires; `nil` for the end of the session.
    public var expiry: Date?
    package var creationTime: Date
    package var lastAccessTime: Date
    /// Whether the cookie is sent over secure connections only.
    public var isSecure: Bool
    /// Whether the cookie is hidden from scripts and from other APIs than HTTP.
    public var isHTTPOnly: Bool
    /// `nil` if the server sent no value, or an unknown one. Then `lax` applies.
    public var sameSite: SameSite?
    /// The site of the top-level document for which the cookie was set (CHIPS); `nil` for a cookie that is not
    /// partitioned.
    package var partition: Site?

    public enum SameSite: String, Hashable, Sendable {
        case none, lax, strict
    }

    /// Makes a cookie for the session. The values are not checked until the cookie is stored.
    ///
    /// - Parameter domain: the only host that receives the cookie. A leading dot is removed, and sets ``isHostOnly`` to
    ///   `false`: the hosts of the domain receive it, too.
    public init(name: String, value: String, domain: String, path: String = "/") {
        let hasDot = domain.utf8.first == UInt8(ascii: ".")
        self.init(name: name, value: value, domain: hasDot ? String(domain.dropFirst()) : domain, path: path, now: Date())
        isHostOnly = !hasDot
    }

    package init(name: String, value: String, domain: String, path: String = "/", now: Date) {
        nameBytes = Array(name.utf8)
        valueBytes = Array(value.utf8)
        self.domain = domain
        isHostOnly = true
        self.path = path
        creationTime = now
        lastAccessTime = now
        isSecure = false
        isHTTPOnly = false
    }

    /// The name as text: UTF-8, or ISO 8859-1 if the bytes are not valid UTF-8.
    public var name: String { Self.text(nameBytes) }
    /// The value as text, as ``name``.
    public var value: String { Self.text(valueBytes) }
    /// Whether the cookie outlives its session.
    public var isPersistent: Bool { expiry != nil }

    private static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    package func isExpired(at now: Date) -> Bool { expiry.map { $0 <= now } ?? false }

    /// Whether all properties are equal, and the texts have the same octets.
    public static func == (a: Self, b: Self) -> Bool {
        a.identity == b.identity && a.valueBytes == b.valueBytes && a.expiry == b.expiry && a.creationTime == b.creationTime
            && a.lastAccessTime == b.lastAccessTime && (a.isSecure, a.isHTTPOnly, a.sameSite) == (b.isSecure, b.isHTTPOnly, b.sameSite)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(valueBytes)
    }

    /// A cookie replaces the stored cookie with the same values of these properties. Texts are compared by their octets
    /// (RFC 6265bis §5.7).
    package struct Identity: Hashable, Sendable {
        package let name: [UInt8]
        package let domain: String
        package let path: String
        package let isHostOnly: Bool
        package let partition: Site?

        package static func == (a: Self, b: Self) -> Bool {
            a.name == b.name && OctetText(a.path) == OctetText(b.path) && OctetText(a.domain) == OctetText(b.domain)
                && a.isHostOnly == b.isHostOnly && a.partition == b.partition
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(OctetText(domain))
            hasher.combine(OctetText(path))
        }
    }

    package var identity: Identity {
        Identity(name: nameBytes, domain: domain, path: path, isHostOnly: isHostOnly, partition: partition)
    }
}

extension Cookie: CustomStringConvertible {
    /// The cookie without its value, which may be a secret.
    public var description: String {
        "cookie '\(name)' of \(isHostOnly ? "" : "*.")\(domain)\(path)"
    }
}
